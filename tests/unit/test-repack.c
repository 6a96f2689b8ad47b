/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that make room: the fewest, the fleet unchanged by the search, gangs placed
 * completely or not at all. */
#include "place-world.h"

#include "core/fleet/fleet.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/gang.h"
#include "core/repack/repack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_NODES 3
#define N_ROUNDS 400

static const struct clv_fleet_node_spec two_devices = {
	.model = "A", .cpu_milli = 32000, .memory_mib = 64000, .n_devices = 2};

static struct clv_placer *placer_of(struct clv_fleet *fleet)
{
	struct clv_placer *placer = NULL;

	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find("best-fit"), NULL,
				 NULL, &placer, NULL),
		0);
	return placer;
}

static uint32_t put(
	struct clv_fleet *fleet, uint32_t node, uint64_t devices, uint16_t milli)
{
	struct clv_place_request request = {.milli = milli, .n_devices = 1};
	struct clv_place_at at = {.devices = devices, .node = node};
	uint32_t lease = CLV_FLEET_NONE;

	assert_int_equal(clv_fleet_take(fleet, &request, &at, &lease), 0);
	return lease;
}

static void check_audit(const struct clv_fleet *fleet)
{
	const char *wrong = clv_fleet_audit(fleet);

	if (wrong)
		fail_msg("%s", wrong);
}

static void test_one_move_is_enough(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_request two = {.milli = 1000, .n_devices = 2};
	struct clv_repack_options options = {0};
	struct clv_repack_plan plan;
	struct clv_placer *placer;
	uint32_t small, lease;

	place_add_nodes(fleet, 2, two_devices);
	put(fleet, 0, 1, 500);
	put(fleet, 0, 2, 500);
	small = put(fleet, 1, 1, 300);
	placer = placer_of(fleet);
	assert_int_equal(clv_repack_find(fleet, placer, &two, &options, &plan), 0);
	assert_int_equal(plan.n_moves, 1);
	assert_int_equal(plan.moves[0].lease, small);
	assert_int_equal(plan.moves[0].to.node, 0);
	assert_int_equal(plan.at.node, 1);
	check_audit(fleet);
	assert_int_equal(clv_repack_apply(fleet, &two, &plan, &lease), 0);
	assert_int_equal(fleet->held_milli, 3300);
	check_audit(fleet);
	/* The fleet has changed. */
	assert_int_equal(clv_fleet_release(fleet, plan.moves[0].lease), 0);
	assert_int_equal(clv_repack_apply(fleet, &two, &plan, &lease), -ESTALE);
	check_audit(fleet);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

static bool is_never(void *userdata, uint32_t lease)
{
	return lease != *(uint32_t *)userdata;
}

static void test_immovable_leases_stay(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_request two = {.milli = 1000, .n_devices = 2};
	struct clv_repack_options options = {.is_movable = is_never};
	struct clv_repack_plan plan;
	struct clv_placer *placer;
	uint32_t kept;

	place_add_nodes(fleet, 2, two_devices);
	put(fleet, 0, 1, 500);
	put(fleet, 0, 2, 500);
	kept = put(fleet, 1, 1, 300);
	options.userdata = &kept;
	placer = placer_of(fleet);
	/* Two moves then: both halves to the other node. */
	assert_int_equal(clv_repack_find(fleet, placer, &two, &options, &plan), 0);
	assert_int_equal(plan.n_moves, 2);
	assert_int_equal(plan.at.node, 0);
	options.most_moves = 1;
	assert_int_equal(clv_repack_find(fleet, placer, &two, &options, &plan), -ENOSPC);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* Tries all places for the request (0) and each lease: the smallest number of moved
 * leases, if that is less than *best. */
static void fewest(struct clv_fleet *fleet, const struct clv_place_request *requests,
	const struct clv_place_at *were, unsigned n, unsigned i, unsigned n_moved,
	unsigned *best)
{
	if (n_moved >= *best)
		return;
	if (i == n) {
		*best = n_moved;
		return;
	}
	for (unsigned place = 0; place < 4; place++) {
		struct clv_place_at at = {
			.node = place / 2, .devices = UINT64_C(1) << place % 2};
		bool is_there = at.node == were[i].node && at.devices == were[i].devices;
		uint32_t lease;

		if (clv_fleet_take(fleet, &requests[i], &at, &lease) < 0)
			continue;
		fewest(fleet, requests, were, n, i + 1, n_moved + (i > 0 && !is_there),
			best);
		clv_fleet_release(fleet, lease);
	}
}

/* Up to six leases on four devices. */
static unsigned scatter(struct clv_fleet *fleet, struct clv_place_request *requests,
	struct clv_place_at *were)
{
	static const uint16_t sizes[] = {200, 300, 400, 500, 600};
	unsigned n = 1;

	for (unsigned tries = 0; n < 7 && tries < 12; tries++) {
		uint32_t lease;

		requests[n] = (struct clv_place_request){
			.milli = sizes[place_random(5)], .n_devices = 1};
		were[n] = (struct clv_place_at){.node = place_random(2),
			.devices = UINT64_C(1) << place_random(2)};
		n += clv_fleet_take(fleet, &requests[n], &were[n], &lease) == 0;
	}
	return n;
}

static void test_fewest_by_brute_force(void **state)
{
	unsigned n_found = 0;

	place_random_begin(7);
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		struct clv_fleet *fleet = clv_fleet_new(), *empty = clv_fleet_new();
		struct clv_place_request requests[8] = {0};
		struct clv_place_at were[8] = {0};
		struct clv_repack_options options = {.most_moves = 3};
		struct clv_repack_plan plan = {0};
		struct clv_placer *placer;
		unsigned best = 4;
		int r;

		place_add_nodes(fleet, 2, two_devices);
		place_add_nodes(empty, 2, two_devices);
		requests[0] = (struct clv_place_request){
			.milli = (uint16_t)(500 + 100 * place_random(6)), .n_devices = 1};
		fewest(empty, requests, were, scatter(fleet, requests, were), 0, 0,
			&best);
		placer = placer_of(fleet);
		r = clv_repack_find(fleet, placer, &requests[0], &options, &plan);
		check_audit(fleet);
		assert_int_equal(r, best <= 3 ? 0 : -ENOSPC);
		if (r == 0)
			assert_int_equal(plan.n_moves, best);
		n_found += r == 0 && best > 0;
		clv_placer_free(placer);
		clv_fleet_free(fleet);
		clv_fleet_free(empty);
	}
	assert_true(n_found > N_ROUNDS / 10);
}

/* On mixed fleets: the search changes no byte, and its plans can be carried out. */
static void test_plans_hold(void **state)
{
	place_random_begin(3);
	for (unsigned round = 0; round < 60; round++) {
		struct clv_fleet *fleet = place_fleet_mixed(N_NODES), *before;
		struct clv_placer *placer = placer_of(fleet);
		struct clv_repack_options options = {.most_moves = 2};

		for (unsigned i = 0; i < 60; i++) {
			struct clv_place_request request = place_random_request(fleet);
			struct clv_repack_plan plan;
			uint64_t tries = 2000;
			uint32_t lease;
			int r;

			options.tries_left = &tries;
			before = clv_fleet_copy(fleet);
			r = clv_repack_find(fleet, placer, &request, &options, &plan);
			/* The order of a node's leases is irrelevant. */
			for (uint32_t k = 0; k < fleet->n_nodes; k++)
				before->nodes[k].first_lease =
					fleet->nodes[k].first_lease;
			assert_memory_equal(before->nodes, fleet->nodes,
				fleet->n_nodes * sizeof(*fleet->nodes));
			assert_memory_equal(before->devices, fleet->devices,
				fleet->n_devices * sizeof(*fleet->devices));
			clv_fleet_free(before);
			if (r == 0)
				assert_int_equal(
					clv_repack_apply(fleet, &request, &plan, &lease),
					0);
			check_audit(fleet);
		}
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

static void test_gang(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_request gang[5] = {0};
	struct clv_placer *placer;
	uint32_t leases[5];

	place_add_nodes(fleet, 2, two_devices);
	placer = placer_of(fleet);
	for (unsigned i = 0; i < 5; i++)
		gang[i] = (struct clv_place_request){.milli = 1000, .n_devices = 1};
	assert_int_equal(clv_place_gang(placer, gang, 5, leases), -ENOSPC);
	assert_int_equal(fleet->n_held, 0);
	assert_int_equal(clv_place_gang(placer, gang, 4, leases), 0);
	assert_int_equal(fleet->held_milli, 4000);
	check_audit(fleet);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* Three racks with two, three and four free devices, and one node in none. */
static struct clv_fleet *three_racks(void)
{
	static const char *const racks[] = {
		NULL, "r1", "r2", "r2", "r3", "r3", "r1", "r2"};
	static const unsigned n_free[] = {2, 1, 1, 1, 2, 2, 1, 1};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_request whole = {.milli = 1000, .n_devices = 1};

	for (uint32_t i = 0; i < 8; i++) {
		struct clv_fleet_node_spec spec = two_devices;
		struct clv_place_at at = {.node = i, .devices = 1};
		uint32_t lease;

		spec.rack = racks[i];
		place_add_nodes(fleet, 1, spec);
		if (n_free[i] == 1)
			assert_int_equal(clv_fleet_take(fleet, &whole, &at, &lease), 0);
	}
	return fleet;
}

/* Each gang goes to the rack with the least room that suffices, or nowhere. */
static void test_gang_in_one_rack(void **state)
{
	static const struct {
		uint32_t n;
		int result, rack;
	} rows[] = {{2, 0, 1}, {3, 0, 2}, {4, 0, 3}, {5, -ENOSPC, 0}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_fleet *fleet = three_racks();
		struct clv_placer *placer = placer_of(fleet);
		struct clv_place_request gang[5];
		uint32_t leases[5], n_held = fleet->n_held;

		for (unsigned k = 0; k < 5; k++)
			gang[k] = (struct clv_place_request){.milli = 1000,
				.n_devices = 1,
				.rule = CLV_PLACE_ONE_RACK};
		assert_int_equal(
			clv_place_gang(placer, gang, rows[i].n, leases), rows[i].result);
		if (rows[i].result == 0) {
			assert_true(clv_gang_is_in_one_rack(fleet, leases, rows[i].n));
			assert_int_equal(fleet->nodes[fleet->leases[leases[0]].node].rack,
				rows[i].rack);
		}
		assert_int_equal(
			fleet->n_held, n_held + (rows[i].result == 0 ? rows[i].n : 0));
		check_audit(fleet);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

/* Two gangs of one group share the rack of the first, and a lost node has no room. */
static void test_gangs_of_a_group(void **state)
{
	struct clv_fleet *fleet = three_racks();
	struct clv_placer *placer = placer_of(fleet);
	struct clv_place_request gang[2];
	uint32_t leases[4];

	for (unsigned k = 0; k < 2; k++)
		gang[k] = (struct clv_place_request){.milli = 1000,
			.n_devices = 1,
			.rule = CLV_PLACE_ONE_RACK,
			.group = 7};
	assert_int_equal(clv_fleet_lose_node(fleet, 1, NULL, NULL), 0);
	assert_int_equal(clv_place_gang(placer, gang, 2, leases), 0);
	assert_int_equal(fleet->nodes[fleet->leases[leases[0]].node].rack, 2);
	assert_int_equal(clv_place_gang(placer, gang, 2, leases + 2), -ENOSPC);
	gang[0].group = gang[1].group = 8;
	assert_int_equal(clv_place_gang(placer, gang, 2, leases + 2), 0);
	assert_false(clv_gang_is_in_one_rack(fleet, leases, 4));
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* Only the members with the rule are in one rack, whichever is the first. */
static void test_gang_partly_in_one_rack(void **state)
{
	for (unsigned first = 0; first < 2; first++) {
		struct clv_fleet *fleet = three_racks();
		struct clv_placer *placer = placer_of(fleet);
		struct clv_place_request gang[6] = {0};
		uint32_t leases[6];

		/* At most four devices are free in one rack. */
		for (unsigned k = 0; k < 6; k++)
			gang[k] = (struct clv_place_request){.milli = 1000,
				.n_devices = 1,
				.rule = k % 2 == first ? CLV_PLACE_ONE_RACK
						       : CLV_PLACE_FREE};
		assert_int_equal(clv_place_gang(placer, gang, 6, leases), 0);
		for (unsigned k = 0; k < 3; k++)
			leases[k] = leases[2 * k + first];
		assert_true(clv_gang_is_in_one_rack(fleet, leases, 3));
		check_audit(fleet);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

/* One lease on the first node, and room for it on the second one alone. */
static int move_for_four(struct clv_place_request of_lease,
	struct clv_fleet_node_spec first, struct clv_fleet_node_spec second)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_request four = {.milli = 1000, .n_devices = 4};
	struct clv_repack_options options = {0};
	struct clv_repack_plan plan;
	struct clv_placer *placer;
	struct clv_place_at at = {.node = 0, .devices = 3};
	uint32_t lease;
	int r;

	place_add_nodes(fleet, 1, first);
	place_add_nodes(fleet, 1, second);
	assert_int_equal(clv_fleet_take(fleet, &of_lease, &at, &lease), 0);
	placer = placer_of(fleet);
	r = clv_repack_find(fleet, placer, &four, &options, &plan);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
	return r;
}

/* A moved lease keeps what its request required of the place. */
static void test_moves_keep_the_place(void **state)
{
	static const struct clv_fleet_node_spec four = {.model = "A",
		.cpu_milli = 32000,
		.memory_mib = 64000,
		.n_devices = 4,
		.n_linked = 2};
	static const struct clv_place_request two = {.milli = 1000, .n_devices = 2};
	struct clv_fleet_node_spec second = two_devices;
	struct clv_place_request request = two;

	second.n_numa = 2;
	assert_int_equal(move_for_four(request, four, second), 0);
	request.same_link = true;
	assert_int_equal(move_for_four(request, four, second), -ENOSPC);
	second.n_linked = 2;
	assert_int_equal(move_for_four(request, four, second), 0);
	request.same_numa = true;
	assert_int_equal(move_for_four(request, four, second), -ENOSPC);
}

#define N_FULL 50

/* Nodes of other racks are not tried. */
static void test_moves_within_a_rack(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_request whole = {.milli = 1000, .n_devices = 1, .rack = 2};
	uint64_t tries = N_FULL;
	struct clv_repack_options options = {.most_moves = 1, .tries_left = &tries};
	struct clv_fleet_node_spec spec = two_devices;
	struct clv_repack_plan plan;
	struct clv_placer *placer;

	for (uint32_t i = 0; i < N_FULL + 2; i++) {
		spec.rack = i < N_FULL ? "r1" : "r2";
		place_add_nodes(fleet, 1, spec);
		put(fleet, i, 1, 600);
		put(fleet, i, 2, i == N_FULL ? 400 : 600);
	}
	placer = placer_of(fleet);
	assert_int_equal(clv_repack_find(fleet, placer, &whole, &options, &plan), 0);
	assert_int_equal(plan.n_moves, 1);
	assert_true(plan.at.node >= N_FULL);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_move_is_enough),
		cmocka_unit_test(test_immovable_leases_stay),
		cmocka_unit_test(test_fewest_by_brute_force),
		cmocka_unit_test(test_plans_hold),
		cmocka_unit_test(test_gang),
		cmocka_unit_test(test_gang_in_one_rack),
		cmocka_unit_test(test_gangs_of_a_group),
		cmocka_unit_test(test_gang_partly_in_one_rack),
		cmocka_unit_test(test_moves_keep_the_place),
		cmocka_unit_test(test_moves_within_a_rack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
