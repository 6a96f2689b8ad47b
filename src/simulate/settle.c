/* SPDX-License-Identifier: Apache-2.0 */
/* Places requests and gangs of a replay, and rolls back a gang that does not fit. */
#include "simulate/settle.h"
#include "core/fleet/fleet.h"
#include "core/place/place.h"
#include "core/repack/gang.h"

#include <assert.h>
#include <errno.h>

/* Bound on the search for each request of a gang: a full fleet refuses many. */
#define MOST_TRIES 20000

/* A request of the gang for which other leases were moved. */
struct moved {
	struct clv_repack_plan plan;
	size_t member;
};

struct gang {
	struct clv_settle *settle;
	struct moved moved[CLV_REPACK_MOVES_MAX];
	unsigned n_moved, n_moves_left;
	uint64_t tries_left; /* of the searches in all racks */
};

/* Renumbers moved leases in the departures and among the placed requests of the gang. */
static int follow(struct clv_settle *settle, const struct clv_repack_plan *before,
	const struct clv_repack_plan *after, uint32_t *leases, size_t n)
{
	uint32_t from[CLV_REPACK_MOVES_MAX], to[CLV_REPACK_MOVES_MAX];

	for (unsigned i = 0; i < before->n_moves; i++) {
		from[i] = before->moves[i].lease;
		to[i] = after->moves[i].lease;
	}
	for (size_t k = 0; k < n; k++) {
		for (unsigned i = 0; i < before->n_moves; i++) {
			if (leases[k] != from[i])
				continue;
			leases[k] = to[i];
			break;
		}
	}
	return clv_departures_follow(settle->departures, from, to, before->n_moves);
}

static int make_room(struct gang *gang, const struct clv_place_request *request,
	size_t member, uint32_t *leases)
{
	struct clv_settle *settle = gang->settle;
	struct clv_repack_options options = {
		.most_moves = gang->n_moves_left, .tries_left = &gang->tries_left};
	struct moved *moved = &gang->moved[gang->n_moved];
	struct clv_repack_plan found;
	int r = clv_repack_find(settle->fleet, settle->placer, request, &options, &found);

	if (r < 0)
		return r == -EAGAIN ? -ENOSPC : r;
	assert(found.n_moves <= gang->n_moves_left);
	*moved = (struct moved){.plan = found, .member = member};
	r = clv_repack_apply(settle->fleet, request, &moved->plan, &leases[member]);
	if (r < 0)
		return r;
	gang->n_moved++;
	gang->n_moves_left -= found.n_moves;
	return follow(settle, &found, &moved->plan, leases, member);
}

static int place(void *userdata, const struct clv_place_request *request, size_t member,
	uint32_t *leases)
{
	struct gang *gang = userdata;
	int r = clv_placer_place(gang->settle->placer, request, &leases[member]);

	/* Moves know a rack, but no other rule for the group. */
	if (r != -ENOSPC || gang->n_moves_left == 0 ||
		(request->group && request->rule != CLV_PLACE_FREE && !request->rack))
		return r;
	return make_room(gang, request, member, leases);
}

/* Undoes the placements in reverse order, so that each finds the fleet as it left it. */
static void take_back(void *userdata, uint32_t *leases, size_t n)
{
	struct gang *gang = userdata;
	struct clv_settle *settle = gang->settle;

	while (n-- > 0) {
		struct clv_repack_plan applied;
		struct moved *moved;

		if (gang->n_moved == 0 || gang->moved[gang->n_moved - 1].member != n) {
			clv_fleet_release(settle->fleet, leases[n]);
			continue;
		}
		moved = &gang->moved[--gang->n_moved];
		gang->n_moves_left += moved->plan.n_moves;
		applied = moved->plan;
		clv_repack_undo(settle->fleet, &moved->plan, leases[n]);
		follow(settle, &applied, &moved->plan, leases, n);
	}
}

static int settle_with(struct gang *gang, const struct clv_place_request *requests,
	size_t n, unsigned most_moves, uint32_t *ret_leases)
{
	const struct clv_gang_steps steps = {
		.place = place, .take_back = take_back, .moves_others = most_moves > 0};

	gang->n_moves_left = most_moves;
	return clv_gang_place(gang->settle->fleet, requests, n, &steps, gang, ret_leases);
}

int clv_settle(struct clv_settle *settle, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases)
{
	struct gang gang = {.settle = settle, .tries_left = MOST_TRIES * n};
	unsigned most = clv_gang_needs_rack(requests, n) ? 0 : settle->most_moves;
	int r = settle_with(&gang, requests, n, most, ret_leases);

	/* Another rack can have room for fewer moves, so all racks are tried with each
	 * number. */
	while (r == -ENOSPC && gang.tries_left > 0 && most < settle->most_moves)
		r = settle_with(&gang, requests, n, ++most, ret_leases);
	settle->n_moved += most - gang.n_moves_left;
	return r;
}
