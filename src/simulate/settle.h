/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/repack/repack.h"
#include "simulate/departures.h"

/* Places requests of a replay, single ones or a gang, and moves other leases if they do
 * not fit. */

struct clv_settle {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_departures *departures; /* renumbered when leases move */
	unsigned most_moves;               /* 0: no lease is moved */
	uint64_t n_moved;
};

/* Places all requests with at most most_moves moves, or none.  Returns 0 and their
 * leases; -ENOSPC or -EINVAL, and the fleet is unchanged except for the numbers of
 * leases; -ENOMEM. */
int clv_settle(struct clv_settle *settle, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);
