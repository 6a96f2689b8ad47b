/* SPDX-License-Identifier: Apache-2.0 */
/* Room for requests that few nodes can take: it is kept while it may be needed, it
 * follows what comes, and an imbalance counts for as long as it lasts. */
#include "place-world.h"

#include "core/fleet/kinds.h"
#include "core/fleet/workload.h"
#include "core/place/policy.h"
#include "core/place/prices.h"
#include "core/place/room.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N_SMALL 30
#define N_LARGE 4

static const struct clv_place_request one = {
	.cpu_milli = 14000, .memory_mib = 1000, .milli = 1000, .n_devices = 1};
/* Only nodes of the second kind have so many processors. */
static const struct clv_place_request many = {
	.cpu_milli = 120000, .memory_mib = 1000, .milli = 1000, .n_devices = 8};

static struct clv_fleet *fleet_of_two_kinds(void)
{
	struct clv_fleet_node_spec spec = {
		.model = "A", .cpu_milli = 96000, .memory_mib = 100000, .n_devices = 8};
	struct clv_fleet *fleet = clv_fleet_new();

	place_add_nodes(fleet, N_SMALL, spec);
	spec.cpu_milli = 128000;
	place_add_nodes(fleet, N_LARGE, spec);
	return fleet;
}

static struct clv_placer *placer_of(struct clv_fleet *fleet, unsigned n_many)
{
	struct clv_workload workload = {0};
	struct clv_placer *placer = NULL;

	assert_int_equal(clv_workload_add(&workload, &one, 100), 0);
	if (n_many > 0)
		assert_int_equal(clv_workload_add(&workload, &many, n_many), 0);
	clv_workload_cut(&workload, 100);
	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find("balance"),
				 &workload, NULL, &placer, NULL),
		0);
	clv_workload_done(&workload);
	return placer;
}

/* Places n small requests for each large one until there were n_many of these.  Returns
 * how many of these were placed. */
static unsigned fill(struct clv_placer *placer, unsigned n, unsigned n_many)
{
	unsigned n_placed = 0;
	uint32_t lease;

	for (unsigned i = 0; i < n_many; i++) {
		for (unsigned j = 0; j < n; j++)
			assert_int_equal(clv_placer_place(placer, &one, &lease), 0);
		n_placed += clv_placer_place(placer, &many, &lease) == 0;
	}
	return n_placed;
}

/* The small requests suit the large nodes better, which have processors to spare. */
static void test_room_is_kept(void **state)
{
	struct clv_fleet *fleet = fleet_of_two_kinds();
	struct clv_placer *placer = placer_of(fleet, 3);

	assert_int_equal(fill(placer, 40, N_LARGE), N_LARGE);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* A workload that is wrong is forgotten: it says that all ask for model A, and none does.
 */
static void test_prices_follow_what_comes(void **state)
{
	struct clv_place_request only_a = one;
	struct clv_fleet *fleet = fleet_of_two_kinds();
	struct clv_workload workload = {0};
	struct clv_placer *placer = NULL;
	const uint32_t *wanted;
	uint32_t lease;

	only_a.models = 1;
	place_add_nodes(fleet, 10,
		(struct clv_fleet_node_spec){.model = "B",
			.cpu_milli = 96000,
			.memory_mib = 100000,
			.n_devices = 8});
	assert_int_equal(clv_workload_add(&workload, &only_a, 10), 0);
	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find("balance"),
				 &workload, NULL, &placer, NULL),
		0);
	wanted = clv_placer_view(placer)->prices->wanted;
	assert_true(wanted[0] > 1000 && wanted[1] == 0);
	for (unsigned i = 0; i < 12000; i++) {
		assert_int_equal(clv_placer_place(placer, &one, &lease), 0);
		assert_int_equal(clv_fleet_release(fleet, lease), 0);
	}
	assert_true(wanted[0] < 150);
	clv_workload_done(&workload);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* Where nothing else is free the room is given away: no request is refused for it. */
static void test_room_refuses_nothing(void **state)
{
	struct clv_fleet *fleet = fleet_of_two_kinds();
	struct clv_placer *placer = placer_of(fleet, 50);
	unsigned n = 0;
	uint32_t lease;

	while (clv_placer_place(placer, &one, &lease) == 0)
		n++;
	/* Six on each small node, by processors, and eight on each large one. */
	assert_int_equal(n, N_SMALL * 6 + N_LARGE * 8);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* While nothing ends an imbalance counts in full, and a tenth of it where as many end as
 * come. */
static void test_weight_of_an_imbalance(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_fleet_node_spec spec = {
		.model = "A", .cpu_milli = 96000, .memory_mib = 100000, .n_devices = 8};
	const struct clv_room *room;
	struct clv_placer *placer;
	uint32_t lease;

	place_add_nodes(fleet, 100, spec);
	placer = placer_of(fleet, 0);
	room = clv_placer_view(placer)->room;
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(clv_placer_place(placer, &one, &lease), 0);
	assert_int_equal(room->weight, 10);
	for (unsigned i = 0; i < 4000; i++) {
		assert_int_equal(clv_fleet_release(fleet, lease), 0);
		assert_int_equal(clv_placer_place(placer, &one, &lease), 0);
	}
	assert_int_equal(room->weight, 1);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

static void test_kinds(void **state)
{
	struct clv_fleet *fleet = fleet_of_two_kinds();
	struct clv_kinds kinds;

	assert_int_equal(clv_kinds_init(&kinds, fleet), 0);
	assert_int_equal(kinds.n, 2);
	assert_int_equal(kinds.items[0].n_nodes, N_SMALL);
	assert_int_equal(kinds.of[N_SMALL], 1);
	assert_int_equal(clv_kinds_for(&kinds, &one), 3);
	assert_int_equal(clv_kinds_for(&kinds, &many), 2);
	clv_kinds_done(&kinds);
	/* More kinds than are distinguished. */
	for (uint32_t i = 0; i < 2 * CLV_KINDS_MAX; i++)
		place_add_nodes(fleet, 1,
			(struct clv_fleet_node_spec){.model = "A",
				.cpu_milli = 1000 * (200 - i),
				.memory_mib = 100000,
				.n_devices = 1});
	assert_int_equal(clv_kinds_init(&kinds, fleet), 0);
	assert_int_equal(kinds.n, CLV_KINDS_MAX);
	assert_int_equal(kinds.items[CLV_KINDS_MAX - 1].cpu_milli, 1000 * 73);
	clv_kinds_done(&kinds);
	clv_fleet_free(fleet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_is_kept),
		cmocka_unit_test(test_prices_follow_what_comes),
		cmocka_unit_test(test_room_refuses_nothing),
		cmocka_unit_test(test_weight_of_an_imbalance),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
