/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Which of a node's devices a share goes to, where the policy does not say itself. */
enum clv_pick {
	CLV_PICK_TIGHTEST, /* with the least free that do */
	CLV_PICK_FIRST,
	CLV_PICK_LOOSEST,
};

/* The request must fit the node.  Fills *ret_at's devices and start. */
void clv_pick_devices(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request, enum clv_pick pick,
	struct clv_place_at *ret_at);
