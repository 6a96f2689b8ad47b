/* SPDX-License-Identifier: Apache-2.0 */
/* Each wait of a thread in line ends, whatever else its lease does meanwhile: each wait
 * carries out a part of the lease's other work, on a clock of its own. */
#include "base/futex.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/process/thread.h"
#include "gate/window/flight.h"
#include "gate/window/grace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS CLV_NS_PER_MS
/* After this time the gate opens. */
#define OPENS_AFTER_NS (5 * CLV_NS_PER_S)

static bool mark_nothing(bool lingering)
{
	return false;
}

static const struct clv_gate_api api = {.mark_tails = mark_nothing};

struct clv_gate_state clv_gate = {.api = &api};
__thread struct clv_gate_thread clv_gate_thread;

static struct clv_control_page control;
static struct clv_report_page report;
static struct clv_view view = {
	.control = &control,
	.report = &report,
	.slot = &report.slots[0],
	.turn = &report.turns[0],
};
static struct clv_wiped_on_fork forkless;
struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;

void clv_gate_seek_agent(struct clv_view *of)
{
}

bool clv_attach_ring(const struct clv_view *of)
{
	return true;
}

bool clv_helper_start(void)
{
	return true;
}

void clv_helper_wake(void)
{
}

bool clv_grace_begin(void)
{
	return false;
}

void clv_grace_succeeded(void)
{
}

/* The clock: only waits take time. */

static uint64_t now_ns;

static int read_test_clock(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){
		(time_t)(now_ns / CLV_NS_PER_S), (long)(now_ns % CLV_NS_PER_S)};
	return 0;
}

/* The other thread. */

static void (*act)(void);
static uint64_t opens_ns;

/* Replaces the C library's: each wait of base/futex.h ends with its timeout, and the
 * other thread acts meanwhile. */
long syscall(long number, ...)
{
	const struct timespec *timeout;
	va_list arguments;
	int operation;

	va_start(arguments, number);
	va_arg(arguments, void *);
	operation = va_arg(arguments, int);
	va_arg(arguments, uint32_t);
	timeout = va_arg(arguments, const struct timespec *);
	va_end(arguments);
	if (number != SYS_futex || operation != FUTEX_WAIT)
		return 0;

	now_ns += (uint64_t)timeout->tv_sec * CLV_NS_PER_S + (uint64_t)timeout->tv_nsec;
	act();
	if (now_ns > opens_ns) {
		control.slots_used = 1;
		atomic_store(&control.phase, CLV_PHASE_WORD(2, CLV_PHASE_OPEN));
	}
	errno = ETIMEDOUT;
	return -1;
}

/* Returns whether a command of the queue entered in its turn, and how long it waited in
 * *ret_ns. */
static bool enter_behind(
	struct clv_backlog *backlog, void (*other)(void), uint64_t *ret_ns)
{
	uint64_t since_ns = now_ns;
	bool entered;

	act = other;
	opens_ns = since_ns + OPENS_AFTER_NS;
	entered = clv_flight_enter(&view, backlog, 0);
	*ret_ns = now_ns - since_ns;
	return entered;
}

static bool enter_beside(void (*other)(void), uint64_t *ret_ns)
{
	struct clv_backlog backlog = {0};

	return enter_behind(&backlog, other, ret_ns);
}

static int begin(void **state)
{
	now_ns = 1000 * CLV_NS_PER_S;
	atomic_store(&clv_clock_read, read_test_clock);
	atomic_store(&forkless.view, &view);
	clv_gate.flight = 0;
	control = (struct clv_control_page){
		.slots_used = 2,
		.window_ns = 4 * MS,
		.window_commands = 1,
		.phase = CLV_PHASE_WORD(1, CLV_PHASE_CLOSED),
	};
	for (int i = 0; i < 2; i++) {
		report.slots[i] = (struct clv_slot){.busy_since_ns = clv_clock_ns()};
		report.turns[i] = (struct clv_slot_turn){0};
	}
	return 0;
}

/* The command of one process runs and runs, maybe until this process submits something,
 * which has nothing in flight itself. */
static void keep_running(void)
{
}

static void test_work_of_another_process(void **state)
{
	uint64_t ns;

	report.slots[1].entered = 1;
	assert_false(enter_beside(keep_running, &ns));
	assert_true(ns < OPENS_AFTER_NS);
}

/* The same, while short work of this process completes again and again. */
static void complete_one(void)
{
	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(1 * MS));
	clv_flight_leave(CLV_FLIGHT_PACK(1 * MS));
}

static void test_completions_beside(void **state)
{
	uint64_t ns;

	report.slots[1].entered = 1;
	assert_false(enter_beside(complete_one, &ns));
	assert_true(ns < OPENS_AFTER_NS);
}

static void test_completions_beside_own(void **state)
{
	uint64_t ns;

	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	assert_false(enter_beside(complete_one, &ns));
	assert_true(ns < OPENS_AFTER_NS);
}

/* The lease has drained and its turn is to come, so nothing enters before it.  Threads of
 * another process that try to enter count for a moment each, at every other look. */
static void try_again(void)
{
	static bool is_trying;

	is_trying = !is_trying;
	atomic_fetch_add(is_trying ? &report.slots[1].entered : &report.slots[1].done, 1);
}

static void test_drained(void **state)
{
	uint64_t ns;

	assert_true(enter_beside(try_again, &ns));
	assert_true(ns >= OPENS_AFTER_NS);
}

/* The agent is stopped, and so cannot stop work either. */
static void test_silent_agent_of_preemptible_work(void **state)
{
	struct clv_backlog backlog = {0};

	control.is_preemptible = 1;
	control.heartbeat_ns = 1;
	atomic_store(&view.silent_beat_ns, 1);
	assert_true(clv_flight_try(&backlog, CLV_FLIGHT_PACK(1 * MS)));
	backlog.awaited = CLV_FLIGHT_PACK(1 * MS);
	assert_false(clv_flight_try(&backlog, CLV_FLIGHT_PACK(1 * MS)));
	atomic_store(&view.silent_beat_ns, 0);
}

/* Another process always has work that may run past the end of the turn. */
static void overrun(void)
{
	report.slots[1].busy_since_ns = clv_clock_ns();
}

static void test_another_always_overruns(void **state)
{
	uint64_t ns;

	control.phase = CLV_PHASE_WORD(1, CLV_PHASE_SHARED);
	report.slots[1].entered = 1;
	report.turns[1].ends_ns = UINT64_MAX;
	enter_beside(overrun, &ns);
	assert_true(ns < OPENS_AFTER_NS);
	enter_behind(NULL, overrun, &ns);
	assert_true(ns < OPENS_AFTER_NS);
	/* Without a queue, whatever other queues of the process have. */
	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	enter_behind(NULL, overrun, &ns);
	assert_true(ns < OPENS_AFTER_NS);
}

/* Nor a command that no thread waits with.  Only time in open gates counts. */
static void test_held_while_another_always_overruns(void **state)
{
	struct clv_backlog backlog = {0};
	struct clv_beside_others beside = {0};
	unsigned n_open = 0;

	report.slots[1].entered = 1;
	report.turns[1].ends_ns = UINT64_MAX;
	for (unsigned i = 0; i < 500; i++) {
		bool is_open = i / 10 % 2;

		now_ns += MS;
		control.phase = CLV_PHASE_WORD(
			i / 10, is_open ? CLV_PHASE_SHARED : CLV_PHASE_CLOSED);
		overrun();
		assert_false(clv_flight_try(&backlog, 0));
		if (clv_flight_has_waited_for_others(&view, &backlog, &beside))
			break;
		n_open += is_open;
	}
	assert_in_range(n_open, 100, 125);
}

/* The queue of a lease that is alone has a window full of work, of which nothing is
 * complete in the time that its longest batch takes. */
static void test_a_full_window_alone(void **state)
{
	struct clv_backlog backlog = {
		.awaited = 4000 * MS << CLV_FLIGHT_COUNT_BITS | 400,
		.longest_ns = 20 * MS,
		.progress_ns = clv_clock_ns(),
	};
	uint64_t ns;

	control.phase = CLV_PHASE_WORD(1, CLV_PHASE_OPEN);
	control.window_ns = CLV_NS_PER_S;
	clv_flight_enter_as_debt(&view, backlog.awaited);
	enter_behind(&backlog, keep_running, &ns);
	assert_true(ns < CLV_NS_PER_S);
}

/* It waits for a command that takes as long as expected. */
static void test_a_long_command_alone(void **state)
{
	struct clv_backlog backlog = {
		.awaited = 2000 * MS << CLV_FLIGHT_COUNT_BITS | 1,
		.longest_ns = 2000 * MS,
		.progress_ns = clv_clock_ns(),
	};
	uint64_t ns;

	control.phase = CLV_PHASE_WORD(1, CLV_PHASE_OPEN);
	control.window_ns = CLV_NS_PER_S;
	clv_flight_enter_as_debt(&view, backlog.awaited);
	enter_behind(&backlog, keep_running, &ns);
	assert_true(ns >= 1000 * MS);
}

/* A program fills a queue behind a command that waits for the program, beside a lease
 * that has the device. */
static void test_many_behind_one_that_waits(void **state)
{
	struct clv_backlog backlog = {.progress_ns = clv_clock_ns()};
	uint64_t since_ns = now_ns, ns;

	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	backlog.awaited = CLV_FLIGHT_PACK(0);
	for (int i = 0; i < 1000; i++) {
		assert_false(enter_behind(&backlog, keep_running, &ns));
		clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
		backlog.awaited += CLV_FLIGHT_PACK(0);
	}
	assert_true(now_ns - since_ns < 2 * CLV_NS_PER_S);
}

/* Other queues' commands do not enter one after the other without a look. */
static void test_many_beside_one_that_waits(void **state)
{
	uint64_t since_ns = now_ns, ns;

	clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	for (int i = 0; i < 100; i++) {
		assert_false(enter_beside(keep_running, &ns));
		clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(0));
	}
	assert_true(now_ns - since_ns >= 2 * CLV_NS_PER_S);
}

/* Of a queue that is alone, whose commands are all of unknown duration: whether another
 * one may enter where the first of so many was submitted so long ago. */
static bool may_enter_alone(uint64_t n, uint64_t since_ns)
{
	struct clv_backlog backlog = {
		.awaited = n * CLV_FLIGHT_PACK(0),
		.n_unknown = (uint32_t)n,
		.progress_ns = clv_clock_ns() - since_ns,
	};

	control.phase = CLV_PHASE_WORD(1, CLV_PHASE_OPEN);
	control.window_ns = CLV_NS_PER_S;
	return clv_flight_try(&backlog, CLV_FLIGHT_PACK(0));
}

/* A program submits a hundred short commands before the first can be complete, because a
 * long one of another queue is before it. */
static void test_unknown_ones_at_first(void **state)
{
	assert_true(may_enter_alone(100, MS / 2));
	assert_true(may_enter_alone(100, MS));
	assert_false(may_enter_alone(1000, 0));
}

static void test_unknown_ones_that_may_be_long(void **state)
{
	assert_true(may_enter_alone(49, 2000 * MS));
	assert_false(may_enter_alone(50, 3 * MS));
	assert_false(may_enter_alone(200, MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_work_of_another_process, begin),
		cmocka_unit_test_setup(test_completions_beside, begin),
		cmocka_unit_test_setup(test_completions_beside_own, begin),
		cmocka_unit_test_setup(test_drained, begin),
		cmocka_unit_test_setup(test_silent_agent_of_preemptible_work, begin),
		cmocka_unit_test_setup(test_another_always_overruns, begin),
		cmocka_unit_test_setup(test_held_while_another_always_overruns, begin),
		cmocka_unit_test_setup(test_a_full_window_alone, begin),
		cmocka_unit_test_setup(test_a_long_command_alone, begin),
		cmocka_unit_test_setup(test_unknown_ones_at_first, begin),
		cmocka_unit_test_setup(test_unknown_ones_that_may_be_long, begin),
		cmocka_unit_test_setup(test_many_behind_one_that_waits, begin),
		cmocka_unit_test_setup(test_many_beside_one_that_waits, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
