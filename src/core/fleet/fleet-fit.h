/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Whether a request fits a node, and on which devices. */

/* For a share: bitmap of the devices of the node that fit, of which any n_devices can be
 * used; 0 if there are too few. */
uint64_t clv_fit_devices(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request);

/* Whether a device has room for the partition of the request at that start. */
bool clv_fit_start(const struct clv_fleet *fleet, uint32_t device,
	const struct clv_place_request *request, uint8_t start);

bool clv_fit_node(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request);

/* The node of a lease of the group, or CLV_FLEET_NONE. */
uint32_t clv_fit_home_of_group(const struct clv_fleet *fleet, uint32_t group);

uint32_t clv_fit_count_group(
	const struct clv_fleet *fleet, uint32_t node, uint32_t group);

static inline bool clv_fit_device(
	const struct clv_fleet_device *device, const struct clv_place_request *request)
{
	return device->scheme == 0 && device->free_milli >= request->milli &&
	       (device->memory_mib == 0 || device->free_mib >= request->device_mib) &&
	       !(request->alone_in_class && device->n_leases[request->class] > 0);
}
