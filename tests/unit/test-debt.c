/* SPDX-License-Identifier: Apache-2.0 */
/* Debt on a virtual clock: the gate's own code enters work without a turn in a lease that
 * never waits in line, beside one that always has work, and the arbiter charges it each
 * time. */
#include "base/cleanup.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/process/thread.h"
#include "gate/window/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arbiter-world.h"

#define US CLV_NS_PER_US
#define MS CLV_NS_PER_MS
#define S CLV_NS_PER_S
#define TICK_NS (10 * US)
#define LATE_NS (50 * US) /* the arbiter's thread wakes this late */
#define NEVER UINT64_MAX

static uint64_t now_ns;
static struct clv_arbiter_world device;
static struct clv_arbiter_lease *debtor, *neighbour;
/* The next time at which the arbiter reads the doorbell, and until when it does not. */
static uint64_t heard_at_ns, step_at_ns, deaf_until_ns;
static unsigned n_rings;
static uint64_t held_before_ns;
static bool neighbour_rests;

/* The functions of the gate that flight.c calls. */

static bool has_none(void);
static bool has_none_to_mark(bool lingering);

static const struct clv_gate_api api = {
	.mark_tails = has_none_to_mark, .wait_for_marker = has_none};

struct clv_gate_state clv_gate = {.api = &api};
__thread struct clv_gate_thread clv_gate_thread;

static struct clv_view view;
static struct clv_wiped_on_fork forkless;
struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;

static bool has_none(void)
{
	return false;
}

static bool has_none_to_mark(bool lingering)
{
	return false;
}

void clv_gate_seek_agent(struct clv_view *of)
{
	fail();
}

bool clv_helper_start(void)
{
	return true;
}

void clv_helper_wake(void)
{
}

bool clv_attach_ring(const struct clv_view *of)
{
	uint64_t at_ns = now_ns + LATE_NS;

	n_rings++;
	if (at_ns < deaf_until_ns)
		at_ns = deaf_until_ns;
	if (at_ns < heard_at_ns)
		heard_at_ns = at_ns;
	return true;
}

/* --- The world --- */

static int read_virtual(clockid_t clock, struct timespec *ret)
{
	ret->tv_sec = (time_t)(now_ns / S);
	ret->tv_nsec = (long)(now_ns % S);
	return 0;
}

static struct clv_slot *slot_of(const struct clv_arbiter_lease *lease)
{
	return &lease->pages.report->slots[0];
}

/* The other lease: submits whenever its gate is open, unless it rests. */
static void step_other(void)
{
	struct clv_slot *slot = slot_of(neighbour);
	bool is_open = neighbour->phase != CLV_PHASE_CLOSED;

	if (slot->entered == slot->done && is_open && !neighbour_rests)
		atomic_store(&slot->busy_since_ns, now_ns);
	if (slot->entered != slot->done && (!is_open || neighbour_rests))
		atomic_fetch_add(
			&slot->busy_ns, now_ns - atomic_load(&slot->busy_since_ns));
	atomic_store(&slot->waiting, !is_open && !neighbour_rests);
	atomic_store(
		&slot->entered, atomic_load(&slot->done) + (is_open && !neighbour_rests));
	neighbour->rung = true;
}

static void step(void)
{
	step_other();
	debtor->rung = heard_at_ns <= now_ns;
	if (debtor->rung)
		heard_at_ns = NEVER;
	step_at_ns = clv_turns_step(&device.arbiter, now_ns);
	if (step_at_ns < NEVER - LATE_NS)
		step_at_ns += LATE_NS;
}

static void pass(uint64_t ns)
{
	uint64_t end_ns = now_ns + ns;

	while (now_ns < end_ns) {
		now_ns += TICK_NS;
		if (now_ns >= step_at_ns || now_ns >= heard_at_ns)
			step();
	}
}

/* Takes one turn, and asks for no other. */
static void have_a_turn(void)
{
	uint64_t n_turns = debtor->account.turns;

	atomic_store(&slot_of(debtor)->waiting, 1);
	clv_attach_ring(&view);
	while (debtor->account.turns == n_turns)
		pass(MS);
	atomic_store(&slot_of(debtor)->waiting, 0);
	pass(20 * MS);
	assert_int_equal(debtor->phase, CLV_PHASE_CLOSED);
}

static int begin(void **state)
{
	now_ns = 5000 * S;
	atomic_store(&clv_clock_read, read_virtual);
	clv_arbiter_world_make(&device, now_ns);
	debtor = device.leases[0];
	neighbour = device.leases[1];
	view = (struct clv_view){.control = debtor->pages.control,
		.report = debtor->pages.report,
		.slot = slot_of(debtor),
		.turn = &debtor->pages.report->turns[0]};
	atomic_store(&forkless.view, &view);
	heard_at_ns = step_at_ns = now_ns;
	deaf_until_ns = 0;
	neighbour_rests = false;
	have_a_turn();
	n_rings = 0;
	held_before_ns = debtor->account.held_ns;
	return 0;
}

static int end(void **state)
{
	assert_int_equal(atomic_load(&clv_gate.flight), 0);
	clv_arbiter_world_drop(&device);
	return 0;
}

static uint64_t charged_ns(void)
{
	return debtor->account.held_ns - held_before_ns;
}

static void run_as_debt(uint64_t ns)
{
	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	pass(ns);
	clv_flight_leave(CLV_FLIGHT_PACK(0));
}

/* Many times in one closed phase. */
static void test_again_and_again(void **state)
{
	uint32_t turn = debtor->turn;

	for (int i = 0; i < 60; i++) {
		run_as_debt(50 * MS);
		pass(90 * MS);
	}
	assert_int_equal(debtor->turn, turn);
	assert_in_range(charged_ns(), 60 * 50 * MS, 60 * 52 * MS);
}

/* Work that comes while other work is in flight needs no ring of its own. */
static void test_one_ring_for_all_that_is_in_flight(void **state)
{
	for (int i = 0; i < 100; i++)
		clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	pass(30 * MS);
	for (int i = 0; i < 100; i++)
		clv_flight_leave(CLV_FLIGHT_PACK(0));
	pass(5 * MS);
	assert_int_equal(n_rings, 2);
	assert_in_range(charged_ns(), 30 * MS, 32 * MS);
}

/* Work shorter than the arbiter's wake-up. */
static void test_short_work(void **state)
{
	for (int i = 0; i < 1000; i++) {
		run_as_debt(20 * US);
		pass(980 * US);
	}
	assert_in_range(charged_ns(), 20 * MS, 22 * MS);
}

/* The doorbell of a lease that rings without pause is not read for the rest of a
 * millisecond. */
static void test_unread_doorbell(void **state)
{
	uint64_t worked_ns = 0;

	for (int i = 0; i < 1000; i++) {
		deaf_until_ns = now_ns + MS;
		for (int j = 0; j < 8; j++)
			run_as_debt(90 * US), pass(30 * US);
		worked_ns += 8 * 90 * US;
		pass(80 * US);
	}
	assert_in_range(charged_ns(), worked_ns, worked_ns + worked_ns / 20);
}

/* The lease begins a long command just before its doorbell is read again. */
static void test_the_rest_of_a_millisecond(void **state)
{
	for (int i = 0; i < 1000; i++) {
		deaf_until_ns = now_ns + MS;
		run_as_debt(MS);
		pass(MS);
	}
	assert_in_range(charged_ns(), 990 * MS, 1100 * MS);
}

static void run_without_doorbell(void)
{
	deaf_until_ns = NEVER;
	for (int i = 0; i < 10; i++) {
		run_as_debt(10 * MS);
		pass(10 * MS);
	}
	assert_int_equal(charged_ns(), 0);
}

/* Debt whose doorbell has no effect is charged at the lease's next turn, */
static void test_charged_at_the_next_turn(void **state)
{
	run_without_doorbell();
	deaf_until_ns = 0;
	have_a_turn();
	/* The debt and the turn. */
	assert_in_range(charged_ns(), 108 * MS, 125 * MS);
}

/* and at the agent's next sample, whatever the process does then. */
static void test_charged_at_the_next_sample(void **state)
{
	struct clv_arbiter_sample sample;

	run_without_doorbell();
	clv_arbiter_sample(&device.arbiter, debtor, &sample);
	assert_in_range(charged_ns(), 100 * MS, 101 * MS);
	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	pass(10 * MS);
	clv_arbiter_sample(&device.arbiter, debtor, &sample);
	step();
	pass(10 * MS);
	clv_flight_leave(CLV_FLIGHT_PACK(0));
	pass(2 * MS);
	assert_in_range(charged_ns(), 110 * MS, 114 * MS);
}

/* Its debt remains after its end. */
static void test_debt_survives_the_process(void **state)
{
	run_without_doorbell();
	clv_arbiter_close_slot_at(&device.arbiter, debtor, 0, now_ns);
	assert_in_range(charged_ns(), 100 * MS, 101 * MS);
}

static void overrun_a_turn(uint64_t ns)
{
	struct clv_slot *slot = slot_of(debtor);

	atomic_store(&slot->waiting, 1);
	clv_attach_ring(&view);
	while (debtor->phase == CLV_PHASE_CLOSED)
		pass(TICK_NS);
	atomic_fetch_add(&slot->entered, 1);
	atomic_store(&slot->waiting, 0);
	pass(ns);
	atomic_fetch_add(&slot->done, 1);
	clv_attach_ring(&view);
	pass(MS);
	assert_int_equal(debtor->phase, CLV_PHASE_CLOSED);
}

static int64_t debt_ns(void)
{
	struct clv_arbiter_sample sample;

	clv_arbiter_sample(&device.arbiter, debtor, &sample);
	return -sample.lag_ns;
}

/* A debt is paid by the time for which others are served, not by time in which a lease
 * holds a device that no process uses. */
static void test_idle_time_pays_no_debt(void **state)
{
	int64_t owes_ns;

	overrun_a_turn(300 * MS);
	neighbour_rests = true;
	step();
	owes_ns = debt_ns();
	assert_in_range(owes_ns, 100 * MS, 200 * MS);
	assert_int_equal(neighbour->phase, CLV_PHASE_SHARED);
	pass(10 * S);
	assert_in_range(debt_ns(), owes_ns - MS, owes_ns);
	neighbour_rests = false;
	step();
	pass(100 * MS);
	assert_int_equal(neighbour->phase, CLV_PHASE_SHARED);
	assert_in_range(debt_ns(), owes_ns - 52 * MS, owes_ns - 48 * MS);
}

/* A lease is charged at most the time that has passed, and not for time without an
 * agent. */
static void test_charge_is_bounded(void **state)
{
	uint64_t before_ns = charged_ns(), turned_ns;

	atomic_fetch_add(&slot_of(debtor)->busy_ns, 1000 * S);
	pass(10 * MS);
	clv_attach_ring(&view);
	pass(MS);
	assert_in_range(charged_ns() - before_ns, 10 * MS, 40 * MS);
	turned_ns = charged_ns();
	atomic_store(&slot_of(debtor)->busy_ns, 0);
	clv_attach_ring(&view);
	pass(100 * MS);
	assert_int_equal(charged_ns(), turned_ns);
}

static bool submit(struct clv_backlog *backlog)
{
	if (!clv_flight_try(backlog, CLV_FLIGHT_PACK(0)))
		return false;
	atomic_fetch_add(&backlog->unmarked, CLV_FLIGHT_PACK(0));
	return true;
}

/* Independent of the window at the time when the phase was closed. */
static void test_one_command_of_each_queue_while_the_agent_is_silent(void **state)
{
	struct clv_backlog queues[2] = {0};

	atomic_store(&view.control->window_commands, 2);
	assert_false(submit(&queues[0]));
	atomic_store(&view.silent_beat_ns, atomic_load(&view.control->heartbeat_ns));
	assert_true(clv_heartbeat_is_silent(&view));
	assert_true(submit(&queues[0]));
	assert_false(submit(&queues[0]));
	assert_true(submit(&queues[1]));
	assert_false(submit(&queues[1]));
	clv_flight_leave(2 * CLV_FLIGHT_PACK(0));
}

static unsigned submit_many(struct clv_backlog *backlog, unsigned n)
{
	unsigned i = 0;

	while (i < n && submit(backlog)) {
		atomic_fetch_add(&backlog->n_unknown, 1);
		i++;
	}
	return i;
}

static void alone(void)
{
	atomic_store(&view.control->phase, CLV_PHASE_OPEN);
	atomic_store(&view.control->window_ns, S);
}

/* What a lease that attaches then waits for is bounded in time: a second, once a command
 * of the queue is complete, and before that by what it is assumed to take. */
static void test_a_thousand_of_unknown_length_alone(void **state)
{
	static const struct {
		uint64_t each_ns, first_since_ns;
		unsigned n;
	} rows[] = {{0, 0, 1000}, {0, 1 * MS, 125}, {0, 20 * MS, 50}, {100 * US, 0, 1024},
		{900 * US, 0, 1024}, {20 * MS, 0, 50}, {300 * MS, 0, 4}, {3 * S, 0, 1}};

	alone();
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_backlog queue = {
			.progress_ns = now_ns - rows[i].first_since_ns};
		struct clv_backlog other = {.progress_ns = now_ns};

		atomic_store(&queue.each_ns, rows[i].each_ns);
		assert_int_equal(submit_many(&queue, 1024), rows[i].n);
		/* And no other queue waits for that. */
		assert_true(submit(&other));
		clv_flight_leave((rows[i].n + 1) * CLV_FLIGHT_PACK(0));
	}
}

/* The first to complete says what the others take, that are in flight already. */
static void test_the_first_completion_opens_the_window(void **state)
{
	struct clv_backlog queue = {.progress_ns = now_ns - 20 * MS};

	alone();
	assert_int_equal(submit_many(&queue, 1024), 50);
	atomic_fetch_sub(&queue.unmarked, CLV_FLIGHT_PACK(0));
	atomic_fetch_sub(&queue.n_unknown, 1);
	clv_flight_leave(CLV_FLIGHT_PACK(0));
	atomic_store(&queue.each_ns, 100 * US);
	assert_int_equal(submit_many(&queue, 900), 900);
	clv_flight_leave((49 + 900) * CLV_FLIGHT_PACK(0));
}

/* A command of the holder without a competitor ends while its time is read: the time
 * is no longer in flight, and not yet in the sum. */
static void check_read_as_a_command_ends(bool in_a_step)
{
	struct clv_slot *slot = slot_of(neighbour);
	uint64_t since_ns, ended_ns, held_ns;

	pass(S);
	assert_int_equal(neighbour->phase, CLV_PHASE_SHARED);
	since_ns = atomic_load(&slot->busy_since_ns);
	clv_turns_charge(&device.arbiter, now_ns);
	held_ns = neighbour->account.held_ns;
	now_ns += 100 * MS;
	ended_ns = now_ns;
	atomic_store(&slot->busy_since_ns, ended_ns);
	if (in_a_step)
		clv_turns_step(&device.arbiter, now_ns);
	else
		clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns);
	atomic_fetch_add(&slot->busy_ns, ended_ns - since_ns);
	atomic_store(&slot->done, atomic_load(&slot->entered));
	now_ns += 10 * MS;
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + 100 * MS);
	now_ns += S;
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + 100 * MS);
}

static void test_read_as_a_command_ends(void **state)
{
	check_read_as_a_command_ends(false);
}

static void test_read_in_a_step_as_a_command_ends(void **state)
{
	check_read_as_a_command_ends(true);
}

/* A command that began after the last charge, or of which a part was charged beside one
 * that had ended. */
static void test_one_of_many_is_read_as_it_ends(void **state)
{
	struct clv_slot *slot = slot_of(neighbour);
	uint64_t held_ns;

	pass(S);
	clv_turns_charge(&device.arbiter, now_ns);
	held_ns = neighbour->account.held_ns;
	now_ns += 100 * MS;
	atomic_fetch_add(&slot->busy_ns, now_ns - atomic_load(&slot->busy_since_ns));
	atomic_store(&slot->busy_since_ns, now_ns);
	now_ns += 900 * MS;
	atomic_store(&slot->busy_since_ns, now_ns);
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + 100 * MS);
	now_ns += 10 * MS;
	atomic_store(&slot->busy_since_ns, now_ns);
	atomic_fetch_add(&slot->busy_ns, 900 * MS);
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + S);
}

static void test_read_as_it_ends_after_idle_time(void **state)
{
	struct clv_slot *slot = slot_of(neighbour);
	uint64_t held_ns;

	pass(S);
	now_ns += S;
	atomic_fetch_add(&slot->busy_ns, now_ns - atomic_load(&slot->busy_since_ns));
	atomic_store(&slot->done, atomic_load(&slot->entered));
	atomic_store(&slot->busy_since_ns, now_ns);
	clv_turns_charge(&device.arbiter, now_ns);
	held_ns = neighbour->account.held_ns;
	now_ns += S;
	clv_turns_charge(&device.arbiter, now_ns);
	now_ns += 10 * MS;
	atomic_fetch_add(&slot->busy_ns, 900 * MS);
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + 900 * MS);
	/* The bound of one charge does not grow over many. */
	for (int i = 0; i < 10; i++) {
		now_ns += MS;
		clv_turns_charge(&device.arbiter, now_ns);
	}
	held_ns = neighbour->account.held_ns;
	atomic_fetch_add(&slot->busy_ns, S);
	now_ns += MS;
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + 2 * MS);
}

/* In the other order it is in both.  What the lease uses later is charged all the
 * same. */
static void test_read_twice_as_a_command_ends(void **state)
{
	struct clv_slot *slot = slot_of(neighbour);
	uint64_t held_ns;

	pass(S);
	clv_turns_charge(&device.arbiter, now_ns);
	now_ns += 100 * MS;
	atomic_fetch_add(&slot->busy_ns, now_ns - atomic_load(&slot->busy_since_ns));
	clv_turns_charge(&device.arbiter, now_ns);
	held_ns = neighbour->account.held_ns;
	atomic_store(&slot->busy_since_ns, now_ns);
	for (int i = 0; i < 2; i++) {
		now_ns += MS;
		clv_turns_charge(&device.arbiter, now_ns);
	}
	assert_int_equal(neighbour->account.held_ns, held_ns);
	now_ns += 100 * MS;
	clv_turns_charge(&device.arbiter, now_ns);
	assert_int_equal(neighbour->account.held_ns, held_ns + 100 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_again_and_again, begin, end),
		cmocka_unit_test_setup_teardown(
			test_one_ring_for_all_that_is_in_flight, begin, end),
		cmocka_unit_test_setup_teardown(test_short_work, begin, end),
		cmocka_unit_test_setup_teardown(test_unread_doorbell, begin, end),
		cmocka_unit_test_setup_teardown(
			test_the_rest_of_a_millisecond, begin, end),
		cmocka_unit_test_setup_teardown(
			test_charged_at_the_next_turn, begin, end),
		cmocka_unit_test_setup_teardown(
			test_charged_at_the_next_sample, begin, end),
		cmocka_unit_test_setup_teardown(
			test_debt_survives_the_process, begin, end),
		cmocka_unit_test_setup_teardown(test_idle_time_pays_no_debt, begin, end),
		cmocka_unit_test_setup_teardown(test_charge_is_bounded, begin, end),
		cmocka_unit_test_setup_teardown(test_read_as_a_command_ends, begin, end),
		cmocka_unit_test_setup_teardown(
			test_read_in_a_step_as_a_command_ends, begin, end),
		cmocka_unit_test_setup_teardown(
			test_one_of_many_is_read_as_it_ends, begin, end),
		cmocka_unit_test_setup_teardown(
			test_read_as_it_ends_after_idle_time, begin, end),
		cmocka_unit_test_setup_teardown(
			test_read_twice_as_a_command_ends, begin, end),
		cmocka_unit_test_setup_teardown(
			test_one_command_of_each_queue_while_the_agent_is_silent, begin,
			end),
		cmocka_unit_test_setup_teardown(
			test_a_thousand_of_unknown_length_alone, begin, end),
		cmocka_unit_test_setup_teardown(
			test_the_first_completion_opens_the_window, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
