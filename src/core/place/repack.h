/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/place/place.h"

/* Which leases to move so that a request fits: the fewest, of those that may be moved.
 * Also requests that are placed together or not at all. */

#define CLV_REPACK_MOVES_MAX 8

struct clv_repack_move {
	struct clv_place_request request; /* what the lease holds */
	struct clv_place_at from, to;
	uint32_t lease; /* clv_repack_apply() makes it the new one's number */
};

/* All that is to move lets go first, then everything is put where it goes. */
struct clv_repack_plan {
	struct clv_place_at at; /* of the request that was to fit */
	struct clv_repack_move moves[CLV_REPACK_MOVES_MAX];
	unsigned n_moves;
};

struct clv_repack_options {
	/* NULL: all that are in no group may be moved. */
	bool (*is_movable)(void *userdata, uint32_t lease);
	void *userdata;
	unsigned most_moves; /* 1..CLV_REPACK_MOVES_MAX; 0: as many as that */
	uint64_t most_tries; /* places looked at before giving up; 0: 1,000,000 */
};

/* Looks for a plan with no move, then with one, and so on; of plans with as few moves the
 * one that disturbs the least compute on the first node.  A lease stays on the model that
 * it has.  The fleet is as before when it returns.  0; -ENOSPC: not with so many moves;
 * -EAGAIN: not found within most_tries; -EINVAL, -ENOMEM. */
int clv_repack_find(struct clv_fleet *fleet, struct clv_placer *placer,
	const struct clv_place_request *request, const struct clv_repack_options *options,
	struct clv_repack_plan *ret);

/* Carries the plan out; moved leases get new numbers.  The fleet must be as it was when
 * the plan was found, else -ESTALE and nothing is done. */
int clv_repack_apply(struct clv_fleet *fleet, const struct clv_place_request *request,
	struct clv_repack_plan *plan, uint32_t *ret_lease);

/* Takes back what clv_repack_apply() did, if nothing else changed since; the lease ends,
 * and those that had moved have new numbers again. */
void clv_repack_undo(
	struct clv_fleet *fleet, struct clv_repack_plan *plan, uint32_t lease);

/* Places all of them, or none: -ENOSPC and the fleet is as before. */
int clv_place_gang(struct clv_placer *placer, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);

/* The request that the lease would be again, bound to the model that it is on. */
struct clv_place_request clv_repack_request_of(
	const struct clv_fleet *fleet, uint32_t lease);
