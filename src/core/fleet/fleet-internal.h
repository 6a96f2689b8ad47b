/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Makes room for `wanted` items in total.  -ENOMEM leaves the array unchanged. */
int clv_fleet_grow(void **items, uint32_t *room, size_t item_bytes, uint32_t wanted);

/* Computes what a node stores about its devices, and adds the node to the log. */
void clv_fleet_node_changed(struct clv_fleet *fleet, uint32_t node);

/* Sets the number that nodes with this power have, which is added if it is new.  -ENOSPC:
 * more than 255; -ENOMEM. */
int clv_fleet_number_power(
	struct clv_fleet *fleet, const struct clv_fleet_power *power, uint8_t *ret);

/* What the node draws, in watts. */
uint32_t clv_fleet_watts_of(
	const struct clv_fleet *fleet, const struct clv_fleet_node *node);

/* Adds a partition of the profile to a device, or removes it. */
void clv_fleet_put_partition(struct clv_fleet *fleet, uint32_t device, uint8_t profile,
	uint8_t start, bool is_put);
