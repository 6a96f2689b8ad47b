/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Makes room for so many items in all.  -ENOMEM, and all as before. */
int clv_fleet_grow(void **items, uint32_t *room, size_t item_bytes, uint32_t wanted);

/* Works out what a node keeps of its devices, and puts it into the log. */
void clv_fleet_node_changed(struct clv_fleet *fleet, uint32_t node);

/* Puts a profile's partition onto a device, or takes it away. */
void clv_fleet_put_partition(struct clv_fleet *fleet, uint32_t device, uint8_t profile,
	uint8_t start, bool is_put);
