/* SPDX-License-Identifier: Apache-2.0 */
/* When services get and lose replicas: each row of the scaler's table, and what holds for
 * any sequence of observations.  All times are virtual. */
#include "service/scale/scaler.h"

#include "base/cleanup.h"
#include "base/duration.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S CLV_NS_PER_S
#define PERCENT 10000u

static const struct clv_service_scaling usual = {
	.min_replicas = 1,
	.max_replicas = 4,
	.idle_ppm = 20 * PERCENT,
	.over_ppm = 80 * PERCENT,
	.idle_ns = 120 * S,
	.over_ns = 60 * S,
};

struct world {
	struct clv_service_scaling scaling;
	struct clv_scaler scaler;
	struct clv_scaler_look look;
};

/* All replicas are ready, and a device has room. */
static struct world start(const struct clv_service_scaling *scaling, uint32_t n)
{
	struct world w = {.scaling = *scaling, .look = {.now_ns = 1000 * S}};

	clv_scaler_start(&w.scaler, &w.scaling, n, w.look.now_ns);
	w.look.has_device = true;
	w.look.has_room = true;
	w.look.n_ready = n;
	return w;
}

/* A second after the other, with this use; replicas are ready at once. */
static void pass(struct world *w, unsigned n_seconds, unsigned percent)
{
	for (unsigned i = 0; i < n_seconds; i++) {
		w->look.now_ns += S;
		w->look.use_ppm = percent * PERCENT;
		clv_scaler_step(&w->scaler, &w->scaling, &w->look);
		w->look.n_ready = w->scaler.wanted;
	}
}

static void expect(const struct world *w, enum clv_scaler_state state, uint32_t wanted,
	enum clv_scaler_reason reason)
{
	assert_int_equal(w->scaler.state, state);
	assert_int_equal(w->scaler.wanted, wanted);
	assert_int_equal(w->scaler.reason, reason);
}

static void test_steady(void **state)
{
	struct world w = start(&usual, 2);

	pass(&w, 1000, 50);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_STEADY);
}

static void test_overutilized(void **state)
{
	struct world w = start(&usual, 1);

	pass(&w, 60, 80);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_STEADY);
	pass(&w, 1, 80);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_OVER);
	/* The time begins again. */
	pass(&w, 60, 100);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_STEADY);
	pass(&w, 1, 100);
	expect(&w, CLV_SCALER_AWAKE, 3, CLV_SCALER_OVER);
	pass(&w, 200, 100);
	expect(&w, CLV_SCALER_AWAKE, 4, CLV_SCALER_AT_MAX);
}

static void test_short_peak(void **state)
{
	struct world w = start(&usual, 1);

	for (int i = 0; i < 100; i++) {
		pass(&w, 59, 100);
		pass(&w, 1, 79);
	}
	assert_int_equal(w.scaler.wanted, 1);
}

static void test_no_room(void **state)
{
	struct world w = start(&usual, 1);

	w.look.has_room = false;
	pass(&w, 100, 100);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_NO_ROOM);
	/* It gets the next room that there is. */
	w.look.has_room = true;
	pass(&w, 1, 100);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_OVER);
}

static void test_idle(void **state)
{
	struct world w = start(&usual, 3);

	pass(&w, 120, 19);
	assert_int_equal(w.scaler.wanted, 3);
	pass(&w, 1, 19);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_IDLE);
	pass(&w, 121, 5);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_IDLE);
	pass(&w, 1000, 0);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_STEADY);
}

/* Thresholds next to each other: one of two replicas at 45 % would have 90 %. */
static void test_idle_but_needed(void **state)
{
	struct clv_service_scaling scaling = usual;
	struct world w;

	scaling.idle_ppm = 50 * PERCENT;
	w = start(&scaling, 2);
	pass(&w, 1000, 45);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_WOULD_BE_OVER);
	pass(&w, 1, 39);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_IDLE);
}

static void test_bounds(void **state)
{
	struct world w = start(&usual, 4);

	w.scaling.max_replicas = 2;
	pass(&w, 1, 50);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_ABOVE_MAX);
	w.scaling.max_replicas = 6;
	w.scaling.min_replicas = 5;
	pass(&w, 1, 50);
	expect(&w, CLV_SCALER_AWAKE, 5, CLV_SCALER_BELOW_MIN);
}

/* Nothing is decided by the use of some of the replicas. */
static void test_starting(void **state)
{
	struct world w = start(&usual, 2);

	for (int i = 0; i < 1000; i++) {
		w.look.n_ready = 1;
		pass(&w, 1, 100);
		expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_STARTING);
	}
	pass(&w, 60, 100);
	assert_int_equal(w.scaler.wanted, 2);
	pass(&w, 1, 100);
	assert_int_equal(w.scaler.wanted, 3);
}

static struct world start_stopping(void)
{
	struct clv_service_scaling scaling = usual;

	scaling.stops = true;
	return start(&scaling, 1);
}

static void test_sleep_and_wake(void **state)
{
	struct world w = start_stopping();

	pass(&w, 119, 0);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_STEADY);
	pass(&w, 1, 0);
	expect(&w, CLV_SCALER_ASLEEP, 0, CLV_SCALER_QUIET);
	pass(&w, 1000, 0);
	expect(&w, CLV_SCALER_ASLEEP, 0, CLV_SCALER_SLEEPS);
	w.look.has_waiting = true;
	pass(&w, 1, 0);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_REQUESTED);
}

/* Each kind of request keeps a service awake, whatever its use of the device. */
static void test_requests_keep_awake(void **state)
{
	for (int kind = 0; kind < 3; kind++) {
		struct world w = start_stopping();

		for (int i = 0; i < 20; i++) {
			w.look.n_in_flight = kind == 0;
			w.look.n_requests += kind == 1;
			w.look.has_waiting = kind == 2;
			pass(&w, 1, 0);
			w.look.n_in_flight = 0;
			w.look.has_waiting = false;
			pass(&w, 100, 0);
			assert_int_equal(w.scaler.state, CLV_SCALER_AWAKE);
		}
		pass(&w, 20, 0);
		assert_int_equal(w.scaler.state, CLV_SCALER_ASLEEP);
	}
}

static void test_kept_replicas(void **state)
{
	struct clv_service_scaling scaling = usual;
	struct world w;

	scaling.stops = true;
	scaling.min_replicas = 3;
	scaling.n_kept = 1;
	w = start(&scaling, 3);
	pass(&w, 200, 0);
	expect(&w, CLV_SCALER_ASLEEP, 1, CLV_SCALER_SLEEPS);
	/* The one that was kept has served it. */
	w.look.n_requests++;
	pass(&w, 1, 0);
	expect(&w, CLV_SCALER_AWAKE, 3, CLV_SCALER_REQUESTED);
	/* With as many as the minimum there is no sleep. */
	w.scaling.n_kept = 3;
	pass(&w, 1000, 0);
	expect(&w, CLV_SCALER_AWAKE, 3, CLV_SCALER_STEADY);
}

/* Replicas that end at once do not keep a service awake, and do not wait for ever. */
static void test_failing(void **state)
{
	struct world w = start_stopping();

	for (int i = 0; i < 200; i++) {
		w.look.n_ready = 0;
		w.look.is_failing = true;
		pass(&w, 1, 0);
	}
	assert_int_equal(w.scaler.state, CLV_SCALER_ASLEEP);
}

static void test_without_device(void **state)
{
	struct world w = start(&usual, 3);

	w.look.has_device = false;
	for (int i = 0; i < 1000; i++) {
		w.look.n_requests++;
		pass(&w, 1, 0);
	}
	assert_int_equal(w.scaler.wanted, 3);
	pass(&w, 121, 100);
	expect(&w, CLV_SCALER_AWAKE, 2, CLV_SCALER_IDLE);
}

static void test_set(void **state)
{
	struct world w = start(&usual, 1);

	clv_scaler_set(&w.scaler, &w.scaling, 3, w.look.now_ns);
	expect(&w, CLV_SCALER_AWAKE, 3, CLV_SCALER_SET);
	clv_scaler_set(&w.scaler, &w.scaling, 9, w.look.now_ns);
	assert_int_equal(w.scaler.wanted, 4);
	clv_scaler_set(&w.scaler, &w.scaling, 0, w.look.now_ns);
	assert_int_equal(w.scaler.state, CLV_SCALER_OFF);
	w.look.has_waiting = true;
	pass(&w, 10, 0);
	expect(&w, CLV_SCALER_OFF, 0, CLV_SCALER_SET_OFF);
	clv_scaler_set(&w.scaler, &w.scaling, 1, w.look.now_ns);
	w.look.n_ready = 1;
	pass(&w, 1, 0);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_STEADY);
	w = start_stopping();
	clv_scaler_set(&w.scaler, &w.scaling, 0, w.look.now_ns);
	assert_int_equal(w.scaler.state, CLV_SCALER_ASLEEP);
}

/* Replicas above the minimum, once idle for ten seconds, as far as the others are enough.
 */
static void test_spare(void **state)
{
	struct world w = start(&usual, 4);
	uint64_t idle_ns = 0;

	pass(&w, 10, 10);
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 0);
	pass(&w, 1, 10);
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 3);
	assert_int_equal(idle_ns, 10 * S);
	/* Four of 19 % are one of 76 %. */
	pass(&w, 1, 19);
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 3);
	w.scaling.over_ppm = 70 * PERCENT;
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 2);
	w.look.n_ready = 3;
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 0);
	clv_scaler_give_way(&w.scaler, &w.scaling, w.look.now_ns);
	expect(&w, CLV_SCALER_AWAKE, 3, CLV_SCALER_GAVE_WAY);
	pass(&w, 10, 50);
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 0);
}

/* A service that can sleep, and has no request, has no minimum but what it keeps. */
static void test_spare_of_sleepers(void **state)
{
	struct world w = start_stopping();
	uint64_t idle_ns = 0;

	pass(&w, 10, 0);
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 1);
	assert_int_equal(idle_ns, 10 * S);
	w.look.n_in_flight = 1;
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 10 * S, &idle_ns), 0);
	w.look.n_in_flight = 0;
	clv_scaler_give_way(&w.scaler, &w.scaling, w.look.now_ns);
	expect(&w, CLV_SCALER_ASLEEP, 0, CLV_SCALER_GAVE_WAY);
	pass(&w, 3, 0);
	expect(&w, CLV_SCALER_ASLEEP, 0, CLV_SCALER_GAVE_WAY);
	assert_int_equal(
		clv_scaler_spare(&w.scaler, &w.scaling, &w.look, 0, &idle_ns), 0);
	/* The next request starts it. */
	w.look.has_waiting = true;
	pass(&w, 1, 0);
	expect(&w, CLV_SCALER_AWAKE, 1, CLV_SCALER_REQUESTED);
}

static void test_texts(void **state)
{
	struct clv_scaler scaler = {0};
	char text[160];

	for (int i = 0; i < _CLV_SCALER_REASON_MAX; i++) {
		scaler.reason = (enum clv_scaler_reason)i;
		clv_scaler_explain(&scaler, &usual, text);
		assert_true(strlen(text) > 10);
	}
	scaler.reason = CLV_SCALER_OVER;
	clv_scaler_explain(&scaler, &usual, text);
	assert_string_equal(text, "its use was 80 % or more for 60 s");
	for (int i = 0; i < _CLV_SCALER_STATE_MAX; i++)
		assert_non_null(clv_scaler_state_to_string((enum clv_scaler_state)i));
}

/* --- Any sequence --- */

static uint32_t under(uint32_t bound)
{
	return (uint32_t)random() % bound;
}

static struct clv_service_scaling any_scaling(void)
{
	struct clv_service_scaling scaling = {
		.max_replicas = 1 + under(6),
		.idle_ppm = (1 + under(60)) * PERCENT,
		.idle_ns = (1 + under(100)) * S,
		.over_ns = (1 + under(100)) * S,
		.stops = under(2),
	};

	scaling.min_replicas = under(scaling.max_replicas + 1);
	scaling.n_kept = under(2) ? under(scaling.max_replicas + 1) : 0;
	scaling.over_ppm = scaling.idle_ppm + (1 + under(30)) * PERCENT;
	return scaling;
}

static void any_look(struct world *w)
{
	w->look.now_ns += under(3) ? S : under(20) * S;
	if (under(20) == 0)
		w->look.use_ppm = under(101) * PERCENT;
	w->look.n_in_flight = under(30) ? 0 : under(5);
	w->look.n_requests += under(30) ? 0 : under(5);
	w->look.has_waiting = w->scaler.wanted == 0 && under(50) == 0;
	w->look.has_room = under(5) > 0;
	w->look.is_failing = under(40) == 0;
	w->look.n_ready = under(4) ? w->scaler.wanted : under(w->scaler.wanted + 1);
}

struct changes {
	uint64_t up_ns, down_ns;
};

/* Bounds; and between two changes by use in opposite directions lies the time of the
 * second one. */
static void check(const struct world *w, uint32_t before, struct changes *changes)
{
	const struct clv_service_scaling *scaling = &w->scaling;
	uint32_t n = w->scaler.wanted, floor = scaling->min_replicas;
	enum clv_scaler_reason reason = w->scaler.reason;

	if (floor == 0)
		floor = 1;
	assert_true(n <= scaling->max_replicas);
	if (w->scaler.state == CLV_SCALER_AWAKE)
		assert_true(n >= floor);
	else
		assert_true(n == scaling->n_kept && scaling->stops);
	if (w->look.has_waiting && before == 0)
		assert_true(n >= 1);
	if (n > before && reason == CLV_SCALER_OVER) {
		assert_int_equal(n, before + 1);
		assert_true(w->look.has_room);
		assert_true(w->look.now_ns - changes->down_ns >= scaling->over_ns);
		changes->up_ns = w->look.now_ns;
	}
	if (n < before && reason == CLV_SCALER_IDLE) {
		assert_int_equal(n, before - 1);
		assert_true(w->look.now_ns - changes->up_ns >= scaling->idle_ns);
		assert_true((uint64_t)w->look.use_ppm * before <
			    (uint64_t)scaling->over_ppm * n);
		changes->down_ns = w->look.now_ns;
	}
}

static void test_random_traces(void **state)
{
	srandom(23);
	for (int i = 0; i < 300; i++) {
		struct clv_service_scaling scaling = any_scaling();
		struct world w = start(&scaling, scaling.max_replicas);
		struct changes changes = {0};

		for (int j = 0; j < 1000; j++) {
			uint32_t before = w.scaler.wanted;

			any_look(&w);
			clv_scaler_step(&w.scaler, &w.scaling, &w.look);
			check(&w, before, &changes);
		}
	}
}

/* Constant demand ends in one number of replicas: it does not go up and down. */
static void test_no_flapping(void **state)
{
	srandom(24);
	for (int i = 0; i < 300; i++) {
		struct clv_service_scaling scaling = any_scaling();
		uint64_t demand_ppm = (uint64_t)under(600) * PERCENT;
		struct world w = start(&scaling, scaling.max_replicas);
		unsigned n_turns = 0;
		int direction = 0;

		w.scaling.stops = false;
		for (int j = 0; j < 5000; j++) {
			uint32_t before = w.scaler.wanted;
			uint64_t use = demand_ppm / before;
			int now;

			w.look.now_ns += S;
			w.look.n_ready = before;
			w.look.use_ppm = use < 1000000 ? (uint32_t)use : 1000000;
			clv_scaler_step(&w.scaler, &w.scaling, &w.look);
			now = (w.scaler.wanted > before) - (w.scaler.wanted < before);
			n_turns += now && direction && now != direction;
			direction = now ? now : direction;
		}
		assert_int_equal(n_turns, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_overutilized),
		cmocka_unit_test(test_short_peak),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_idle_but_needed),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_starting),
		cmocka_unit_test(test_sleep_and_wake),
		cmocka_unit_test(test_requests_keep_awake),
		cmocka_unit_test(test_kept_replicas),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_without_device),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_spare_of_sleepers),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_random_traces),
		cmocka_unit_test(test_no_flapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
