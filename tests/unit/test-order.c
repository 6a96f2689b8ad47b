/* SPDX-License-Identifier: Apache-2.0 */
/* The order of moves: carried out step by step, no step takes what is not free, and the
 * request fits after the last one.  Circles are broken by a spare place, or by an end. */
#include "place-world.h"

#include "core/fleet/fleet.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/order.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_NODES 3

static const struct clv_fleet_node_spec one_device = {
	.model = "A", .cpu_milli = 8000, .memory_mib = 8000, .n_devices = 1};

static struct clv_place_at on(uint32_t node)
{
	return (struct clv_place_at){.node = node, .devices = 1};
}

static struct clv_repack_move move_of(
	struct clv_fleet *fleet, uint16_t milli, uint32_t from, uint32_t to)
{
	struct clv_repack_move move = {
		.request = {.milli = milli, .n_devices = 1, .class = CLV_CLASS_NORMAL},
		.from = on(from),
		.to = on(to),
	};

	assert_int_equal(
		clv_fleet_take(fleet, &move.request, &move.from, &move.lease), 0);
	return move;
}

/* Carries the steps out one by one; a step that takes what is not free ends the test. */
static void carry_out(struct clv_fleet *fleet, const struct clv_repack_plan *plan,
	const struct clv_repack_step *steps, int n)
{
	uint32_t leases[CLV_REPACK_MOVES_MAX];

	for (unsigned i = 0; i < plan->n_moves; i++)
		leases[i] = plan->moves[i].lease;
	for (int i = 0; i < n; i++) {
		const struct clv_repack_step *step = &steps[i];

		if (step->how != CLV_REPACK_BEGIN)
			assert_int_equal(clv_fleet_release(fleet, leases[step->move]), 0);
		if (step->how != CLV_REPACK_END)
			assert_int_equal(
				clv_fleet_take(fleet, &plan->moves[step->move].request,
					&step->to, &leases[step->move]),
				0);
		assert_null(clv_fleet_audit(fleet));
	}
	for (unsigned i = 0; i < plan->n_moves; i++) {
		assert_int_equal(fleet->leases[leases[i]].node, plan->moves[i].to.node);
		assert_int_equal(
			fleet->leases[leases[i]].devices, plan->moves[i].to.devices);
	}
}

/* The lease that is displaced by another one moves first. */
static void test_chain(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_repack_plan plan = {.at = on(0), .n_moves = 2};
	struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];

	place_add_nodes(fleet, 3, one_device);
	plan.moves[0] = move_of(fleet, 800, 0, 1);
	plan.moves[1] = move_of(fleet, 700, 1, 2);
	assert_int_equal(clv_repack_order(fleet, &plan, steps), 2);
	assert_int_equal(steps[0].move, 1);
	assert_int_equal(steps[1].move, 0);
	carry_out(fleet, &plan, steps, 2);
	clv_fleet_free(fleet);
}

/* What fits first may keep another lease from leaving: the order is searched. */
static void test_first_that_fits_is_not_always_first(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_repack_plan plan = {.at = on(3), .n_moves = 3};
	struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];
	int n;

	place_add_nodes(fleet, 4, one_device);
	/* Node 0 is half full.  Either of the first two fits there, but the third one,
	 * which leaves it, needs the place of the second one. */
	plan.moves[0] = move_of(fleet, 500, 1, 0);
	plan.moves[1] = move_of(fleet, 500, 2, 0);
	plan.moves[2] = move_of(fleet, 500, 0, 2);
	move_of(fleet, 500, 2, 2);
	n = clv_repack_order(fleet, &plan, steps);
	assert_int_equal(n, 3);
	carry_out(fleet, &plan, steps, n);
	clv_fleet_free(fleet);
}

static void test_circle(void **state)
{
	/* clang-format off */
	static const struct { unsigned n_nodes; int n_steps; enum clv_repack_how first, last; } rows[] = {
		{3, 3, CLV_REPACK_ASIDE, CLV_REPACK_MOVE},
		{2, 3, CLV_REPACK_END, CLV_REPACK_BEGIN},
	};
	/* clang-format on */
	for (unsigned i = 0; i < 2; i++) {
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_repack_plan plan = {.n_moves = 2};
		struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];
		int n;

		place_add_nodes(fleet, rows[i].n_nodes, one_device);
		plan.moves[0] = move_of(fleet, 600, 0, 1);
		plan.moves[1] = move_of(fleet, 700, 1, 0);
		n = clv_repack_order(fleet, &plan, steps);
		assert_int_equal(n, rows[i].n_steps);
		assert_int_equal(steps[0].how, rows[i].first);
		assert_int_equal(steps[n - 1].how, rows[i].last);
		carry_out(fleet, &plan, steps, n);
		clv_fleet_free(fleet);
	}
}

static void test_changed_fleet(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_repack_plan plan = {.n_moves = 1};
	struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];

	place_add_nodes(fleet, 2, one_device);
	plan.moves[0] = move_of(fleet, 600, 0, 1);
	assert_int_equal(clv_fleet_release(fleet, plan.moves[0].lease), 0);
	assert_int_equal(clv_repack_order(fleet, &plan, steps), -ESTALE);
	clv_fleet_free(fleet);
}

/* Plans of the search on mixed fleets.  Returns how many have several moves. */
static unsigned check_plans(struct clv_fleet *fleet, struct clv_placer *placer)
{
	struct clv_repack_options options = {.most_moves = 4};
	unsigned n_several = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct clv_place_request request = place_random_request(fleet);
		struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];
		struct clv_fleet *copy = clv_fleet_copy(fleet);
		struct clv_repack_plan plan;
		uint64_t tries = 2000;
		uint32_t lease;
		int n;

		options.tries_left = &tries;
		assert_non_null(copy);
		/* The search lets others follow such a request, but not the reverse. */
		request.alone_in_class = false;
		if (clv_repack_find(fleet, placer, &request, &options, &plan) == 0) {
			n = clv_repack_order(fleet, &plan, steps);
			assert_in_range(n, plan.n_moves, 2 * plan.n_moves);
			carry_out(copy, &plan, steps, n);
			assert_int_equal(
				clv_fleet_take(copy, &request, &plan.at, &lease), 0);
			n_several += plan.n_moves > 1;
			assert_int_equal(
				clv_repack_apply(fleet, &request, &plan, &lease), 0);
		}
		clv_fleet_free(copy);
	}
	return n_several;
}

static void test_plans_of_the_search(void **state)
{
	unsigned n_several = 0;

	place_random_begin(5);
	for (unsigned round = 0; round < 60; round++) {
		struct clv_fleet *fleet = place_fleet_mixed(N_NODES);
		struct clv_placer *placer = NULL;

		assert_int_equal(clv_placer_new(fleet, clv_place_policy_find("best-fit"),
					 NULL, NULL, &placer, NULL),
			0);
		n_several += check_plans(fleet, placer);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
	assert_true(n_several > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_first_that_fits_is_not_always_first),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_changed_fleet),
		cmocka_unit_test(test_plans_of_the_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
