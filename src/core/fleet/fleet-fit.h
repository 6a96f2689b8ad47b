/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Whether a request fits, and on which devices it would: what all policies ask first. */

/* Bits of the node's devices of which any n_devices will do; 0 where these are too few.
 * For a share. */
uint64_t clv_fit_devices(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request);

/* Whether a device's partitions leave room for one at that start. */
bool clv_fit_start(const struct clv_fleet *fleet, uint32_t device,
	const struct clv_place_request *request, uint8_t start);

bool clv_fit_node(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request);

uint32_t clv_fit_count_group(
	const struct clv_fleet *fleet, uint32_t node, uint32_t group);

static inline bool clv_fit_device(
	const struct clv_fleet_device *device, const struct clv_place_request *request)
{
	return device->scheme == 0 && device->free_milli >= request->milli &&
	       (device->memory_mib == 0 || device->free_mib >= request->device_mib) &&
	       !(request->alone_in_class && device->n_leases[request->class] > 0);
}
