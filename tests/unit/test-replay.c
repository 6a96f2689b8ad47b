/* SPDX-License-Identifier: Apache-2.0 */
/* Replays: counters, departures in order, and the same result for the same arrivals. */
#include "place-world.h"

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "simulate/departures.h"
#include "simulate/replay.h"
#include "simulate/settle.h"
#include "simulate/source.h"
#include "simulate/trace.h"

#include <errno.h>
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
				 NULL, &replay, NULL),
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
	/* The third is a second too early; the fourth arrives as the first one leaves. */
	/* clang-format off */
	static const struct { int64_t arrives_s, stays_s; uint64_t placed; } rows[] = {
		{0, 10, 1}, {5, 100, 2}, {9, 10, 2}, {10, 10, 3}, {20, 10, 4},
	};
	/* clang-format on */
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

static struct clv_trace_item part_of(uint16_t milli, uint32_t gang, int64_t arrives_s)
{
	return (struct clv_trace_item){
		.request = {.milli = milli, .n_devices = 1},
		.gang = gang,
		.arrives_s = arrives_s,
		.stays_s = 100,
	};
}

static void arrive(struct clv_replay *replay, uint16_t milli, uint32_t gang, unsigned n)
{
	struct clv_trace_item item = part_of(milli, gang, 0);

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
}

static void test_gangs(void **state)
{
	struct clv_replay *replay = replay_of(one_node(), "balance");
	const struct clv_replay_counts *counts = clv_replay_counts(replay);

	arrive(replay, 800, 7, 3); /* one too many */
	assert_int_equal(counts->arrived, 0);
	arrive(replay, 300, 8, 2);
	assert_int_equal(counts->arrived, 3);
	assert_int_equal(counts->refused, 3);
	assert_int_equal(clv_replay_fleet(replay)->held_milli, 0);
	arrive(replay, 100, 0, 1); /* no member of a gang */
	assert_int_equal(counts->gangs, 2);
	assert_int_equal(counts->gangs_placed, 1);
	assert_int_equal(counts->placed, 3);
	arrive(replay, 900, 9, 1);
	assert_int_equal(clv_replay_finish(replay), 0);
	assert_int_equal(counts->gangs, 3);
	assert_int_equal(counts->placed, 4);
	assert_int_equal(counts->departed, 4);
	clv_replay_free(replay);
}

static bool is_short_of_memory;

int __real_clv_settle(struct clv_settle *settle, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);
int __wrap_clv_settle(struct clv_settle *settle, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);
int __wrap_clv_settle(struct clv_settle *settle, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases)
{
	return is_short_of_memory ? -ENOMEM
				  : __real_clv_settle(settle, requests, n, ret_leases);
}

/* An arrival that fails because the gang before it fails leaves nothing behind. */
static void test_a_gang_that_fails(void **state)
{
	struct clv_replay *replay = replay_of(one_node(), "balance");
	const struct clv_replay_counts *counts = clv_replay_counts(replay);
	struct clv_trace_item next = part_of(100, 8, 0);

	(void)state;
	arrive(replay, 100, 7, 2);
	is_short_of_memory = true;
	assert_int_equal(clv_replay_arrive(replay, &next, true), -ENOMEM);
	is_short_of_memory = false;
	assert_int_equal(clv_replay_finish(replay), 0);
	assert_int_equal(counts->gangs, 1);
	assert_int_equal(counts->placed, 0);
	clv_replay_free(replay);
}

/* 0.6 and 0.3 on two devices leave no room for 0.7 unless one of them moves to the
 * other. */
static void test_moves(void **state)
{
	struct clv_replay *replay = replay_of(one_node(), "worst-fit");
	const struct clv_replay_counts *counts = clv_replay_counts(replay);
	struct clv_trace_item late = part_of(1000, 0, 100);

	arrive(replay, 600, 0, 1);
	arrive(replay, 350, 0, 1);
	arrive(replay, 1000, 0, 1);
	assert_int_equal(counts->refused, 1);
	clv_replay_allow_moves(replay, 1);
	/* One member of the gang would fit after a move; the gang is refused. */
	arrive(replay, 1000, 5, 2);
	arrive(replay, 10, 0, 1);
	assert_int_equal(counts->refused, 3);
	assert_int_equal(counts->moved, 0);
	assert_int_equal(clv_replay_fleet(replay)->held_milli, 960);
	assert_null(clv_fleet_audit(clv_replay_fleet(replay)));
	arrive(replay, 1000, 0, 1);
	assert_int_equal(counts->refused, 3);
	assert_int_equal(counts->moved, 1);
	/* A moved lease leaves at its original time. */
	assert_int_equal(clv_replay_arrive(replay, &late, true), 0);
	assert_int_equal(counts->departed, 4);
	assert_int_equal(clv_replay_finish(replay), 0);
	assert_int_equal(clv_replay_fleet(replay)->held_milli, 0);
	clv_replay_free(replay);
}

/* After random arrivals, departures and moves nothing is lost, and all leave. */
static void test_random_moves(void **state)
{
	static const uint16_t sizes[] = {100, 300, 450, 700, 1000};
	uint64_t n_moved = 0;

	for (unsigned seed = 0; seed < 20; seed++) {
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_replay *replay;

		place_random_begin(seed);
		place_add_nodes(fleet, 6,
			(struct clv_fleet_node_spec){.model = "A", .n_devices = 2});
		replay = replay_of(fleet, "first-fit");
		clv_replay_allow_moves(replay, seed % 4);
		for (unsigned i = 0; i < 400; i++) {
			struct clv_trace_item item = part_of(sizes[place_random(5)],
				place_random(3) ? 0 : i / 4 + 1, i);

			item.stays_s = 1 + place_random(30);
			assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
			assert_null(clv_fleet_audit(clv_replay_fleet(replay)));
		}
		assert_int_equal(clv_replay_finish(replay), 0);
		assert_int_equal(clv_replay_counts(replay)->departed,
			clv_replay_counts(replay)->placed);
		assert_int_equal(clv_replay_fleet(replay)->n_held, 0);
		assert_true(seed % 4 > 0 || clv_replay_counts(replay)->moved == 0);
		n_moved += clv_replay_counts(replay)->moved;
		clv_replay_free(replay);
	}
	assert_true(n_moved > 100);
}

/* Values are removed from the heap in order. */
static void test_departures_are_sorted(void **state)
{
	struct clv_departures departures = {0};
	struct clv_departure before = {.at_s = -1}, now;

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
		cmocka_unit_test(test_gangs),
		cmocka_unit_test(test_a_gang_that_fails),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_random_moves),
		cmocka_unit_test(test_departures_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
