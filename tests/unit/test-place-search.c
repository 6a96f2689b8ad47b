/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best node: its result is that of scoring every node, for random
 * fleets, mixes and prices, and it scores few nodes.  CLEAVE_PLACE_WORLDS tries more
 * fleets. */
#include "place-world.h"

#include "base/cleanup.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/place/prices.h"
#include "core/place/ranking.h"
#include "core/place/search.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define N_WORLDS 24
#define N_STEPS 700
#define N_MANY 2000

static unsigned n_scored;

struct world {
	struct clv_fleet *fleet;
	struct clv_workload workload;
	struct clv_placer *placer;
	struct clv_place_policy policy;
	uint32_t held[1 << 15];
	unsigned n_held;
};

static int32_t count_score(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	n_scored++;
	return clv_place_score_balance(view, node, request);
}

/* Nearly no two requests are equal. */
static struct clv_place_request request_for(const struct clv_fleet *fleet)
{
	struct clv_place_request request = place_random_request(fleet);

	request.cpu_milli = place_random(1 + request.n_devices) * place_random(16000);
	request.memory_mib = place_random(60000);
	if (request.device_mib > 0)
		request.device_mib = 1 + place_random(20000);
	if (request.n_devices > 0 && request.milli < CLV_PLACE_WHOLE && !request.profile)
		request.milli = (uint16_t)(place_random(8) ? place_random(1001) : 0);
	if (request.n_devices > 1 && request.milli == 0)
		request.milli = CLV_PLACE_WHOLE;
	return request;
}

static void world_begin(struct world *world, uint64_t seed, unsigned n_nodes,
	struct clv_workload (*workload_for)(const struct clv_fleet *fleet, unsigned n))
{
	place_random_begin(seed);
	world->n_held = 0;
	world->policy = *clv_place_policy_find("balance");
	world->policy.score = count_score;
	world->fleet = place_fleet_mixed(n_nodes);
	world->workload = workload_for(world->fleet, 100);
	world->placer = NULL;
	assert_int_equal(clv_placer_new(world->fleet, &world->policy, &world->workload,
				 NULL, &world->placer, NULL),
		0);
}

static void world_end(struct world *world)
{
	clv_placer_free(world->placer);
	clv_workload_done(&world->workload);
	clv_fleet_free(world->fleet);
}

/* Half of it has the few shapes of the other tests. */
static struct clv_workload diverse_workload(const struct clv_fleet *fleet, unsigned n)
{
	struct clv_workload workload = {0};

	for (unsigned i = 0; i < n; i++) {
		struct clv_place_request request =
			i % 2 ? request_for(fleet) : place_random_request(fleet);

		assert_int_equal(clv_workload_add(&workload, &request, 1), 0);
	}
	clv_workload_cut(&workload, 95);
	return workload;
}

/* What is free is useless to this workload nearly everywhere, so that the bound of what
 * is stranded is exact; and it needs many more processors than the requests that come. */
static struct clv_workload large_workload(const struct clv_fleet *fleet, unsigned n)
{
	struct clv_place_request request = {
		.cpu_milli = 90000, .milli = CLV_PLACE_WHOLE, .n_devices = 8};
	struct clv_workload workload = {0};

	(void)fleet;
	assert_int_equal(clv_workload_add(&workload, &request, n), 0);
	clv_workload_cut(&workload, 100);
	return workload;
}

/* By number of the world. */
static struct clv_workload (*const workloads[])(const struct clv_fleet *fleet,
	unsigned n) = {place_random_workload, diverse_workload, large_workload};

/* The first of the nodes with the highest score. */
static uint32_t scan(
	const struct clv_place_view *view, const struct clv_place_request *request)
{
	const struct clv_fleet *fleet = view->fleet;
	uint32_t best = CLV_FLEET_NONE;
	int32_t best_score = 0;

	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		int32_t score;

		if (!clv_fit_node(fleet, &fleet->nodes[i], request))
			continue;
		score = clv_place_score_balance(view, &fleet->nodes[i], request);
		if (best != CLV_FLEET_NONE && score <= best_score)
			continue;
		best = i;
		best_score = score;
	}
	return best;
}

static void check_find(struct world *world, const struct clv_place_request *request)
{
	struct clv_place_at at = {.node = CLV_FLEET_NONE};
	int r = clv_placer_find(world->placer, request, &at);

	assert_int_equal(at.node, scan(clv_placer_view(world->placer), request));
	assert_int_equal(r, at.node == CLV_FLEET_NONE ? -ENOSPC : 0);
}

static void release_one(struct world *world)
{
	unsigned i;

	if (world->n_held == 0)
		return;
	i = place_random(world->n_held);
	/* Of a lost node, it has ended. */
	clv_fleet_release(world->fleet, world->held[i]);
	world->held[i] = world->held[--world->n_held];
}

static void place_one(struct world *world)
{
	struct clv_place_request request = request_for(world->fleet);

	check_find(world, &request);
	if (clv_placer_place(world->placer, &request, &world->held[world->n_held]) == 0)
		world->n_held++;
}

/* Some leases end, and then so much changes that the log of the fleet has lost that. */
static void change_much(struct world *world)
{
	for (unsigned i = 0; i < 8; i++)
		release_one(world);
	for (uint32_t i = 0; i <= world->fleet->log.mask; i++) {
		clv_fleet_lose_node(world->fleet, 0, NULL, NULL);
		clv_fleet_return_node(world->fleet, 0);
	}
}

static void step(struct world *world, unsigned n_releases)
{
	uint32_t node = place_random(world->fleet->n_nodes);

	if (place_random(100) < n_releases)
		release_one(world);
	else
		place_one(world);
	if (place_random(200) == 0)
		clv_fleet_lose_node(world->fleet, node, NULL, NULL);
	if (place_random(200) == 0)
		clv_fleet_return_node(world->fleet, node);
	if (place_random(200) == 0)
		change_much(world);
}

static void test_same_as_a_scan(void **state)
{
	static const unsigned n_nodes[] = {1, 12, 63, 64, 65, 200, 500};
	const char *text = getenv("CLEAVE_PLACE_WORLDS");
	unsigned n = text ? (unsigned)strtoul(text, NULL, 10) : N_WORLDS;
	static struct world world;

	for (unsigned i = 0; i < n; i++) {
		world_begin(&world, i + 1, n_nodes[i % CLV_ARRAY_SIZE(n_nodes)],
			workloads[i % CLV_ARRAY_SIZE(workloads)]);
		for (unsigned k = 0; k < N_STEPS; k++)
			step(&world, i % 4 * 15);
		for (unsigned k = 0; k < N_STEPS / 2; k++)
			step(&world, 55);
		world_end(&world);
	}
}

/* The price of processors changes what nodes have to spare. */
static void test_prices_are_followed(void **state)
{
	static struct world world;
	struct clv_search search;
	struct clv_place_prices prices;
	struct clv_place_view view;

	world_begin(&world, 3, 200, large_workload);
	for (unsigned i = 0; i < N_STEPS; i++)
		step(&world, 30);
	view = *clv_placer_view(world.placer);
	prices = *view.prices;
	view.prices = &prices;
	assert_int_equal(clv_search_init(&search, world.fleet), 0);
	for (unsigned i = 0; i < N_STEPS; i++) {
		struct clv_place_request request = request_for(world.fleet);

		request = clv_ranking_shape(&request);
		prices.cpu_per_device = place_random(8) ? 500 + place_random(30000) : 0;
		assert_int_equal(clv_search_find(&search, &view, &world.policy, &request),
			scan(&view, &request));
	}
	clv_search_done(&search);
	world_end(&world);
}

/* The least that is free on a device that fits. */
static uint32_t least_on(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request)
{
	uint32_t least = CLV_PLACE_WHOLE;
	uint64_t fitting = clv_fit_devices(fleet, node, request);

	if (request->profile || request->n_devices == 0)
		return 0;
	for (; fitting; fitting &= fitting - 1) {
		uint32_t milli = fleet->devices[node->first_device +
						(uint32_t)__builtin_ctzll(fitting)]
					 .free_milli;

		least = milli < least ? milli : least;
	}
	return least;
}

static void check_bounds(const struct world *world, const struct clv_fleet_node *node,
	const struct clv_place_request *request)
{
	const struct clv_place_view *view = clv_placer_view(world->placer);
	const struct clv_place_policy *policy = clv_place_policy_find("balance");
	uint32_t least = least_on(world->fleet, node, request);
	int64_t spare = clv_place_spare(view, node);
	int32_t score = policy->score(view, node, request);
	struct clv_place_need need = policy->need(view, request, least, score);

	assert_true(policy->bound(view, node, request, least) >= score);
	assert_true(need.most_score >= score);
	assert_true(need.least_spare <= spare && spare <= need.most_spare);
}

static void test_bounds_hold(void **state)
{
	static struct world world;

	for (unsigned i = 0; i < N_WORLDS / 4; i++) {
		world_begin(
			&world, 100 + i, 100, workloads[i % CLV_ARRAY_SIZE(workloads)]);
		for (unsigned k = 0; k < N_STEPS; k++) {
			struct clv_place_request request = request_for(world.fleet);

			step(&world, i % 4 * 15);
			for (uint32_t n = 0; n < world.fleet->n_nodes; n++) {
				if (clv_fit_node(world.fleet, &world.fleet->nodes[n],
					    &request))
					check_bounds(
						&world, &world.fleet->nodes[n], &request);
			}
		}
		world_end(&world);
	}
}

/* Of 2,000 nodes some dozens are scored, in an empty fleet and in a full one. */
static void test_few_are_scored(void **state)
{
	static struct world world;
	unsigned n = 0;

	world_begin(&world, 7, N_MANY, diverse_workload);
	n_scored = 0;
	for (; n < 8 * N_MANY; n++) {
		struct clv_place_request request = request_for(world.fleet);

		if (clv_placer_place(world.placer, &request, &world.held[world.n_held]) ==
			0)
			world.n_held++;
		if (world.fleet->held_milli * 10 > world.fleet->milli * 9)
			release_one(&world);
	}
	assert_true(n_scored / n < N_MANY / 50);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_a_scan),
		cmocka_unit_test(test_prices_are_followed),
		cmocka_unit_test(test_bounds_hold),
		cmocka_unit_test(test_few_are_scored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
