/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of every fleet, over random operations: nothing is assigned twice, a release
 * undoes a take, cached scores equal new ones, and the order of the nodes decides only
 * between equal ones. CLEAVE_PLACE_STEPS makes it longer. */
#include "place-world.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_NODES 12
#define N_STEPS 20000
#define AUDIT_EVERY 16

struct world {
	struct clv_fleet *fleet;
	struct clv_workload workload;
	struct clv_placer *placer;
	const struct clv_place_policy *policy;
	uint32_t *held;
	unsigned n_held;
};

static unsigned n_steps(void)
{
	const char *text = getenv("CLEAVE_PLACE_STEPS");

	return text ? (unsigned)strtoul(text, NULL, 10) : N_STEPS;
}

static struct clv_placer *placer_of(struct world *world, struct clv_fleet *fleet)
{
	struct clv_placer_options options = {.seed = 5};
	struct clv_placer *placer = NULL;

	assert_int_equal(clv_placer_new(fleet, world->policy, &world->workload, &options,
				 &placer, NULL),
		0);
	return placer;
}

static void world_begin(struct world *world, const struct clv_place_policy *policy)
{
	place_random_begin(42);
	*world = (struct world){.policy = policy, .fleet = place_fleet_mixed(N_NODES)};
	world->workload = place_random_workload(world->fleet, 40);
	world->placer = placer_of(world, world->fleet);
	world->held = calloc(1 << 16, sizeof(*world->held));
	assert_non_null(world->held);
}

static void world_end(struct world *world)
{
	clv_placer_free(world->placer);
	clv_workload_done(&world->workload);
	clv_fleet_free(world->fleet);
	free(world->held);
}

static void forget(void *userdata, uint32_t lease)
{
	struct world *world = userdata;

	for (unsigned i = 0; i < world->n_held; i++) {
		if (world->held[i] == lease)
			world->held[i--] = world->held[--world->n_held];
	}
}

static void release_one(struct world *world)
{
	unsigned i;

	if (world->n_held == 0)
		return;
	i = place_random(world->n_held);
	assert_int_equal(clv_fleet_release(world->fleet, world->held[i]), 0);
	world->held[i] = world->held[--world->n_held];
}

static void resize_one(struct world *world)
{
	struct clv_place_request request = place_random_request(world->fleet);
	const struct clv_fleet_lease *lease;
	uint32_t number;
	int r;

	if (world->n_held == 0)
		return;
	number = world->held[place_random(world->n_held)];
	lease = &world->fleet->leases[number];
	request.n_devices = (uint8_t)__builtin_popcountll(lease->devices);
	request.milli = request.n_devices ? 500 : 0;
	request.models = CLV_PLACE_ANY_MODEL;
	r = clv_fleet_resize(world->fleet, number, &request);
	if (r != 0)
		assert_true(r == -ENOSPC || r == -EOPNOTSUPP);
}

/* A policy that follows what comes: the place is the first with the highest score. */
static void check_best(struct world *world, const struct clv_place_request *request)
{
	const struct clv_fleet *fleet = world->fleet;
	struct clv_place_at at = {0};
	uint32_t best = CLV_FLEET_NONE;
	int32_t best_score = 0;
	int r = clv_placer_find(world->placer, request, &at);

	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		int32_t score;

		if (!clv_fit_node(fleet, &fleet->nodes[i], request))
			continue;
		score = world->policy->score(
			clv_placer_view(world->placer), &fleet->nodes[i], request);
		if (best != CLV_FLEET_NONE && score <= best_score)
			continue;
		best = i;
		best_score = score;
	}
	assert_int_equal(r, best == CLV_FLEET_NONE ? -ENOSPC : 0);
	if (r == 0)
		assert_int_equal(at.node, best);
}

/* The cached scores give the same place as a placer without a cache. */
static void check_without_cache(
	struct world *world, const struct clv_place_request *request)
{
	struct clv_place_at kept = {0}, fresh = {0};
	struct clv_placer *anew;

	if (world->policy->keeps_room) {
		if (request->rule == CLV_PLACE_FREE || request->group == 0)
			check_best(world, request);
		return;
	}
	anew = placer_of(world, world->fleet);
	assert_int_equal(clv_placer_find(world->placer, request, &kept),
		clv_placer_find(anew, request, &fresh));
	assert_memory_equal(&kept, &fresh, sizeof(kept));
	clv_placer_free(anew);
}

struct books {
	struct clv_fleet_node nodes[N_NODES];
	struct clv_fleet_device *devices;
	struct clv_mig_set *sets;
};

static struct books books_of(const struct clv_fleet *fleet)
{
	struct books books;

	memcpy(books.nodes, fleet->nodes, sizeof(books.nodes));
	books.devices = calloc(fleet->n_devices, sizeof(*books.devices));
	books.sets = calloc(fleet->n_devices, sizeof(*books.sets));
	assert_true(books.devices && books.sets);
	memcpy(books.devices, fleet->devices, fleet->n_devices * sizeof(*books.devices));
	if (fleet->sets)
		memcpy(books.sets, fleet->sets, fleet->n_devices * sizeof(*books.sets));
	return books;
}

/* Takes, releases, and compares every byte. */
static void check_undo(struct world *world, const struct clv_place_request *request)
{
	struct clv_fleet *fleet = world->fleet;
	struct books books = books_of(fleet);
	uint32_t lease;

	if (clv_placer_place(world->placer, request, &lease) == 0) {
		assert_int_equal(clv_fleet_release(fleet, lease), 0);
		assert_memory_equal(books.nodes, fleet->nodes, sizeof(books.nodes));
		assert_memory_equal(books.devices, fleet->devices,
			fleet->n_devices * sizeof(*books.devices));
		if (fleet->sets)
			assert_memory_equal(books.sets, fleet->sets,
				fleet->n_devices * sizeof(*books.sets));
	}
	free(books.devices);
	free(books.sets);
}

static void place_one(struct world *world, unsigned step)
{
	struct clv_place_request request = place_random_request(world->fleet);
	uint32_t lease;

	if (place_random(8) == 0) {
		request.group = 1 + place_random(3);
		request.rule = (enum clv_place_rule)place_random(_CLV_PLACE_RULE_MAX);
	}
	if (step % 8 == 0 && !world->policy->is_uncacheable)
		check_without_cache(world, &request);
	if (step % 8 == 1)
		check_undo(world, &request);
	if (clv_placer_place(world->placer, &request, &lease) == 0)
		world->held[world->n_held++] = lease;
}

static void step(struct world *world, unsigned number)
{
	uint32_t kind = place_random(100), node = place_random(N_NODES);

	if (kind < 50)
		place_one(world, number);
	else if (kind < 88)
		release_one(world);
	else if (kind < 98)
		resize_one(world);
	else if (world->fleet->nodes[node].is_lost)
		assert_int_equal(clv_fleet_return_node(world->fleet, node), 0);
	else if (kind == 99)
		assert_int_equal(
			clv_fleet_lose_node(world->fleet, node, forget, world), 0);
}

static void test_books_are_kept(void **state)
{
	for (size_t i = 0; i < clv_place_n_policies; i++) {
		struct world world;

		world_begin(&world, &clv_place_policies[i]);
		for (unsigned n = 0; n < n_steps(); n++) {
			const char *wrong;

			step(&world, n);
			wrong = n % AUDIT_EVERY ? NULL : clv_fleet_audit(world.fleet);
			if (wrong)
				fail_msg("%s, step %u: %s", world.policy->name, n, wrong);
		}
		assert_int_equal(world.fleet->n_held, world.n_held);
		world_end(&world);
	}
}

/* Places the request by the last policy after each policy has been asked for a place: all
 * have one, or none has. */
static void ask_all(
	struct world *world, struct clv_placer *const *placers, unsigned *n_refused)
{
	struct clv_place_request request = place_random_request(world->fleet);
	struct clv_place_at at;
	uint32_t lease;
	int r = clv_placer_place(world->placer, &request, &lease);

	if (r == 0)
		assert_int_equal(clv_fleet_release(world->fleet, lease), 0);
	*n_refused += r != 0;
	for (size_t i = 0; i < clv_place_n_policies; i++) {
		int other = clv_placer_find(placers[i], &request, &at);

		if (other != r)
			fail_msg("%s: %d, %s: %d", world->policy->name, r,
				clv_place_policies[i].name, other);
	}
	if (r == 0 && clv_placer_place(world->placer, &request, &lease) == 0)
		world->held[world->n_held++] = lease;
}

/* In whichever state a policy has brought the fleet, no request is refused that another
 * policy would place: room that is kept for others is given away when nothing else is
 * free. */
static void test_none_refuses_what_another_places(void **state)
{
	for (size_t i = 0; i < clv_place_n_policies; i++) {
		struct clv_placer *placers[16];
		unsigned n_refused = 0;
		struct world world;

		world_begin(&world, &clv_place_policies[i]);
		assert_true(clv_place_n_policies <= 16);
		for (size_t k = 0; k < clv_place_n_policies; k++) {
			world.policy = &clv_place_policies[k];
			placers[k] = placer_of(&world, world.fleet);
		}
		world.policy = &clv_place_policies[i];
		for (unsigned n = 0; n < n_steps() / 10; n++) {
			if (place_random(100) < 45)
				release_one(&world);
			else
				ask_all(&world, placers, &n_refused);
		}
		/* Both happened. */
		assert_true(n_refused > 20);
		assert_true(world.n_held > 20);
		for (size_t k = 0; k < clv_place_n_policies; k++)
			clv_placer_free(placers[k]);
		world_end(&world);
	}
}

/* A fleet with the same nodes in reverse order. */
static struct clv_fleet *reversed(const struct clv_fleet *fleet)
{
	struct clv_fleet *other = clv_fleet_new();

	assert_non_null(other);
	for (uint32_t i = 0; i < fleet->n_schemes; i++)
		assert_int_equal(clv_fleet_add_scheme(other, &fleet->schemes[i]), i);
	for (uint32_t i = 0; i < fleet->n_models; i++)
		assert_int_equal(clv_fleet_model(other, fleet->models[i]), i);
	for (uint32_t i = fleet->n_nodes; i-- > 0;) {
		const struct clv_fleet_node *node = &fleet->nodes[i];
		const struct clv_fleet_device *device =
			&fleet->devices[node->first_device];

		place_add_nodes(other, 1,
			(struct clv_fleet_node_spec){
				.model = fleet->models[node->model],
				.cpu_milli = node->cpu_milli,
				.memory_mib = node->memory_mib,
				.n_devices = node->n_devices,
				.device_mib = node->n_devices ? device->memory_mib : 0,
				.scheme = node->n_devices ? device->scheme : 0,
				.n_linked = node->n_linked,
				.n_numa = node->n_devices
						  ? (uint8_t)(1 +
							      device[node->n_devices - 1]
								      .numa)
						  : 1,
			});
	}
	return other;
}

static int32_t score_at(struct world *world, const struct clv_placer *placer,
	const struct clv_fleet *fleet, uint32_t node,
	const struct clv_place_request *request)
{
	return world->policy->score(
		clv_placer_view(placer), &fleet->nodes[node], request);
}

/* Each decision is repeated in both fleets at the same place. So the two answers must be
 * equally good. */
static void compare_reversed(
	struct world *world, struct clv_fleet *other, struct clv_placer *other_placer)
{
	struct clv_place_request request = place_random_request(world->fleet);
	struct clv_place_at at, other_at;
	uint32_t lease, other_lease;
	int r = clv_placer_find(world->placer, &request, &at);

	assert_int_equal(r, clv_placer_find(other_placer, &request, &other_at));
	if (r < 0)
		return;
	assert_int_equal(score_at(world, world->placer, world->fleet, at.node, &request),
		score_at(world, other_placer, other, other_at.node, &request));
	assert_int_equal(clv_fleet_take(world->fleet, &request, &at, &lease), 0);
	at.node = N_NODES - 1 - at.node;
	assert_int_equal(clv_fleet_take(other, &request, &at, &other_lease), 0);
	if (place_random(3) > 0) {
		assert_int_equal(clv_fleet_release(world->fleet, lease), 0);
		assert_int_equal(clv_fleet_release(other, other_lease), 0);
	}
}

static void test_order_decides_ties_alone(void **state)
{
	for (size_t i = 0; i < clv_place_n_policies; i++) {
		struct clv_placer *other_placer;
		struct clv_fleet *other;
		struct world world;

		if (clv_place_policies[i].is_uncacheable)
			continue;
		world_begin(&world, &clv_place_policies[i]);
		other = reversed(world.fleet);
		other_placer = placer_of(&world, other);
		for (unsigned n = 0; n < 600; n++)
			compare_reversed(&world, other, other_placer);
		clv_placer_free(other_placer);
		clv_fleet_free(other);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_books_are_kept),
		cmocka_unit_test(test_none_refuses_what_another_places),
		cmocka_unit_test(test_order_decides_ties_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
