/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/place/place.h"

/* Finds the fewest movable leases to move so that a request fits. */

#define CLV_REPACK_MOVES_MAX 8

struct clv_repack_move {
	struct clv_place_request request; /* what the lease holds */
	struct clv_place_at from, to;
	uint32_t lease; /* clv_repack_apply() replaces it by the new number */
};

/* All moved leases are released first, then everything is placed. */
struct clv_repack_plan {
	struct clv_place_at at; /* for the request */
	struct clv_repack_move moves[CLV_REPACK_MOVES_MAX];
	unsigned n_moves;
};

struct clv_repack_options {
	/* NULL: leases without a group are movable. */
	bool (*is_movable)(void *userdata, uint32_t lease);
	void *userdata;
	unsigned most_moves;  /* 1..CLV_REPACK_MOVES_MAX; 0: that maximum */
	uint64_t *tries_left; /* places to try before giving up, counted down; NULL: a
			       * million */
};

/* Looks for a plan without moves, then with one, and so on; of plans with equally few
 * moves, the one that disturbs the least compute on the first node.  A lease stays on its
 * model.  The fleet is unchanged on return.  Returns 0; -ENOSPC: not with the allowed
 * number of moves; -EAGAIN: not found within the tries; -EINVAL, -ENOMEM. */
int clv_repack_find(struct clv_fleet *fleet, struct clv_placer *placer,
	const struct clv_place_request *request, const struct clv_repack_options *options,
	struct clv_repack_plan *ret);

/* Carries the plan out; moved leases get new numbers.  If the fleet has changed since the
 * plan was found, returns -ESTALE and does nothing. */
int clv_repack_apply(struct clv_fleet *fleet, const struct clv_place_request *request,
	struct clv_repack_plan *plan, uint32_t *ret_lease);

/* Undoes clv_repack_apply() if nothing else has changed since: the lease ends, and moved
 * leases return, again with new numbers. */
void clv_repack_undo(
	struct clv_fleet *fleet, struct clv_repack_plan *plan, uint32_t lease);

/* The request that recreates the lease, restricted to its current model. */
struct clv_place_request clv_repack_request_of(
	const struct clv_fleet *fleet, uint32_t lease);
