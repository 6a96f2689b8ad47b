/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* How devices of a node are chosen if the policy does not choose them. */
enum clv_pick {
	CLV_PICK_TIGHTEST, /* the fitting ones with the least free */
	CLV_PICK_FIRST,
	CLV_PICK_LOOSEST,
};

/* Chooses devices and start for a request, which must fit the node.  Fills *ret_at's
 * devices and start.  Unless the first are chosen, several devices that are equally good
 * are on as few I/O dies as possible. */
void clv_pick_devices(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request, enum clv_pick pick,
	struct clv_place_at *ret_at);

/* The number of I/O dies that these devices of the node are on; devices of which it is
 * not known count as on one.  0 if it is not known of any device of the fleet. */
unsigned clv_pick_count_dies(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, uint64_t devices);
