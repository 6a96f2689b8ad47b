/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* What nodes draw, by the model of "Power- and Fragmentation-aware Online Scheduling for
 * GPU Datacenters" (CCGrid 2025): a device draws its full power if it has a lease and its
 * idle power if not, and so does a socket with processors in use; these fill one socket
 * after the other.  What a lease computes is not part of the model.  A node of which
 * nothing is known draws nothing, and neither does a lost one. */

/* What a request adds on these devices of the node, in watts. */
uint32_t clv_fleet_watts_added(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, uint32_t cpu_milli, uint64_t devices);

/* The most that a request can add on an empty node of any kind, in watts. */
uint32_t clv_fleet_watts_most(
	const struct clv_fleet *fleet, const struct clv_place_request *request);

/* What a device of the fleet adds when it gets its first lease, the mean of those that
 * add something; 0: none does. */
uint32_t clv_fleet_watts_of_device(const struct clv_fleet *fleet);
