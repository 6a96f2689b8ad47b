/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/place/repack.h"
#include "simulate/departures.h"

/* How requests of a replay get their places: one or a gang of them, and with moves of
 * other leases where they do not fit. */

struct clv_settle {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_departures *departures; /* follow what moves */
	unsigned most_moves;               /* 0: nothing moves */
	uint64_t n_moved;
};

/* All of them, in at most most_moves moves, or none.  0 and their leases; -ENOSPC,
 * -EINVAL, and all is as before but for the numbers of leases; -ENOMEM. */
int clv_settle(struct clv_settle *settle, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);
