/* SPDX-License-Identifier: Apache-2.0 */
/* The order is searched on a copy of the fleet.  Which moves are done decides what is
 * free, so each of the at most 256 sets of moves is examined once.  If no order works,
 * the moves form a cycle: then sets of leases, the smallest first, leave their places
 * before all others.  With all of them gone every order works. */
#include "core/repack/order.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/pick.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define SETS (1u << CLV_REPACK_MOVES_MAX)

/* Where a lease is during the search. */
struct position {
	struct clv_place_at at;
	uint32_t lease; /* CLV_FLEET_NONE: it has no place now */
};

struct order {
	struct clv_fleet *fleet; /* a copy */
	const struct clv_repack_plan *plan;
	struct position now[CLV_REPACK_MOVES_MAX];
	bool is_examined[SETS];
	uint8_t tried[CLV_REPACK_MOVES_MAX], found[CLV_REPACK_MOVES_MAX];
	unsigned n_tried;
};

static void leave(struct order *order, unsigned i)
{
	assert(order->now[i].lease != CLV_FLEET_NONE);
	clv_fleet_release(order->fleet, order->now[i].lease);
	order->now[i].lease = CLV_FLEET_NONE;
}

static bool enter(struct order *order, unsigned i, const struct clv_place_at *at)
{
	if (clv_fleet_take(order->fleet, &order->plan->moves[i].request, at,
		    &order->now[i].lease) < 0)
		return false;
	order->now[i].at = *at;
	return true;
}

/* Puts a lease back to where it was. */
static void put_back(struct order *order, unsigned i, const struct position *was)
{
	if (order->now[i].lease != CLV_FLEET_NONE)
		leave(order, i);
	order->now[i].at = was->at;
	if (was->lease != CLV_FLEET_NONE)
		enter(order, i, &was->at);
}

/* Moves the lease to its new place if that has room, else changes nothing. */
static bool move(struct order *order, unsigned i)
{
	struct position was = order->now[i];

	if (was.lease != CLV_FLEET_NONE)
		leave(order, i);
	if (enter(order, i, &order->plan->moves[i].to))
		return true;
	put_back(order, i, &was);
	return false;
}

/* Whether the moves that are not in the set can follow; the order is then in found.  The
 * fleet is unchanged on return. */
static bool follow(struct order *order, unsigned set)
{
	if (order->n_tried == order->plan->n_moves) {
		memcpy(order->found, order->tried, sizeof(order->found));
		return true;
	}
	if (order->is_examined[set])
		return false;
	order->is_examined[set] = true;
	for (unsigned i = 0; i < order->plan->n_moves; i++) {
		struct position was = order->now[i];
		bool follows;

		if (set >> i & 1 || !move(order, i))
			continue;
		order->tried[order->n_tried++] = (uint8_t)i;
		follows = follow(order, set | 1u << i);
		order->n_tried--;
		put_back(order, i, &was);
		if (follows)
			return true;
	}
	return false;
}

/* Whether there is an order once the leases of the set have left their places. */
static bool works_without(struct order *order, unsigned set)
{
	struct position was[CLV_REPACK_MOVES_MAX];
	bool works;

	memcpy(was, order->now, sizeof(was));
	for (unsigned i = 0; i < order->plan->n_moves; i++) {
		if (set >> i & 1)
			leave(order, i);
	}
	memset(order->is_examined, 0, sizeof(order->is_examined));
	works = follow(order, 0);
	for (unsigned i = 0; i < order->plan->n_moves; i++) {
		if (set >> i & 1)
			put_back(order, i, &was[i]);
	}
	return works;
}

/* The smallest set of leases that have to leave first. */
static unsigned find_circle(struct order *order)
{
	unsigned n_sets = 1u << order->plan->n_moves;

	assert(order->plan->n_moves <= CLV_REPACK_MOVES_MAX);
	for (unsigned n = 0; n < order->plan->n_moves; n++) {
		for (unsigned set = 0; set < n_sets; set++) {
			if ((unsigned)__builtin_popcount(set) == n &&
				works_without(order, set))
				return set;
		}
	}
	return n_sets - 1;
}

/* Moves a lease, which has no place now, to a place that none of the others needs; rest:
 * those that leave after it. */
static bool find_spare(struct order *order, unsigned i, unsigned rest)
{
	const struct clv_place_request *request = &order->plan->moves[i].request;
	const struct clv_fleet *fleet = order->fleet;

	for (uint32_t n = 0; n < fleet->n_nodes; n++) {
		struct clv_place_at at = {.node = n};

		if (!clv_fit_node(fleet, &fleet->nodes[n], request))
			continue;
		clv_pick_devices(
			fleet, &fleet->nodes[n], request, CLV_PICK_TIGHTEST, &at);
		if (!enter(order, i, &at))
			continue;
		if (works_without(order, rest))
			return true;
		leave(order, i);
	}
	return false;
}

/* Lets the leases of the set leave their places.  Returns the number of steps. */
static unsigned break_circle(
	struct order *order, unsigned set, struct clv_repack_step *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < order->plan->n_moves; i++) {
		struct clv_repack_step *step = &ret[n];

		if (!(set >> i & 1))
			continue;
		set &= ~(1u << i);
		*step = (struct clv_repack_step){.from = order->now[i].at,
			.move = (uint8_t)i,
			.how = CLV_REPACK_END};
		leave(order, i);
		if (find_spare(order, i, set)) {
			step->how = CLV_REPACK_ASIDE;
			step->to = order->now[i].at;
		}
		n++;
	}
	return n;
}

static int copy_fleet(struct order *order, const struct clv_fleet *fleet,
	const struct clv_repack_plan *plan)
{
	for (unsigned i = 0; i < plan->n_moves; i++) {
		const struct clv_repack_move *move = &plan->moves[i];

		if (move->lease >= fleet->n_leases ||
			!fleet->leases[move->lease].is_held ||
			fleet->leases[move->lease].node != move->from.node)
			return -ESTALE;
		order->now[i] = (struct position){.at = move->from, .lease = move->lease};
	}
	order->fleet = clv_fleet_copy(fleet);
	order->plan = plan;
	return order->fleet ? 0 : -ENOMEM;
}

int clv_repack_order(const struct clv_fleet *fleet, const struct clv_repack_plan *plan,
	struct clv_repack_step ret[CLV_REPACK_STEPS_MAX])
{
	struct order order = {0};
	int r = copy_fleet(&order, fleet, plan);
	unsigned n;

	if (r < 0)
		return r;
	n = break_circle(&order, find_circle(&order), ret);
	if (!works_without(&order, 0)) {
		clv_fleet_free(order.fleet);
		return -ESTALE;
	}
	for (unsigned i = 0; i < plan->n_moves; i++) {
		unsigned at = order.found[i];
		bool has_ended = order.now[at].lease == CLV_FLEET_NONE;

		ret[n++] = (struct clv_repack_step){.from = order.now[at].at,
			.to = plan->moves[at].to,
			.move = (uint8_t)at,
			.how = has_ended ? CLV_REPACK_BEGIN : CLV_REPACK_MOVE};
	}
	clv_fleet_free(order.fleet);
	return (int)n;
}
