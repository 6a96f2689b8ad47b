/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-overs on a virtual clock: when the next lease is let in before the last command of
 * the current one is complete, which lease is charged, and how the length of turns
 * follows the cost of a hand-over. */
#include "arbiter/handover.h"
#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arbiter-world.h"

#define US CLV_NS_PER_US
#define MS CLV_NS_PER_MS
/* The time of three wake-ups. */
#define LEAD (150 * US)

static struct clv_arbiter_world world;
static uint64_t now_ns;
static struct clv_arbiter_lease *a, *b;

static int begin(void **state)
{
	now_ns = 1000 * CLV_NS_PER_S;
	clv_arbiter_world_make(&world, now_ns);
	a = world.leases[0];
	b = world.leases[1];
	world.arbiter.handover.late_ns = LEAD / 3;
	return 0;
}

static int end(void **state)
{
	clv_arbiter_world_drop(&world);
	return 0;
}

static struct clv_slot *slot_of(struct clv_arbiter_lease *lease)
{
	return &lease->pages.report->slots[0];
}

static struct clv_slot_turn *turn_of(struct clv_arbiter_lease *lease)
{
	return &lease->pages.report->turns[0];
}

static enum clv_phase phase_of(const struct clv_arbiter_lease *lease)
{
	return CLV_PHASE_OF(atomic_load(&lease->pages.control->phase));
}

static uint64_t step(void)
{
	return clv_turns_step(&world.arbiter, now_ns);
}

static void ask(struct clv_arbiter_lease *lease)
{
	atomic_store(&slot_of(lease)->waiting, 1);
	lease->rung = true;
	step();
}

/* The lease has the turn: submits its first command, with an announced length of ns. */
static void submit(struct clv_arbiter_lease *lease, uint64_t ns)
{
	assert_int_not_equal(phase_of(lease), CLV_PHASE_CLOSED);
	atomic_store(&slot_of(lease)->waiting, 0);
	atomic_fetch_add(&slot_of(lease)->entered, 1);
	atomic_store(&slot_of(lease)->busy_since_ns, now_ns);
	atomic_store(&turn_of(lease)->began_ns, now_ns);
	atomic_store(&turn_of(lease)->ends_ns, now_ns + ns);
}

static void complete(struct clv_arbiter_lease *lease)
{
	atomic_fetch_add(&slot_of(lease)->done, 1);
	atomic_store(&slot_of(lease)->busy_since_ns, now_ns);
	lease->rung = true;
}

/* A has the turn and B waits in line. */
static void contend(void)
{
	ask(a);
	ask(b);
	now_ns += MS;
	step();
	if (phase_of(b) != CLV_PHASE_CLOSED) {
		struct clv_arbiter_lease *first = b;

		b = a;
		a = first;
	}
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
}

static uint64_t deadline_of(const struct clv_arbiter_lease *lease)
{
	return atomic_load(&lease->pages.control->deadline_ns);
}

/* Goes to the end of A's turn, with work of A in flight. */
static uint64_t end_turn(void)
{
	now_ns = deadline_of(a);
	return step();
}

static uint64_t held_by_both(void)
{
	return a->account.held_ns + b->account.held_ns;
}

/* A has the turn, submits a command, and is idle once that is complete. */
static void end_request(void)
{
	contend();
	a->share.class = CLV_CLASS_LATENCY;
	submit(a, MS);
	now_ns += MS;
	complete(a);
	step();
}

/* Where threads are stopped, the thread that waits for a request of the latency class
 * gets a processor before the next lease's threads. */
static void test_quiet_after_a_request(void **state)
{
	world.arbiter.halting = CLV_HALTING_ALWAYS;
	end_request();
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
	now_ns += 99 * US;
	assert_int_equal(step(), now_ns + US);
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
	now_ns += US;
	step();
	assert_ptr_equal(world.arbiter.holder, b);
	assert_int_equal(phase_of(a), CLV_PHASE_CLOSED);
}

/* Otherwise a lease with many short requests would take the others' time. */
static void test_quiet_is_charged(void **state)
{
	uint64_t began_ns;

	world.arbiter.halting = CLV_HALTING_ALWAYS;
	end_request();
	began_ns = a->turn_started_ns;
	now_ns += 100 * US;
	step();
	assert_ptr_equal(world.arbiter.holder, b);
	assert_int_equal(a->account.held_ns, now_ns - began_ns);
}

static void test_no_quiet_for_the_next_request(void **state)
{
	world.arbiter.halting = CLV_HALTING_ALWAYS;
	end_request();
	now_ns += 10 * US;
	ask(a);
	assert_int_not_equal(phase_of(a), CLV_PHASE_CLOSED);
}

static void test_no_quiet_for_others_of_the_class(void **state)
{
	b->share.class = CLV_CLASS_LATENCY;
	world.arbiter.halting = CLV_HALTING_ALWAYS;
	end_request();
	assert_ptr_equal(world.arbiter.holder, b);
}

/* What began beside another lease goes on without it. */
static void test_quiet_alone(void **state)
{
	world.arbiter.halting = CLV_HALTING_ALWAYS;
	end_request();
	atomic_store(&slot_of(b)->waiting, 0);
	clv_policy_sleep(world.arbiter.policy, b->policy_lease, now_ns);
	now_ns += 200 * US;
	assert_true(step() > now_ns);
	assert_ptr_equal(world.arbiter.holder, a);
}

/* Its cap does not pay for time that no other lease wants. */
static void test_no_quiet_alone_with_a_cap(void **state)
{
	const struct clv_policy_params params = {.weight_ppm = CLV_PPM / 2,
		.cap_ppm = CLV_PPM / 2,
		.class = CLV_CLASS_LATENCY};

	world.arbiter.halting = CLV_HALTING_ALWAYS;
	a->share.class = params.class;
	a->share.cap_ppm = params.cap_ppm;
	clv_policy_update(world.arbiter.policy, a->policy_lease, &params, now_ns);
	ask(a);
	submit(a, MS);
	now_ns += MS;
	complete(a);
	step();
	assert_null(world.arbiter.holder);
	assert_int_equal(a->account.held_ns, MS);
}

static void test_no_quiet_on_a_gpu(void **state)
{
	end_request();
	assert_ptr_equal(world.arbiter.holder, b);
}

static void test_next_is_let_in_early(void **state)
{
	uint64_t ends_ns, held_ns, since_ns;

	contend();
	submit(a, deadline_of(a) - now_ns + MS);
	ends_ns = turn_of(a)->ends_ns;
	assert_int_equal(end_turn(), ends_ns - LEAD);
	assert_int_equal(phase_of(a), CLV_PHASE_CLOSED);
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);

	now_ns = ends_ns - LEAD;
	step();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
	assert_int_equal(phase_of(a), CLV_PHASE_CLOSED);
	held_ns = held_by_both();
	since_ns = now_ns;

	/* Together they are charged exactly the elapsed time. */
	now_ns = ends_ns - LEAD / 2;
	submit(b, 4 * MS);
	now_ns = ends_ns;
	complete(a);
	step();
	assert_in_range(
		held_by_both() - held_ns, now_ns - since_ns - US, now_ns - since_ns + US);
	assert_null(world.arbiter.handover.leaving);
	assert_int_equal(a->n_early_denied, 0);
}

static uint32_t n_helper_calls(const struct clv_arbiter_lease *lease)
{
	return atomic_load(&lease->pages.control->helper_call);
}

/* B gets its turn, for which this many of its threads wait then.  Returns how often that
 * wakes its helper. */
static uint32_t helper_calls_of_a_grant(uint32_t n_waiting)
{
	uint32_t n;

	contend();
	submit(a, deadline_of(a) - now_ns + MS);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
	n = n_helper_calls(b);
	atomic_store(&slot_of(b)->waiting, n_waiting);
	complete(a);
	step();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
	return n_helper_calls(b) - n;
}

/* The thread in line uses the turn itself, and the helper would only take a processor
 * from it. */
static void test_grant_to_a_thread_wakes_no_helper(void **state)
{
	assert_int_equal(helper_calls_of_a_grant(1), 0);
}

static void test_grant_without_a_thread_wakes_the_helper(void **state)
{
	assert_int_equal(helper_calls_of_a_grant(0), 1);
}

/* A lease that ends later than announced is charged for the delay. */
static void test_late_end(void **state)
{
	uint64_t ends_ns, of_a, of_b;

	contend();
	submit(a, deadline_of(a) - now_ns + LEAD);
	ends_ns = turn_of(a)->ends_ns;
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
	of_a = a->account.held_ns;
	of_b = b->account.held_ns;
	now_ns = ends_ns + LEAD;
	complete(a);
	step();
	assert_in_range(a->account.held_ns - of_a, LEAD * 3 / 2 - US, LEAD * 3 / 2 + US);
	assert_in_range(b->account.held_ns - of_b, LEAD / 2 - 2 * US, LEAD / 2 + US);
}

static void test_no_early_grant_on_a_processor(void **state)
{
	world.arbiter.config.is_processor = true;
	contend();
	submit(a, deadline_of(a) - now_ns + LEAD);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
	complete(a);
	step();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
}

/* An unknown end, or one older than the turn, has no effect. */
static void test_unknown_end(void **state)
{
	contend();
	submit(a, 0);
	atomic_store(&turn_of(a)->ends_ns, UINT64_MAX);
	assert_true(end_turn() >= now_ns + CLV_HEARTBEAT_NS);
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
	atomic_store(&turn_of(a)->ends_ns, a->turn_started_ns - 1);
	now_ns += MS;
	step();
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
	complete(a);
	step();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
}

/* The work is late, so its end is unknown. */
static void test_late_work(void **state)
{
	contend();
	submit(a, MS);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
}

/* Both wait in line until it is granted. */
static void next_turn(struct clv_arbiter_lease *lease)
{
	atomic_store(&slot_of(a)->waiting, 1);
	atomic_store(&slot_of(b)->waiting, 1);
	a->rung = b->rung = true;
	step();
	for (int i = 0; i < 100 && phase_of(lease) != CLV_PHASE_GRANTED; i++) {
		now_ns += MS;
		step();
	}
}

/* Work that takes far longer than announced is charged, and its lease's announcements are
 * ignored for some turns. */
static void test_wrong_estimate(void **state)
{
	uint64_t held_ns;

	contend();
	submit(a, deadline_of(a) - now_ns + LEAD);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
	submit(b, 4 * MS);
	now_ns += 4 * MS;
	step();
	assert_int_equal(a->n_early_denied, 2);
	held_ns = a->account.held_ns;
	now_ns += MS;
	step();
	assert_in_range(a->account.held_ns - held_ns, MS - US, MS + US);
	complete(a);
	complete(b);
	step();

	while (a->n_early_denied > 0) {
		uint32_t n = a->n_early_denied;

		next_turn(a);
		submit(a, deadline_of(a) - now_ns + LEAD);
		end_turn();
		assert_int_equal(phase_of(b), CLV_PHASE_CLOSED);
		complete(a);
		step();
		assert_true(a->n_early_denied < n);
	}
	next_turn(a);
	submit(a, deadline_of(a) - now_ns + LEAD);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
}

/* Time in which the arbiter makes each of its steps. */
static void pass(uint64_t ns)
{
	uint64_t end_ns = now_ns + ns, next_ns;

	while (now_ns < end_ns) {
		next_ns = step();
		now_ns = next_ns <= now_ns ? now_ns + US : next_ns;
		if (now_ns > end_ns)
			now_ns = end_ns;
	}
	step();
}

/* The lease is overdue although the next one was let in early. */
static void test_endless_work_is_overdue(void **state)
{
	uint64_t timeout_ns = a->drain_timeout_ns;

	contend();
	submit(a, deadline_of(a) - now_ns + LEAD);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
	submit(b, timeout_ns);
	pass(timeout_ns - MS);
	assert_int_equal(a->account.overdue, 0);
	pass(MS);
	assert_int_equal(a->account.overdue, 1);
	assert_true(a->drain_timeout_ns < timeout_ns);
}

/* The agent was stopped meanwhile, and the work could not be seen to end. */
static void test_absence_is_not_overdue(void **state)
{
	uint64_t timeout_ns = a->drain_timeout_ns;

	contend();
	submit(a, deadline_of(a) - now_ns + LEAD);
	end_turn();
	assert_int_equal(phase_of(b), CLV_PHASE_GRANTED);
	submit(b, timeout_ns);
	now_ns += 10 * timeout_ns;
	step();
	assert_int_equal(a->account.overdue, 0);
	pass(timeout_ns);
	assert_int_equal(a->account.overdue, 1);
}

/* A thread of the lease waits for a turn and does not ring, since work is in flight. That
 * work may be waiting for the thread, so its end cannot be what wakes the lease. */
static void check_thread_in_line(struct clv_arbiter_lease *lease)
{
	assert_false(clv_policy_is_awake(world.arbiter.policy, lease->policy_lease));
	atomic_store(&slot_of(lease)->waiting, 1);
	pass(2 * MS);
	complete(b);
	pass(CLV_NS_PER_S);
	assert_ptr_equal(world.arbiter.holder, lease);
}

static void test_thread_behind_overdue_work(void **state)
{
	contend();
	submit(a, UINT64_MAX - now_ns);
	end_turn();
	assert_ptr_equal(world.arbiter.holder, a);
	pass(a->drain_timeout_ns);
	assert_int_equal(a->account.overdue, 1);
	submit(b, CLV_NS_PER_S);
	pass(10 * MS);
	check_thread_in_line(a);
}

/* The lease slept when it submitted without a turn. */
static void test_thread_behind_debt(void **state)
{
	contend();
	submit(a, MS);
	complete(a);
	step();
	assert_ptr_equal(world.arbiter.holder, b);
	submit(b, CLV_NS_PER_S);
	pass(10 * MS);
	atomic_fetch_add(&slot_of(a)->entered, 1);
	a->rung = true;
	pass(10 * MS);
	check_thread_in_line(a);
}

/* A series of turns; in each the work ends exactly with the turn, and the next lease
 * begins cost_ns later. */
static void take_turns(int n, uint64_t cost_ns)
{
	atomic_store(&slot_of(a)->waiting, 1);
	atomic_store(&slot_of(b)->waiting, 1);
	a->rung = b->rung = true;
	step();
	for (int i = 0; i < n; i++) {
		struct clv_arbiter_lease *holder = world.arbiter.holder;

		now_ns += cost_ns;
		submit(holder, UINT64_MAX - now_ns);
		now_ns = deadline_of(holder);
		atomic_store(&slot_of(holder)->waiting, 1);
		complete(holder);
		step();
	}
}

static uint64_t turn_ns(void)
{
	struct clv_arbiter_turns turns;

	clv_arbiter_get_turns(&world.arbiter, &turns);
	assert_true(turns.is_known);
	return turns.turn_ns;
}

/* The cost is at most 0.6 % of a turn, and a turn at most twice as long. */
static void test_turns_grow_with_cost(void **state)
{
	take_turns(100, 30 * US);
	assert_int_equal(turn_ns(), 8 * MS);
	take_turns(100, 72 * US);
	assert_in_range(turn_ns(), 11 * MS, 13 * MS);
	take_turns(100, 500 * US);
	assert_int_equal(turn_ns(), 16 * MS);
	take_turns(100, 30 * US);
	assert_int_equal(turn_ns(), 8 * MS);
}

/* Of few leases turns are long.  When others wake, theirs are short, and also those whose
 * requests were made before. */
static void test_turns_shrink_when_leases_wake(void **state)
{
	struct clv_arbiter_lease *holder;

	take_turns(100, 500 * US);
	assert_int_equal(turn_ns(), 16 * MS);
	for (int i = 0; i < 6; i++) {
		struct clv_arbiter_lease *lease =
			clv_arbiter_world_add(&world, 8, now_ns);

		atomic_store(&slot_of(lease)->waiting, 1);
		lease->rung = true;
	}
	step();
	assert_int_equal(turn_ns(), 8 * MS);
	for (int i = 0; i < 8; i++) {
		holder = world.arbiter.holder;
		submit(holder, UINT64_MAX - now_ns);
		assert_true(i == 0 || deadline_of(holder) <= now_ns + 10 * MS);
		now_ns = deadline_of(holder);
		atomic_store(&slot_of(holder)->waiting, 1);
		complete(holder);
		step();
	}
}

/* The end of a kernel of 20 ms is late by more than a request is long. */
static void test_turns_stay_short_with_long_kernels(void **state)
{
	take_turns(100, 500 * US);
	assert_int_equal(turn_ns(), 16 * MS);
	for (int i = 0; i < 4; i++) {
		struct clv_arbiter_lease *holder = world.arbiter.holder;

		submit(holder, UINT64_MAX - now_ns);
		now_ns = deadline_of(holder);
		atomic_store(&slot_of(holder)->waiting, 1);
		step();
		now_ns += i % 2 * 10 * MS;
		complete(holder);
		step();
	}
	assert_int_equal(turn_ns(), 8 * MS);
	/* The lease has short kernels again. */
	take_turns(40, 500 * US);
	assert_int_equal(turn_ns(), 16 * MS);
}

/* The leases have kernels of 18 ms, each in a turn of its own. */
static void have_long_kernels(int n)
{
	for (int i = 0; i < n; i++) {
		struct clv_arbiter_lease *holder = world.arbiter.holder;

		submit(holder, UINT64_MAX - now_ns);
		now_ns = deadline_of(holder);
		atomic_store(&slot_of(holder)->waiting, 1);
		step();
		now_ns += 10 * MS;
		complete(holder);
		step();
	}
}

/* A process with long kernels that sleeps delays no other for long. */
static void test_turns_grow_while_long_kernels_sleep(void **state)
{
	struct clv_arbiter_lease *sleeper = a;

	take_turns(2, 500 * US);
	have_long_kernels(4);
	assert_int_equal(turn_ns(), 8 * MS);
	a = clv_arbiter_world_add(&world, 2, now_ns);
	atomic_store(&slot_of(sleeper)->waiting, 0);
	while (world.arbiter.holder == sleeper) {
		sleeper->rung = true;
		now_ns += MS;
		step();
	}
	assert_false(clv_policy_is_awake(world.arbiter.policy, sleeper->policy_lease));
	/* The other one has short kernels. */
	take_turns(60, 500 * US);
	assert_true(now_ns < sleeper->turn_started_ns + CLV_NS_PER_S);
	assert_int_equal(turn_ns(), 8 * MS);
	take_turns(100, 500 * US);
	assert_true(now_ns > sleeper->turn_started_ns + CLV_NS_PER_S);
	assert_int_equal(turn_ns(), 16 * MS);
}

static void test_turns_stay_short_for_latency(void **state)
{
	b->share.class = CLV_CLASS_LATENCY;
	take_turns(100, 500 * US);
	assert_int_equal(turn_ns(), 8 * MS);
}

/* Held time, in one second, of a lease without competition and with a cap of .3 that
 * submits whenever it may. */
static double capped_part(uint64_t starts_per_ms, uint64_t wake_ns)
{
	struct clv_policy_params params = {
		.weight_ppm = 300000, .cap_ppm = 300000, .class = CLV_CLASS_NORMAL};
	uint64_t since_ns = now_ns, held_ns = a->account.held_ns;

	a->share.cap_ppm = params.cap_ppm;
	clv_policy_update(world.arbiter.policy, a->policy_lease, &params, now_ns);
	atomic_store(&slot_of(a)->waiting, 1);
	while (now_ns < since_ns + CLV_NS_PER_S) {
		bool is_open = phase_of(a) != CLV_PHASE_CLOSED && now_ns < deadline_of(a);

		atomic_store(&turn_of(a)->began_ns, a->turn_started_ns + wake_ns);
		atomic_store(&slot_of(a)->waiting, !is_open);
		atomic_store(
			&slot_of(a)->entered, atomic_load(&slot_of(a)->done) + is_open);
		atomic_fetch_add(&turn_of(a)->n_starts, is_open ? starts_per_ms : 0);
		a->rung = true;
		now_ns += MS;
		step();
	}
	return (double)(a->account.held_ns - held_ns) / (double)(now_ns - since_ns);
}

/* A program that waits for each kernel of a millisecond loses a wake-up each time. */
static void test_cap_of_waiting_program(void **state)
{
	double plain = capped_part(0, 40 * US);

	assert_true(plain > .29 && plain < .32);
	assert_true(capped_part(1, 40 * US) > plain * 1.03);
	assert_true(capped_part(1, 40 * US) < plain * 1.05);
}

/* Wake-ups are counted as the lease reports them, and not as a timer's, which are late
 * where an idle processor sleeps deeply. */
static void test_cap_of_quick_wake_ups(void **state)
{
	double plain = capped_part(0, 4 * US);

	assert_true(capped_part(1, 4 * US) < plain * 1.02);
}

/* A program that claims to wait always, and to wake up late, gets at most a seventh
 * more. */
static void test_cap_with_false_reports(void **state)
{
	double plain = capped_part(0, 40 * US);

	assert_true(capped_part(UINT64_MAX / 1000000, MS) < plain * 8 / 7 * 1.03);
	assert_true(capped_part(1, MS) < plain * 1.07);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_next_is_let_in_early, begin, end),
		cmocka_unit_test_setup_teardown(test_quiet_after_a_request, begin, end),
		cmocka_unit_test_setup_teardown(test_quiet_is_charged, begin, end),
		cmocka_unit_test_setup_teardown(
			test_no_quiet_for_the_next_request, begin, end),
		cmocka_unit_test_setup_teardown(
			test_no_quiet_for_others_of_the_class, begin, end),
		cmocka_unit_test_setup_teardown(test_quiet_alone, begin, end),
		cmocka_unit_test_setup_teardown(
			test_no_quiet_alone_with_a_cap, begin, end),
		cmocka_unit_test_setup_teardown(test_no_quiet_on_a_gpu, begin, end),
		cmocka_unit_test_setup_teardown(
			test_grant_to_a_thread_wakes_no_helper, begin, end),
		cmocka_unit_test_setup_teardown(
			test_grant_without_a_thread_wakes_the_helper, begin, end),
		cmocka_unit_test_setup_teardown(test_late_end, begin, end),
		cmocka_unit_test_setup_teardown(
			test_no_early_grant_on_a_processor, begin, end),
		cmocka_unit_test_setup_teardown(test_unknown_end, begin, end),
		cmocka_unit_test_setup_teardown(test_late_work, begin, end),
		cmocka_unit_test_setup_teardown(test_wrong_estimate, begin, end),
		cmocka_unit_test_setup_teardown(test_endless_work_is_overdue, begin, end),
		cmocka_unit_test_setup_teardown(
			test_thread_behind_overdue_work, begin, end),
		cmocka_unit_test_setup_teardown(test_thread_behind_debt, begin, end),
		cmocka_unit_test_setup_teardown(test_absence_is_not_overdue, begin, end),
		cmocka_unit_test_setup_teardown(test_turns_grow_with_cost, begin, end),
		cmocka_unit_test_setup_teardown(
			test_turns_shrink_when_leases_wake, begin, end),
		cmocka_unit_test_setup_teardown(
			test_turns_stay_short_with_long_kernels, begin, end),
		cmocka_unit_test_setup_teardown(
			test_turns_grow_while_long_kernels_sleep, begin, end),
		cmocka_unit_test_setup_teardown(
			test_turns_stay_short_for_latency, begin, end),
		cmocka_unit_test_setup_teardown(test_cap_of_waiting_program, begin, end),
		cmocka_unit_test_setup_teardown(test_cap_of_quick_wake_ups, begin, end),
		cmocka_unit_test_setup_teardown(test_cap_with_false_reports, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
