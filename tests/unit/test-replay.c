/* SPDX-License-Identifier: Apache-2.0 */
/* Replays: what is counted, departures in their order, the same result for the same
 * arrivals. */
#include "place-world.h"

#include "simulate/departures.h"
#include "simulate/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct clv_replay *replay_of(struct clv_fleet *fleet, const char *policy)
{
	struct clv_place_request whole = {
		.cpu_milli = 1000, .milli = 1000, .n_devices = 1};
	struct clv_workload workload = {0};
	struct clv_replay *replay = NULL;

	assert_int_equal(clv_workload_add(&workload, &whole, 1), 0);
	clv_workload_cut(&workload, 95);
	assert_int_equal(clv_replay_new(fleet, clv_place_policy_find(policy), &workload,
				 1, &replay, NULL),
		0);
	clv_workload_done(&workload);
	return replay;
}

static struct clv_fleet *one_node(void)
{
	struct clv_fleet *fleet = clv_fleet_new();

	place_add_nodes(fleet, 1,
		(struct clv_fleet_node_spec){.model = "A",
			.cpu_milli = 8000,
			.memory_mib = 1000,
			.n_devices = 2});
	return fleet;
}

static struct clv_trace_item item_of(
	uint8_t n_devices, int64_t arrives_s, int64_t stays_s)
{
	return (struct clv_trace_item){
		.request = {.cpu_milli = 1000, .milli = 1000, .n_devices = n_devices},
		.arrives_s = arrives_s,
		.stays_s = stays_s,
	};
}

static void test_refusals_are_counted(void **state)
{
	struct clv_replay *replay = replay_of(one_node(), "best-fit");
	const struct clv_replay_counts *counts = clv_replay_counts(replay);
	struct clv_trace_item two = item_of(2, 0, CLV_TRACE_FOREVER);
	struct clv_trace_item three = item_of(3, 0, CLV_TRACE_FOREVER);
	struct clv_trace_item other = item_of(1, 0, CLV_TRACE_FOREVER);

	(void)state;
	other.is_of_no_model = true;
	assert_int_equal(clv_replay_arrive(replay, &three, false), 0);
	assert_int_equal(clv_replay_arrive(replay, &other, false), 0);
	assert_int_equal(clv_replay_arrive(replay, &two, false), 0);
	assert_int_equal(clv_replay_arrive(replay, &two, false), 0);
	assert_int_equal(counts->arrived, 4);
	assert_int_equal(counts->placed, 1);
	assert_int_equal(counts->refused, 3);
	assert_int_equal(counts->too_large, 1);
	assert_int_equal(counts->of_no_model, 1);
	assert_int_equal(counts->arrived_milli, 8000);
	assert_int_equal(counts->placed_milli, 2000);
	clv_replay_free(replay);
}

static void test_departures_make_room(void **state)
{
	struct clv_replay *replay = replay_of(one_node(), "best-fit");
	const struct clv_replay_counts *counts = clv_replay_counts(replay);
	/* The third is early by a second; the fourth comes as the first one goes. */
	/* clang-format off */
	static const struct { int64_t arrives_s, stays_s; uint64_t placed; } rows[] = {
		{0, 10, 1}, {5, 100, 2}, {9, 10, 2}, {10, 10, 3}, {20, 10, 4},
	};
	/* clang-format on */
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_trace_item item =
			item_of(1, rows[i].arrives_s, rows[i].stays_s);

		assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
		assert_int_equal(counts->placed, rows[i].placed);
	}
	clv_replay_finish(replay);
	assert_int_equal(counts->departed, 4);
	assert_true(counts->busy_device_s == 10 + 100 + 10 + 10);
	assert_int_equal(clv_replay_fleet(replay)->held_milli, 0);
	clv_replay_free(replay);
}

static void test_curve(void **state)
{
	struct clv_replay *replay = replay_of(one_node(), "balance");
	const struct clv_replay_point *curve = clv_replay_curve(replay);
	struct clv_trace_item one = item_of(1, 0, CLV_TRACE_FOREVER);

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(clv_replay_arrive(replay, &one, false), 0);
	assert_int_equal(curve[50].n, 1);
	assert_true(curve[50].allocated == 0.5);
	assert_int_equal(curve[50].in_use, 1);
	assert_true(curve[50].stranded == 0);
	assert_true(curve[100].allocated == 1);
	assert_true(curve[200].allocated == 1);
	assert_int_equal(curve[99].n, 0);
	clv_replay_free(replay);
}

/* What comes out of the heap is sorted, whatever went in. */
static void test_departures_are_sorted(void **state)
{
	struct clv_departures departures = {0};
	struct clv_departure before = {.at_s = -1}, now;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(
			clv_departures_add(&departures, place_random(500), i), 0);
	assert_false(clv_departures_take(&departures, -1, &now));
	for (uint32_t i = 0; i < 10000; i++) {
		assert_true(clv_departures_take(&departures, 500, &now));
		assert_true(now.at_s > before.at_s ||
			    (now.at_s == before.at_s && now.lease > before.lease));
		before = now;
	}
	assert_false(clv_departures_take(&departures, 500, &now));
	clv_departures_done(&departures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals_are_counted),
		cmocka_unit_test(test_departures_make_room),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_departures_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
