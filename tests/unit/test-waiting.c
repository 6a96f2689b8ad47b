/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of a replay: who starts when, by each order, with gangs, limits of the wait, and
 * jobs that start over. */
#include "place-world.h"

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/policy.h"
#include "core/repack/gang.h"
#include "simulate/queue.h"
#include "simulate/replay.h"
#include "simulate/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static unsigned n_tries;

/* Counts the tries to place a job. */
int __wrap_clv_place_gang(struct clv_placer *placer,
	const struct clv_place_request *requests, size_t n, uint32_t *ret_leases);
int __real_clv_place_gang(struct clv_placer *placer,
	const struct clv_place_request *requests, size_t n, uint32_t *ret_leases);
int __wrap_clv_place_gang(struct clv_placer *placer,
	const struct clv_place_request *requests, size_t n, uint32_t *ret_leases)
{
	n_tries++;
	return __real_clv_place_gang(placer, requests, n, ret_leases);
}

struct job {
	int64_t arrives_s, stays_s;
	uint8_t n_devices;
	uint32_t priority, gang;
};

static struct clv_replay *replay_of(
	struct clv_fleet *fleet, enum clv_queue_order order, int64_t most_wait_s)
{
	struct clv_queue_options options = {.order = order, .most_wait_s = most_wait_s};
	struct clv_place_request whole = {.milli = 1000, .n_devices = 1};
	struct clv_workload workload = {0};
	struct clv_replay *replay = NULL;

	assert_int_equal(clv_workload_add(&workload, &whole, 1), 0);
	clv_workload_cut(&workload, 95);
	assert_int_equal(clv_replay_new(fleet, clv_place_policy_find("best-fit"),
				 &workload, NULL, &replay, NULL),
		0);
	clv_workload_done(&workload);
	assert_int_equal(clv_replay_use_queue(replay, &options), 0);
	return replay;
}

/* Nodes of two devices. */
static struct clv_fleet *fleet_of(unsigned n_nodes)
{
	struct clv_fleet *fleet = clv_fleet_new();

	place_add_nodes(fleet, n_nodes,
		(struct clv_fleet_node_spec){.model = "A",
			.cpu_milli = 8000,
			.memory_mib = 1000,
			.n_devices = 2});
	return fleet;
}

static struct clv_replay *play_on(struct clv_fleet *fleet, enum clv_queue_order order,
	int64_t most_wait_s, const struct job *jobs, size_t n)
{
	struct clv_replay *replay = replay_of(fleet, order, most_wait_s);

	for (size_t i = 0; i < n; i++) {
		struct clv_trace_item item = {
			.request = {.milli = 1000, .n_devices = jobs[i].n_devices},
			.gang = jobs[i].gang,
			.n_alike = 1,
			.priority = jobs[i].priority,
			.arrives_s = jobs[i].arrives_s,
			.stays_s = jobs[i].stays_s,
		};

		assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
		assert_null(clv_fleet_audit(clv_replay_fleet(replay)));
	}
	assert_int_equal(clv_replay_finish(replay), 0);
	assert_int_equal(clv_replay_fleet(replay)->held_milli, 0);
	return replay;
}

static struct clv_replay *play(unsigned n_nodes, enum clv_queue_order order,
	int64_t most_wait_s, const struct job *jobs, size_t n)
{
	return play_on(fleet_of(n_nodes), order, most_wait_s, jobs, n);
}

static void check(struct clv_replay *replay, double waits_s, double completions_s)
{
	struct clv_queue *queue = clv_replay_queue(replay);
	struct clv_queue_times waits = clv_queue_waits(queue);
	struct clv_queue_times completions = clv_queue_completions(queue);

	assert_true(waits.mean_s * (double)waits.n == waits_s);
	assert_true(completions.mean_s * (double)completions.n == completions_s);
	clv_replay_free(replay);
}

static void test_orders(void **state)
{
	/* The second job needs both devices; the third one is short, the last one long.
	 */
	static const struct job jobs[] = {
		{0, 10, 1, 0, 0},
		{1, 10, 2, 0, 0},
		{2, 5, 1, 0, 0},
		{3, 20, 1, 0, 0},
	};

	/* In line: 0, 9, 18, 17. */
	check(play(1, CLV_QUEUE_FIFO, 0, jobs, 4), 44, 44 + 45);
	/* The third one starts at once and ends before the second one can start; the last
	 * one would delay it. */
	check(play(1, CLV_QUEUE_BACKFILL, 0, jobs, 4), 26, 26 + 45);
	check(play(1, CLV_QUEUE_PRIORITY, 0, jobs, 4), 44, 44 + 45);
}

/* What does not delay the first job starts however long it stays. */
static void test_backfill_beside_the_reservation(void **state)
{
	static const struct job jobs[] = {
		{0, 10, 2, 0, 0},
		{0, 50, 1, 0, 0},
		{1, 10, 2, 0, 0},
		{2, 100, 1, 0, 0},
	};

	check(play(2, CLV_QUEUE_BACKFILL, 0, jobs, 4), 9, 9 + 170);
}

/* What would delay the first job keeps no shorter job of its shape from starting. */
static void test_backfill_of_one_shape(void **state)
{
	static const struct job jobs[] = {
		{0, 10, 1, 0, 0},
		{0, 4, 1, 0, 0},
		{1, 10, 2, 0, 0},
		{2, 20, 1, 0, 0},
		{3, 5, 1, 0, 0},
	};

	/* The third one starts at 10, the fourth one at 20, the last one at 4. */
	check(play(1, CLV_QUEUE_BACKFILL, 0, jobs, 5), 9 + 18 + 1, 10 + 4 + 19 + 38 + 6);
}

/* Within a look at the line a gang that has no room is tried once, however many gangs of
 * its shape wait, and also those with more members. */
static void test_gangs_are_remembered(void **state)
{
	struct job jobs[2 + 4 * 9 + 3] = {{0, 100, 1, 0, 0}, {0, 10, 1, 0, 0}};
	size_t n = 2;

	for (uint32_t gang = 1; gang <= 9; gang++) {
		for (unsigned i = 0; i < 4; i++)
			jobs[n++] = (struct job){1, 50, 1, 0, gang};
	}
	/* Three have room at 10. */
	for (unsigned i = 0; i < 3; i++)
		jobs[n++] = (struct job){2, 20, 1, 0, 10};
	n_tries = 0;
	check(play(2, CLV_QUEUE_BACKFILL, 0, jobs, n), 8 + 9 * 99 + 50 * 36,
		100 + 10 + 28 + 9 * 149 + 50 * 36);
	/* 107 if each of them is tried. */
	assert_int_equal(n_tries, 63);
}

/* A job of higher priority ends another one, which starts over; those of the same
 * priority wait. */
static void test_priority(void **state)
{
	static const struct job jobs[] = {
		{0, 100, 2, 1, 0},
		{10, 10, 1, 5, 0},
		{12, 10, 1, 1, 0},
		{15, 10, 2, 5, 0},
	};
	struct clv_replay *replay = play(1, CLV_QUEUE_PRIORITY, 0, jobs, 4);
	const struct clv_queue_counts *counts =
		clv_queue_counts(clv_replay_queue(replay));

	assert_int_equal(counts->preempted, 1);
	assert_true(counts->lost_device_s == 20);
	/* The first one runs from 30 to 130, the third one after it. */
	check(replay, 0 + 0 + 118 + 5, 130 + 10 + 128 + 15);
}

static void test_limit_of_the_wait(void **state)
{
	static const struct job jobs[] = {
		{0, 100, 2, 0, 0},
		{1, 10, 2, 0, 0},
		{2, 10, 1, 0, 0},
		{95, 10, 1, 0, 0},
	};
	struct clv_replay *replay = play(1, CLV_QUEUE_FIFO, 30, jobs, 4);
	const struct clv_replay_counts *counts = clv_replay_counts(replay);

	assert_int_equal(counts->placed, 2);
	assert_int_equal(counts->refused, 2);
	check(replay, 5, 100 + 15);
}

/* A gang starts together; one that could never start is refused, and others start. */
static void test_gangs(void **state)
{
	static const struct job jobs[] = {
		{0, 10, 1, 0, 0},
		{1, 10, 1, 0, 7},
		{1, 30, 1, 0, 7},
		{2, 10, 1, 0, 8},
		{2, 10, 1, 0, 8},
		{2, 10, 1, 0, 8},
		{3, 10, 1, 0, 0},
	};
	struct clv_replay *replay = play(1, CLV_QUEUE_FIFO, 0, jobs, 7);
	const struct clv_replay_counts *counts = clv_replay_counts(replay);

	assert_int_equal(counts->gangs, 2);
	assert_int_equal(counts->gangs_placed, 1);
	assert_int_equal(counts->refused, 3);
	/* The gang runs from 10 to 40. */
	check(replay, 0 + 9 + 37, 10 + 39 + 47);
}

/* A job lasts by the speed of its slowest devices; backfill reckons with that. */
static void test_speeds(void **state)
{
	static const struct job jobs[] = {
		{0, 10, 2, 0, 0},
		{1, 10, 1, 0, 7},
		{1, 20, 1, 0, 7},
		{2, 5, 2, 0, 0},
	};
	struct clv_fleet *fleet = fleet_of(1);

	fleet->speeds[0] = 500;
	/* From 0 to 20, from 20 to 60, from 60 to 70. */
	check(play_on(fleet, CLV_QUEUE_FIFO, 0, jobs, 4), 19 + 58, 20 + 59 + 68);
	assert_true(clv_fleet_time_at(10, 300) == 34);
	assert_true(clv_fleet_time_at(10, 2000) == 5);
	assert_true(clv_fleet_time_at(INT64_MAX, 500) == INT64_MAX);
	assert_true(clv_fleet_time_at(INT64_MAX / 1000, 900) == INT64_MAX / 1000);
}

/* Jobs that stay for ever, or wait behind one. */
static void test_endless(void **state)
{
	struct clv_replay *replay = replay_of(fleet_of(1), CLV_QUEUE_BACKFILL, 0);
	struct clv_trace_item item = {
		.request = {.milli = 1000, .n_devices = 2}, .stays_s = CLV_TRACE_FOREVER};

	assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
	assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
	assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
	assert_int_equal(clv_replay_finish(replay), 0);
	assert_int_equal(clv_replay_counts(replay)->placed, 1);
	assert_int_equal(clv_replay_counts(replay)->refused, 2);
	check(replay, 0, 0);
}

/* Random jobs on a mixed fleet, by each order: all that may start do, and end. */
static void test_random(void **state)
{
	for (unsigned round = 0; round < 30; round++) {
		enum clv_queue_order order = CLV_QUEUE_FIFO + round % 3;
		struct clv_replay *replay;
		int64_t now_s = 0;

		place_random_begin(round);
		replay = replay_of(place_fleet_mixed(6), order, 0);
		for (unsigned i = 0; i < 300; i++) {
			struct clv_trace_item item = {
				.request = place_random_request(clv_replay_fleet(replay)),
				.gang = place_random(4) ? 0 : i / 5 + 1,
				.n_alike = 1,
				.priority = place_random(3),
				.arrives_s = now_s += place_random(4),
				.stays_s = 1 + place_random(60),
			};

			assert_int_equal(clv_replay_arrive(replay, &item, true), 0);
			assert_null(clv_fleet_audit(clv_replay_fleet(replay)));
		}
		assert_int_equal(clv_replay_finish(replay), 0);
		assert_int_equal(clv_replay_counts(replay)->arrived, 300);
		assert_int_equal(clv_replay_counts(replay)->placed +
					 clv_replay_counts(replay)->refused,
			300);
		assert_int_equal(
			clv_queue_counts(clv_replay_queue(replay))->requests_given_up, 0);
		assert_int_equal(clv_replay_fleet(replay)->n_held, 0);
		clv_replay_free(replay);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_backfill_beside_the_reservation),
		cmocka_unit_test(test_backfill_of_one_shape),
		cmocka_unit_test(test_gangs_are_remembered),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_limit_of_the_wait),
		cmocka_unit_test(test_gangs),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
