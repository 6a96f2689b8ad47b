/* SPDX-License-Identifier: Apache-2.0 */
/* Queue records and their markers in rare interleavings of threads: another thread's
 * action at a certain point runs here inside a call that this thread makes at that
 * point. */
#include "gate/process/thread.h"
#include "gate/queue/blocked-queue.h"
#include "gate/queue/custody.h"
#include "gate/queue/markers.h"
#include "gate/queue/parked.h"
#include "gate/queue/queues.h"
#include "gate/queue/samples.h"
#include "gate/queue/table.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "inversion.h"
#include "queue-vendor.h"

#define PACKED CLV_FLIGHT_PACK(1000)
#define SHORT_NS (50 * CLV_NS_PER_US)
#define LONG_NS (17 * CLV_NS_PER_MS)

/* No memory for more than a few hundred markers. */

static bool no_memory;
static uint32_t n_without_memory;

void *__real_calloc(size_t n, size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);

void *__wrap_calloc(size_t n, size_t n_bytes)
{
	if (!no_memory || n < CLV_MARKERS_MANY)
		return __real_calloc(n, n_bytes);
	n_without_memory++;
	return NULL;
}

/* --- The rest of the gate --- */

static struct clv_control_page control = {.window_ns = 10 * CLV_NS_PER_MS};
static struct clv_report_page report;
static struct clv_view view = {
	.control = &control, .report = &report, .slot = report.slots};
static struct clv_wiped_on_fork forkless = {.view = &view};

struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;
struct clv_queue clv_no_queue;
struct clv_gate_state clv_gate = {.api = &api};
__thread struct clv_gate_thread clv_gate_thread;

/* The action of another thread, once. */
static void (*in_wake)(void), (*in_leave)(void);

static void run_other(void (**other)(void))
{
	void (*run)(void) = *other;

	*other = NULL;
	if (run)
		run();
}

bool clv_helper_start(void)
{
	return true;
}

void clv_helper_wake(void)
{
	run_other(&in_wake);
}

static void enter(uint64_t packed)
{
	atomic_fetch_add(&clv_gate.flight, packed);
}

void clv_flight_enter_as_debt(struct clv_view *of, uint64_t packed)
{
	enter(packed);
}

void clv_flight_leave(uint64_t packed)
{
	run_other(&in_leave);
	atomic_fetch_sub(&clv_gate.flight, packed);
}

bool clv_flight_was_forced(uint64_t since_ns)
{
	return false;
}

bool clv_flight_may_mark_tail(void)
{
	return false;
}

bool clv_flight_wants_marker_now(
	const struct clv_view *of, uint32_t n_markers, bool sync_style)
{
	return false;
}

/* --- The tests --- */

static const void *handle(uintptr_t i)
{
	return (const void *)((i + 1) * 16);
}

static struct clv_queue *submit(uintptr_t i)
{
	struct clv_queue *queue = clv_queue_find(handle(i));

	assert_non_null(queue);
	enter(PACKED);
	clv_queue_note_kind(queue, CLV_COST_MIXED);
	clv_queue_submitted(queue, NULL, PACKED);
	return queue;
}

static uint64_t n_in_flight(void)
{
	return CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight));
}

static void book_all(void)
{
	while (clv_queues_wait_for_marker())
		;
}

static void check_all_complete(void)
{
	book_all();
	assert_int_equal(n_in_flight(), 0);
}

#define N_QUEUES 8

static int begin(void **state)
{
	clv_gate_thread.last_queue = &clv_no_queue;
	in_wake = in_leave = NULL;
	n_refusals = 0;
	is_asked = goes_on = no_memory = has_no_end = false;
	rest = CLV_QUEUE_BUSY;
	return 0;
}

static int end(void **state)
{
	for (uintptr_t i = 0; i < N_QUEUES; i++)
		clv_queue_release(handle(i));
	check_all_complete();
	assert_int_equal(atomic_load(&clv_gate.n_busy_queues), 0);
	return 0;
}

/* The helper completes the last marker of a queue, and another thread submits to a new
 * queue, before the program's thread has removed the record of the first from the
 * table. */
static void book_and_submit_to_another(void)
{
	book_all();
	submit(2);
}

static void test_released_as_its_marker_is_booked(void **state)
{
	submit(1);
	in_wake = book_and_submit_to_another;
	clv_queue_release(handle(1));
	assert_null(clv_queue_find_known(handle(1)));
	assert_non_null(clv_queue_find_known(handle(2)));
	assert_int_equal(n_in_flight(), 1);
	clv_queues_mark_tails(false);
	check_all_complete();
}

/* The program releases a queue, and submits to a new one, while the helper is at the
 * queue's last marker. */
static struct clv_queue *booked, *other;

static void release_and_submit_to_another(void)
{
	clv_queue_release(handle(1));
	other = submit(2);
}

static void test_marker_booked_as_it_is_released(void **state)
{
	booked = submit(1);
	assert_true(clv_queue_mark(booked));
	in_leave = release_and_submit_to_another;
	book_all();
	assert_ptr_not_equal(booked, other);
	assert_int_equal(n_in_flight(), 1);
	clv_queues_mark_tails(false);
	check_all_complete();
}

static void test_records_are_reused(void **state)
{
	struct clv_queue *first = submit(1);

	clv_queue_release(handle(1));
	book_all();
	assert_ptr_equal(submit(2), first);
	assert_ptr_not_equal(submit(3), first);
}

/* A thread waits for an event of a queue, which another thread releases meanwhile, and a
 * third one creates a queue. */
static void test_released_during_a_wait(void **state)
{
	struct clv_custody custody = clv_custody_take(submit(1));
	struct clv_queue *next;

	assert_non_null(custody.queue);
	clv_queue_release(handle(1));
	next = submit(2);
	clv_custody_book(&custody);
	assert_int_equal(CLV_FLIGHT_COUNT(clv_backlog_in_flight(&next->backlog)), 1);
	clv_queues_mark_tails(false);
	check_all_complete();
	clv_queue_release(handle(2));
	assert_true(submit(3) == custody.queue || submit(4) == custody.queue);
}

/* The same, and the wait fails. */
static void test_released_during_a_failed_wait(void **state)
{
	struct clv_custody custody = clv_custody_take(submit(1));

	clv_queue_release(handle(1));
	clv_custody_return(&custody);
	assert_int_equal(n_in_flight(), 0);
}

/* The driver's queue is full of events and waits of the program, and the call that
 * records a marker would block. */
static void test_full_of_others(void **state)
{
	struct clv_queue *queue = submit(1);

	assert_true(clv_queue_mark_own(queue));
	clv_queue_count_others(queue, DEPTH);
	submit(1);
	/* The thread that fills it, and the helper, before and after the first marker. */
	assert_false(clv_queue_mark_own(queue));
	assert_false(clv_queues_mark_tails(false));
	book_all();
	assert_int_equal(n_in_flight(), 1);
	assert_false(clv_queues_mark_tails(false));
	/* A queue that cannot be asked has no more room by that. */
	rest = CLV_QUEUE_UNASKED;
	assert_false(clv_queue_may_block(queue));
	assert_true(clv_queue_n_places(queue) >= DEPTH);
	rest = CLV_QUEUE_EMPTY;
	assert_true(clv_queues_mark_tails(false));
	rest = CLV_QUEUE_BUSY;
	check_all_complete();
	/* What was before a marker or a wait is not there any more. */
	submit(1);
	assert_true(clv_queues_mark_tails(false));
	check_all_complete();
}

/* With no marker out there is room for the thread's own. */
static void test_others_and_waits(void **state)
{
	struct clv_queue *queue = submit(1);
	struct clv_custody custody;

	clv_queue_count_others(queue, DEPTH);
	assert_false(clv_queues_mark_tails(false));
	assert_true(clv_queue_mark_own(queue));
	book_all();
	clv_queue_count_others(queue, DEPTH);
	submit(1);
	custody = clv_custody_take(queue);
	clv_custody_book(&custody);
	submit(1);
	assert_true(clv_queues_mark_tails(false));
	check_all_complete();
}

static void *submit_elsewhere(void *handle)
{
	return clv_queue_find(handle);
}

/* The record that this thread used last is another queue's now, of another thread. */
static void test_record_of_another_thread(void **state)
{
	const uint64_t kind = 3 * CLV_COST_MULTIPLIER | 1;
	struct clv_quick quick;
	struct clv_queue *queue;
	pthread_t thread;

	atomic_store(&control.phase, CLV_PHASE_OPEN);
	clv_cost_learn(kind, 1000, 1);
	submit(1);
	queue = clv_queue_find(handle(1));
	assert_true(clv_quick_begin(&quick, handle(1), kind));
	clv_quick_end(&quick, false, NULL);
	clv_queue_release(handle(1));
	book_all();
	assert_int_equal(
		pthread_create(&thread, NULL, submit_elsewhere, (void *)handle(2)), 0);
	pthread_join(thread, NULL);
	assert_ptr_equal(clv_queue_find_known(handle(2)), queue);
	assert_false(clv_quick_begin(&quick, handle(2), kind));
	clv_queue_find(handle(2));
	assert_true(atomic_load(&queue->has_several_users));
	atomic_store(&control.phase, 0);
}

/* The queue that this thread used last is gone, and has work.  The handle of a default
 * queue is NULL as long as the thread has not found that queue. */
static void test_default_queue_after_a_release(void **state)
{
	const uint64_t kind = 5 * CLV_COST_MULTIPLIER | 1;
	struct clv_queue *queue = submit(1);

	atomic_store(&control.phase, CLV_PHASE_OPEN);
	clv_cost_learn(kind, 1000, 1);
	clv_queue_find(handle(1));
	atomic_store(&queue->quick_limit, UINT64_MAX);
	assert_true(clv_quick_pass(handle(1), kind));
	clv_queue_release(handle(1));
	atomic_store(&queue->quick_limit, UINT64_MAX);
	assert_false(clv_quick_pass(NULL, kind));
	atomic_store(&control.phase, 0);
	check_all_complete();
}

/* A held command is released, and completes, before the thread that released it is done
 * with its queue. */
static void test_released_with_a_held_command(void **state)
{
	struct clv_queue *queue = clv_queue_find(handle(1));

	clv_queue_hold(queue);
	clv_queue_release(handle(1));
	enter(PACKED);
	clv_queue_mark_with_event(queue, malloc(1), PACKED, CLV_COST_MIXED);
	book_all();
	assert_ptr_not_equal(submit(2), queue);
	clv_queue_unhold(queue);
	assert_ptr_equal(submit(3), queue);
}

/* More unfinished commands than the first list of markers has room for. */
#define MANY (3 * CLV_MARKERS_MANY)

static void test_streams_that_end_before_their_work(void **state)
{
	for (uintptr_t i = 1; i <= MANY; i++) {
		submit(i % N_QUEUES);
		clv_queue_release(handle(i % N_QUEUES));
	}
	assert_int_equal(n_in_flight(), MANY);
	check_all_complete();
}

static void test_marks_at_once(void **state)
{
	for (uintptr_t i = 1; i <= MANY; i++)
		clv_queue_mark_at_once(submit(i % N_QUEUES));
	assert_int_equal(n_in_flight(), MANY);
	check_all_complete();
}

static void mark_with_events(uintptr_t i)
{
	struct clv_queue *queue = clv_queue_find(handle(i));

	for (int k = 0; k < MANY; k++) {
		enter(PACKED);
		clv_queue_mark_with_event(queue, malloc(1), PACKED, CLV_COST_MIXED);
	}
}

static void test_marks_with_events(void **state)
{
	mark_with_events(1);
	assert_int_equal(n_in_flight(), MANY);
	check_all_complete();
}

static void test_marks_that_are_looked_at(void **state)
{
	is_asked = goes_on = true;
	mark_with_events(1);
	book_all();
	mark_with_events(2);
	book_all();
	assert_int_equal(n_in_flight(), 2 * MANY);
	goes_on = false;
	check_all_complete();
}

/* Commands that could not be recorded get a marker later. */
static void test_no_memory(void **state)
{
	no_memory = true;
	for (uintptr_t i = 1; i <= MANY; i++)
		clv_queue_mark_at_once(submit(i % N_QUEUES));
	mark_with_events(1);
	assert_int_equal(n_in_flight(), 2 * MANY);
	assert_int_not_equal(n_without_memory, 0);
	no_memory = false;
	book_all();
	clv_queues_mark_tails(false);
	check_all_complete();
}

/* A marker must be placed before a held command. */
static void test_held_behind_many(void **state)
{
	struct clv_queue *queue;

	mark_with_events(1);
	queue = submit(2);
	clv_queue_hold(queue);
	clv_queue_release(handle(2));
	assert_int_equal(n_in_flight(), MANY + 1);
	clv_queue_unhold(queue);
	check_all_complete();
}

static void test_refused_at_the_end(void **state)
{
	submit(1);
	n_refusals = 3;
	clv_queue_release(handle(1));
	assert_int_equal(n_in_flight(), 1);
	check_all_complete();
}

/* A callback of the program runs inside the driver's call for the last marker. */
static void submit_and_mark(void)
{
	in_mark = NULL;
	submit(1);
	clv_queue_mark(clv_queue_find(handle(1)));
}

static void test_callback_in_the_last_marker(void **state)
{
	submit(1);
	in_mark = submit_and_mark;
	clv_queue_release(handle(1));
	check_all_complete();
}

/* The callback releases the queue itself. */
static void release_in_a_marker(void)
{
	in_mark = NULL;
	clv_queue_release(handle(1));
}

static void test_callback_releases_the_marked_queue(void **state)
{
	submit(1);
	in_mark = release_in_a_marker;
	clv_queue_mark(clv_queue_find(handle(1)));
	assert_null(clv_queue_find_known(handle(1)));
	check_all_complete();
}

/* As where the program leaves the driver no memory. */
static void test_always_refused(void **state)
{
	struct clv_queue *queue = submit(1);

	n_refusals = 1000;
	for (int i = 0; i < 15; i++)
		assert_false(clv_queue_mark(queue));
	assert_int_equal(n_in_flight(), 1);
	/* The end of the queue is awaited, and from then on at the first refusal. */
	assert_true(clv_queue_mark(queue));
	assert_int_equal(n_in_flight(), 1);
	book_all();
	assert_int_equal(n_in_flight(), 0);
	submit(1);
	assert_true(clv_queue_mark(queue));
	submit(1);
	clv_queue_release(handle(1));
	assert_int_equal(n_in_flight(), 2);
	check_all_complete();
}

static void test_refused_until_the_release_of_a_held_one(void **state)
{
	struct clv_queue *queue = submit(1);

	n_refusals = 1000;
	clv_queue_hold(queue);
	clv_queue_release(handle(1));
	assert_int_equal(n_in_flight(), 1);
	clv_queue_unhold(queue);
	check_all_complete();
}

static void test_refused_until_the_release(void **state)
{
	submit(1);
	n_refusals = 1000;
	clv_queue_release(handle(1));
	assert_int_equal(n_in_flight(), 1);
	check_all_complete();
}

/* As after a device failure. */
static void test_even_the_end_is_refused(void **state)
{
	struct clv_queue *queue = submit(1);

	n_refusals = 1000;
	has_no_end = true;
	for (int i = 0; i < 16; i++)
		assert_false(clv_queue_mark(queue));
	assert_int_equal(n_in_flight(), 0);
	submit(1);
	clv_queue_release(handle(1));
	assert_int_equal(n_in_flight(), 0);
}

/* Commands of unknown length, and what the queue learns of them. */
static struct clv_queue *submit_unknown(uintptr_t i, unsigned n)
{
	struct clv_queue *queue = clv_queue_find(handle(i));

	for (unsigned k = 0; k < n; k++) {
		enter(CLV_FLIGHT_PACK(0));
		clv_queue_book(queue, &view, CLV_COST_MIXED, NULL, CLV_FLIGHT_PACK(0));
	}
	return queue;
}

static void test_unknown_are_counted_until_they_are_complete(void **state)
{
	struct clv_queue *queue = submit_unknown(1, MANY);
	struct clv_custody custody;

	assert_int_equal(atomic_load(&queue->backlog.n_unknown), MANY);
	book_all();
	clv_queues_mark_tails(false);
	book_all();
	assert_int_equal(atomic_load(&queue->backlog.n_unknown), 0);
	assert_int_not_equal(atomic_load(&queue->backlog.each_ns), 0);
	/* The time for which the queue is idle now does not count for what follows. */
	assert_int_equal(atomic_load(&queue->n_each), 0);
	assert_int_equal(atomic_load(&queue->each_since_ns), 0);
	custody = clv_custody_take(submit_unknown(1, 3));
	assert_int_equal(atomic_load(&queue->backlog.n_unknown), 3);
	clv_custody_book(&custody);
	assert_int_equal(atomic_load(&queue->backlog.n_unknown), 0);
}

#define KIND UINT64_C(0x1234567890abcdef)

/* The table of estimates has a place of its own for each. */
static uint64_t kind_of(unsigned k)
{
	return KIND + ((uint64_t)k << 52);
}

static void book_unknown(struct clv_queue *queue, uint64_t kind)
{
	enter(CLV_FLIGHT_PACK(0));
	clv_queue_book(queue, &view, kind, NULL, CLV_FLIGHT_PACK(0));
}

/* Waits for four markers, the last of which takes long. */
static void wait_for_four(void)
{
	for (unsigned k = 0; k < 3; k++)
		clv_queues_wait_for_marker();
	n_slow = 1;
	clv_queues_wait_for_marker();
}

/* A helper that was not scheduled finds three complete at once, one of which it had
 * waited for: they took a third of that time each, and not next to none. */
static void test_what_is_noticed_late_is_not_short(void **state)
{
	struct clv_queue *queue = clv_queue_find(handle(1));

	for (unsigned k = 0; k < 4; k++)
		book_unknown(queue, KIND);
	n_slow = 1;
	wait_for_four();
	assert_true(clv_cost_estimate(KIND) >= 5 * CLV_NS_PER_MS / 3);
}

/* Each of them is learned, although none was waited for alone. */
static unsigned count_known_of_eight(struct clv_queue *queue)
{
	unsigned n = 0;

	clv_cost_forget();
	for (unsigned k = 0; k < 8; k++)
		book_unknown(queue, kind_of(k));
	book_all();
	for (unsigned k = 0; k < 8; k++)
		n += clv_cost_estimate(kind_of(k)) != 0;
	return n;
}

/* On a busy machine one may be noticed too late to tell. */
static void test_kinds_that_are_noticed_together(void **state)
{
	struct clv_queue *queue = clv_queue_find(handle(1));
	unsigned n = 0;

	for (unsigned i = 0; i < 5 && n < 8; i++)
		n = count_known_of_eight(queue);
	assert_int_equal(n, 8);
}

/* The one that was waited for is not as short as those before it. */
static void test_a_long_command_behind_short_ones(void **state)
{
	struct clv_queue *queue = clv_queue_find(handle(1));

	clv_cost_forget();
	for (unsigned k = 0; k < 4; k++)
		book_unknown(queue, kind_of(k));
	wait_for_four();
	assert_true(clv_cost_estimate(kind_of(3)) >= 4 * CLV_NS_PER_MS);
	assert_true(clv_cost_estimate(kind_of(0)) < 1 * CLV_NS_PER_MS);
}

/* A command of unknown length behind one of a known kind: its marker has it alone. */
static void test_a_new_kind_behind_a_known_one(void **state)
{
	struct clv_queue *queue = clv_queue_find(handle(1));
	uint64_t known = CLV_FLIGHT_PACK(1000);

	clv_cost_forget();
	enter(known);
	clv_queue_book(queue, &view, KIND, NULL, known);
	clv_queue_mark_before(queue, kind_of(1), CLV_FLIGHT_PACK(0));
	book_unknown(queue, kind_of(1));
	n_slow = 2;
	book_all();
	assert_int_not_equal(clv_cost_estimate(kind_of(1)), 0);
}

/* The lowest thread computes in the vendor's call, with the lock of a queue. */
static struct clv_queue *contended;

static void mark_contended(void)
{
	clv_queue_mark_at_once(contended);
}

static void compute_in_call(void)
{
	in_mark = NULL;
	inversion_compute();
}

static void test_no_priority_inversion(void **state)
{
	contended = submit(1);
	in_mark = compute_in_call;
	inversion_test(mark_contended, mark_contended);
}

/* A command may wait for one of the other queue, which was never flushed. */
static void test_the_only_other_queue_is_flushed(void **state)
{
	struct clv_queue *waited_for = submit(0);

	clv_queue_mark_with_event(clv_queue_find(handle(1)), malloc(1), PACKED, 0);
	enter(PACKED);
	/* Its marker is out, and its record in the table no longer. */
	clv_queue_release(handle(1));
	assert_int_equal(clv_table_n(), 1);
	flushed = NULL;
	assert_true(clv_queues_wait_for_oldest());
	assert_ptr_equal(flushed, waited_for);
	clv_queue_release(handle(0));
	check_all_complete();
	assert_int_equal(clv_table_n(), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

/* n commands of this kind took each_ns one after the other. */
static void sample(struct clv_queue *queue, uint64_t kind, uint64_t n, uint64_t each_ns)
{
	static uint64_t now_ns = CLV_NS_PER_S;
	const struct clv_marker done = {
		.queue = queue, .packed = n * PACKED, .since_ns = now_ns, .kind = kind};

	now_ns += n * each_ns;
	clv_samples_learn(queue, &done, now_ns);
}

static uint64_t estimate_after_long_ones(enum clv_phase phase, uint64_t n)
{
	uint64_t kind = n * CLV_COST_MULTIPLIER | 1;
	struct clv_queue *queue = submit(1);

	book_all();
	atomic_store(&control.phase, phase);
	for (int i = 0; i < 20; i++)
		sample(queue, kind, 10, SHORT_NS);
	sample(queue, kind, 60, LONG_NS);
	assert_int_equal(clv_cost_estimate(kind), LONG_NS);
	for (int i = 0; i < 50; i++)
		sample(queue, kind, 1, SHORT_NS);
	atomic_store(&control.phase, 0);
	clv_queue_release(handle(1));
	return clv_cost_estimate(kind);
}

/* Far longer than expected: beside others that is the estimate for two seconds, alone
 * only until others are seen. */
static void test_far_longer_than_expected(void **state)
{
	assert_int_equal(estimate_after_long_ones(CLV_PHASE_GRANTED, 7), LONG_NS);
	assert_true(estimate_after_long_ones(CLV_PHASE_OPEN, 9) < 2 * SHORT_NS);
	check_all_complete();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_released_as_its_marker_is_booked),
		TEST(test_marker_booked_as_it_is_released),
		TEST(test_records_are_reused),
		TEST(test_released_during_a_wait),
		TEST(test_released_during_a_failed_wait),
		TEST(test_full_of_others),
		TEST(test_others_and_waits),
		TEST(test_record_of_another_thread),
		TEST(test_default_queue_after_a_release),
		TEST(test_released_with_a_held_command),
		TEST(test_streams_that_end_before_their_work),
		TEST(test_marks_at_once),
		TEST(test_marks_with_events),
		TEST(test_marks_that_are_looked_at),
		TEST(test_the_only_other_queue_is_flushed),
		TEST(test_no_memory),
		TEST(test_held_behind_many),
		TEST(test_refused_at_the_end),
		TEST(test_callback_in_the_last_marker),
		TEST(test_callback_releases_the_marked_queue),
		TEST(test_always_refused),
		TEST(test_refused_until_the_release),
		TEST(test_refused_until_the_release_of_a_held_one),
		TEST(test_even_the_end_is_refused),
		TEST(test_unknown_are_counted_until_they_are_complete),
		TEST(test_what_is_noticed_late_is_not_short),
		TEST(test_kinds_that_are_noticed_together),
		TEST(test_a_long_command_behind_short_ones),
		TEST(test_a_new_kind_behind_a_known_one),
		TEST(test_no_priority_inversion),
		cmocka_unit_test(test_far_longer_than_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
