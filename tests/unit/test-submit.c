/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions to an OpenCL queue, and their cost for the vendor: a marker without a wait
 * list depends on all pending commands of an out-of-order queue. */
#include "base/clock.h"
#include "gate/attach/attachment.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/queue/deferred.h"
#include "gate/opencl/queue/queue.h"
#include "gate/opencl/queue/submit.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"
#include "gate/window/threads.h"
#include "gate/window/turnstile.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_COMMANDS 2000
#define N_KINDS 4
#define MAX_EVENTS 8192

/* The vendor: no command is complete before a wait for it. */

static struct {
	cl_int status;
	_Atomic int references;
} events[MAX_EVENTS];
static cl_uint n_events, n_pending;
static uint64_t n_dependencies; /* of all markers */
static cl_command_queue_properties properties;
static cl_command_queue queue;
cl_icd_dispatch clv_real;

static cl_event handle_of(cl_uint i)
{
	return (cl_event)(uintptr_t)((i + 1) * 64);
}

static cl_uint index_of(cl_event event)
{
	cl_uint i = (cl_uint)((uintptr_t)event / 64) - 1;

	assert_in_range(i, 0, n_events - 1);
	assert_true(events[i].references > 0);
	return i;
}

static cl_event new_event(void)
{
	assert_true(n_events < MAX_EVENTS);
	events[n_events].status = CL_QUEUED;
	events[n_events].references = 1;
	n_pending++;
	return handle_of(n_events++);
}

static void complete(cl_uint i, cl_int status)
{
	n_pending -= events[i].status > CL_COMPLETE;
	events[i].status = status;
}

static cl_int CL_API_CALL enqueue_marker(
	cl_command_queue of, cl_uint n, const cl_event *list, cl_event *event)
{
	assert_int_equal(n, 0);
	n_dependencies += n_pending;
	*event = new_event();
	return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *list)
{
	cl_int r = CL_SUCCESS;

	for (cl_uint i = 0; i < n; i++) {
		cl_uint index = index_of(list[i]);

		/* A wait ends at the first error. */
		if (events[index].status < CL_COMPLETE)
			return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		complete(index, CL_COMPLETE);
	}
	return r;
}

/* Another thread runs while the driver is in a call that concerns this event's
 * references. */
static void (*meanwhile)(cl_event event);

static void interrupt(cl_event event)
{
	void (*run)(cl_event) = meanwhile;

	if (!run)
		return;
	meanwhile = NULL;
	run(event);
}

static cl_int CL_API_CALL get_event_info(
	cl_event event, cl_event_info what, size_t room, void *value, size_t *ret_n)
{
	cl_uint n_references = (cl_uint)atomic_load(&events[index_of(event)].references);

	if (what == CL_EVENT_COMMAND_QUEUE) {
		memcpy(value, &queue, sizeof(queue));
	} else if (what == CL_EVENT_REFERENCE_COUNT) {
		interrupt(event);
		memcpy(value, &n_references, sizeof(n_references));
	} else {
		assert_int_equal(what, CL_EVENT_COMMAND_EXECUTION_STATUS);
		memcpy(value, &events[index_of(event)].status, sizeof(cl_int));
	}
	return CL_SUCCESS;
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
	events[index_of(event)].references++;
	return CL_SUCCESS;
}

static cl_int release_result;

static cl_int CL_API_CALL release_event(cl_event event)
{
	interrupt(event);
	if (release_result == CL_SUCCESS)
		events[index_of(event)].references--;
	return release_result;
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *ret_error)
{
	*ret_error = CL_SUCCESS;
	return new_event();
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue of, cl_command_queue_info what,
	size_t room, void *value, size_t *ret_n)
{
	if (what == CL_QUEUE_PROPERTIES)
		memcpy(value, &properties, sizeof(properties));
	return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
	const cl_queue_properties *list, cl_int *ret_error)
{
	*ret_error = CL_SUCCESS;
	return queue;
}

static cl_int CL_API_CALL flush(cl_command_queue of)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL finish(cl_command_queue of)
{
	for (cl_uint i = 0; i < n_events; i++)
		complete(i, CL_COMPLETE);
	return CL_SUCCESS;
}

_Atomic(void **) clv_vendor_table;

bool clv_vendor_gate_object(const void *object)
{
	return true;
}

/* The rest of the gate: there is always room. */

static struct clv_control_page control = {.window_ns = 10 * CLV_NS_PER_MS};
static struct clv_report_page report;
static struct clv_view view = {
	.control = &control, .report = &report, .slot = report.slots};
static struct clv_wiped_on_fork forkless = {.view = &view};
static const struct clv_gate_api api = {.queues = &clv_cl_queue_ops};

struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;
struct clv_queue clv_no_queue;
struct clv_gate_state clv_gate = {.api = &api};
__thread struct clv_gate_thread clv_gate_thread;

struct clv_view *clv_gate_view(bool *ret_refused)
{
	return &view;
}

void clv_gate_callback_begin(void)
{
}

void clv_gate_callback_end(void)
{
}

void clv_gate_wait_begin(void)
{
}

void clv_gate_wait_end(void)
{
}

bool clv_helper_start(void)
{
	return true;
}

void clv_helper_wake(void)
{
}

bool clv_gate_threads_start(void)
{
	return true;
}

void clv_turnstile_wake(void)
{
}

bool clv_flight_enter(
	struct clv_view *of, struct clv_backlog *backlog, uint64_t estimate_ns)
{
	atomic_fetch_add(&clv_gate.flight, CLV_FLIGHT_PACK(estimate_ns));
	return true;
}

void clv_flight_enter_as_debt(struct clv_view *of, uint64_t packed)
{
	atomic_fetch_add(&clv_gate.flight, packed);
}

void clv_flight_leave(uint64_t packed)
{
	atomic_fetch_sub(&clv_gate.flight, packed);
}

bool clv_flight_try(const struct clv_backlog *backlog, uint64_t packed)
{
	return false;
}

void clv_line_begin(struct clv_line *line)
{
}

void clv_line_end(struct clv_line *line)
{
}

bool clv_line_wait(struct clv_line *line, struct clv_backlog *backlog)
{
	return false;
}

bool clv_flight_has_waited_for_others(const struct clv_view *of,
	const struct clv_backlog *backlog, struct clv_beside_others *beside)
{
	return false;
}

bool clv_flight_is_stalled(const struct clv_view *of, const struct clv_backlog *backlog)
{
	return false;
}

void clv_flight_note_forced(void)
{
}

bool clv_flight_was_forced(uint64_t since_ns)
{
	return true; /* the estimate learns nothing */
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

/* The gate's allocations. */

static unsigned n_allocations;

void *__real_calloc(size_t n, size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__real_malloc(size_t n_bytes);
void *__wrap_malloc(size_t n_bytes);

void *__wrap_calloc(size_t n, size_t n_bytes)
{
	n_allocations++;
	return __real_calloc(n, n_bytes);
}

void *__wrap_malloc(size_t n_bytes)
{
	n_allocations++;
	return __real_malloc(n_bytes);
}

/* --- The tests --- */

static cl_icd_dispatch wrapped;

static int begin(void **state)
{
	static uintptr_t last_queue;

	clv_real.clEnqueueMarkerWithWaitList = enqueue_marker;
	clv_real.clWaitForEvents = wait_for_events;
	clv_real.clGetEventInfo = get_event_info;
	clv_real.clRetainEvent = retain_event;
	clv_real.clReleaseEvent = release_event;
	clv_real.clCreateUserEvent = create_user_event;
	clv_real.clGetCommandQueueInfo = get_queue_info;
	clv_real.clFlush = flush;
	clv_real.clFinish = finish;
	clv_real.clCreateCommandQueueWithProperties = create_queue;
	wrapped = clv_real;
	clv_opencl_wrap_waits(&wrapped);
	clv_opencl_wrap_queues(&wrapped);
	clv_opencl_wrap_submissions(&wrapped);
	clv_gate_thread.last_queue = &clv_no_queue;
	properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	n_events = n_pending = 0;
	n_dependencies = 0;
	queue = (cl_command_queue)(++last_queue * 64);
	clv_queue_find(queue);
	n_allocations = 0;
	return 0;
}

/* All allocations are freed. */
static int end(void **state)
{
	clv_queue_release(queue);
	while (clv_queues_wait_for_oldest())
		;
	assert_int_equal(CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)), 0);
	for (cl_uint i = 0; i < n_events; i++)
		assert_int_equal(events[i].references, 0);
	return 0;
}

/* event: the program's, or NULL. */
static void submit(uint64_t kind, cl_event *event)
{
	struct clv_submission submission;

	assert_int_equal(
		clv_submission_begin(&submission, queue, kind | 1, false, 0, NULL, event),
		CL_SUCCESS);
	if (submission.event)
		*submission.event = new_event();
	else
		n_pending++;
	assert_int_equal(clv_submission_end(&submission, CL_SUCCESS), CL_SUCCESS);
}

static void submit_many(void)
{
	for (uint64_t i = 0; i < N_COMMANDS; i++)
		submit((i % N_KINDS + 1) * CLV_COST_MULTIPLIER, NULL);
}

static uint64_t n_in_flight(void)
{
	return CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight));
}

static void test_many_of_unknown_length(void **state)
{
	submit_many();
	assert_true(n_dependencies <= N_COMMANDS);
	assert_int_equal(n_allocations, 0);
	assert_int_equal(n_in_flight(), N_COMMANDS);
}

static void test_many_of_known_length(void **state)
{
	for (uint64_t kind = 1; kind <= N_KINDS; kind++)
		clv_cost_learn(kind * CLV_COST_MULTIPLIER | 1, 10000, 1);
	submit_many();
	clv_cost_forget();
	assert_true(n_dependencies <= N_COMMANDS);
	assert_int_equal(n_allocations, 0);
}

/* A marker in one of its queues says nothing about the others: the command's own event is
 * the marker. */
static void test_command_in_several_queues(void **state)
{
	struct clv_submission submission;
	cl_event event = NULL;

	properties = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(clv_submission_begin(&submission, queue, 3, false, 0,
					 NULL, i == 0 ? NULL : &event),
			CL_SUCCESS);
		clv_submission_set_spans_queues(&submission);
		assert_non_null(submission.event);
		*submission.event = new_event();
		assert_int_equal(clv_submission_end(&submission, CL_SUCCESS), CL_SUCCESS);
	}
	assert_int_equal(n_events, 2);
	assert_ptr_equal(event, handle_of(1));
	assert_int_equal(n_in_flight(), 2);
	clv_queues_wait_for_oldest();
	assert_int_equal(n_in_flight(), 1);
	clv_queues_wait_for_oldest();
	assert_int_equal(n_in_flight(), 0);
	assert_int_equal(wrapped.clReleaseEvent(event), CL_SUCCESS);
}

/* The commands before a marker are in flight until all of them are complete. */
static void test_markers_complete_in_order(void **state)
{
	uint64_t before = N_COMMANDS;

	submit_many();
	clv_queue_mark_at_once(clv_queue_find(queue));
	while (clv_queues_wait_for_oldest()) {
		assert_true(n_in_flight() < before);
		assert_int_equal(n_in_flight(), n_pending);
		before = n_in_flight();
	}
	assert_int_equal(n_pending, 0);
}

static void test_failed_command_hides_no_other(void **state)
{
	for (uint64_t kind = 1; kind <= N_KINDS; kind++)
		clv_cost_learn(kind * CLV_COST_MULTIPLIER | 1, 100, 1);
	for (uint64_t i = 0; i < 100; i++)
		submit((i % N_KINDS + 1) * CLV_COST_MULTIPLIER, NULL);
	clv_cost_forget();
	complete(0, CL_OUT_OF_RESOURCES);
	assert_true(clv_queue_mark_at_once(clv_queue_find(queue)));
	assert_true(clv_queues_wait_for_oldest());
	assert_int_equal(n_pending, 0);
}

static void test_finished_events_are_not_kept(void **state)
{
	cl_event event = NULL;

	clv_cost_learn(CLV_COST_MULTIPLIER | 1, 100, 1);
	for (int i = 0; i < 100; i++)
		submit(CLV_COST_MULTIPLIER, i == 50 ? &event : NULL);
	clv_cost_forget();
	assert_int_equal(events[index_of(event)].references, 2);
	assert_int_equal(clv_cl_queue_finish(clv_queue_find(queue)), CL_SUCCESS);
	assert_int_equal(events[index_of(event)].references, 1);
	assert_int_equal(events[0].references, 0);
	release_event(event);
}

/* An in-order queue needs no events. */
static void test_order_needs_no_events(void **state)
{
	clv_queue_release(queue);
	properties = 0;
	queue = (cl_command_queue)((uintptr_t)queue + 1024);
	for (int i = 0; i < 10; i++)
		submit(CLV_COST_MULTIPLIER, NULL);
	assert_int_equal(n_events, 10); /* the markers of commands of unknown length */
}

static void *submit_in_between(void *event)
{
	clv_gate_thread.last_queue = &clv_no_queue;
	submit(CLV_COST_MULTIPLIER, event);
	return NULL;
}

/* Two threads submit to one queue, and the first one is interrupted behind the driver's
 * call.  The end of its command does not show that of the other thread's. */
static void check_booked_in_another_order(bool has_record)
{
	struct clv_submission submission;
	cl_event first, second;
	pthread_t thread;

	clv_queue_release(queue);
	properties = 0;
	queue = (cl_command_queue)((uintptr_t)queue + 1024);
	if (has_record)
		clv_queue_add(queue);
	clv_cost_learn(CLV_COST_MULTIPLIER | 1, 10000, 1);
	assert_int_equal(clv_submission_begin(&submission, queue, CLV_COST_MULTIPLIER | 1,
				 false, 0, NULL, &first),
		CL_SUCCESS);
	first = new_event();
	assert_int_equal(pthread_create(&thread, NULL, submit_in_between, &second), 0);
	pthread_join(thread, NULL);
	assert_int_equal(clv_submission_end(&submission, CL_SUCCESS), CL_SUCCESS);
	assert_int_equal(wrapped.clWaitForEvents(1, &first), CL_SUCCESS);
	assert_int_equal(n_pending, 1);
	assert_in_range(n_in_flight(), 1, 2);
	assert_int_equal(wrapped.clFinish(queue), CL_SUCCESS);
	clv_cost_forget();
	clv_real.clReleaseEvent(first);
	clv_real.clReleaseEvent(second);
}

static void test_booked_in_another_order(void **state)
{
	check_booked_in_another_order(true);
}

/* In a forked child the first command makes the queue's record. */
static void test_booked_in_another_order_at_first(void **state)
{
	check_booked_in_another_order(false);
}

/* An event outlives its queue.  The driver may give the queue's handle to another one
 * later, so a wait for the event makes no record of it. */
static void test_wait_for_event_of_a_released_queue(void **state)
{
	cl_event event;

	submit(CLV_COST_MULTIPLIER, &event);
	clv_queue_release(queue);
	assert_int_equal(wrapped.clWaitForEvents(1, &event), CL_SUCCESS);
	assert_null(clv_queue_find_known(queue));
	assert_int_equal(wrapped.clFinish(queue), CL_SUCCESS);
	assert_null(clv_queue_find_known(queue));
	clv_real.clReleaseEvent(event);
}

static void *release(void *event)
{
	assert_int_equal(wrapped.clReleaseEvent(event), CL_SUCCESS);
	return NULL;
}

static void release_in_another_thread(cl_event event)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, release, event), 0);
	pthread_join(thread, NULL);
}

static cl_event retained_user_event(void)
{
	cl_int error;
	cl_event event = wrapped.clCreateUserEvent(NULL, &error);

	assert_int_equal(wrapped.clRetainEvent(event), CL_SUCCESS);
	assert_true(clv_deferred_any());
	return event;
}

/* Whichever of the two the driver has first, one is the last, and the driver may give the
 * handle to another event. */
static void test_two_threads_release_a_user_event(void **state)
{
	cl_event event = retained_user_event();

	meanwhile = release_in_another_thread;
	release(event);
	assert_null(meanwhile);
	assert_int_equal(events[0].references, 0);
	assert_false(clv_deferred_any());
}

static void *retain_and_release(void *event)
{
	for (int i = 0; i < N_COMMANDS; i++) {
		assert_int_equal(wrapped.clRetainEvent(event), CL_SUCCESS);
		release(event);
	}
	return release(event);
}

static void test_two_threads_retain_and_release(void **state)
{
	cl_event event = retained_user_event();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, retain_and_release, event), 0);
	for (int i = 0; i < N_COMMANDS; i++) {
		assert_int_equal(wrapped.clRetainEvent(event), CL_SUCCESS);
		release(event);
		assert_true(clv_deferred_any());
	}
	pthread_join(thread, NULL);
	assert_true(clv_deferred_any());
	release(event);
	assert_false(clv_deferred_any());
}

/* The program still has the reference, and may set the event. */
static void test_refused_release_of_a_user_event(void **state)
{
	cl_event event = retained_user_event();

	release_result = CL_OUT_OF_RESOURCES;
	assert_int_equal(wrapped.clReleaseEvent(event), CL_OUT_OF_RESOURCES);
	release_result = CL_SUCCESS;
	release(event);
	assert_true(clv_deferred_any());
	release(event);
	assert_false(clv_deferred_any());
}

/* A thread that has the lock of the queue's order, each time when it is told to. */
static sem_t may_lock, has_locked, may_unlock, has_unlocked;
static int n_reads; /* of the clock: one before a wait, one after each step, or none */
static uint64_t order_ns;
static bool unlocks_at_the_end;

static void *lock_twice(void *record)
{
	for (int i = 0; i < 2; i++) {
		sem_wait(&may_lock);
		assert_true(clv_cl_queue_lock_order(record));
		sem_post(&has_locked);
		sem_wait(&may_unlock);
		clv_cl_queue_unlock_order(record);
		sem_post(&has_unlocked);
	}
	return NULL;
}

static void *lock_in_a_callback(void *record)
{
	assert_true(clv_cl_queue_lock_order(record));
	lock_twice(record);
	clv_cl_queue_unlock_order(record);
	return NULL;
}

/* Time passes only in waits for the lock, of which each is as long as a wait may be. */
static int read_clock(clockid_t clock, struct timespec *ret)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*ret = (struct timespec){.tv_sec = (time_t)(order_ns / CLV_NS_PER_S)};
	n_reads++;
	if (order_ns > 0 && unlocks_at_the_end) {
		unlocks_at_the_end = false;
		sem_post(&may_unlock);
		sem_wait(&has_unlocked);
	}
	order_ns += CLV_NS_PER_S;
	return 0;
}

/* How many steps a wait for the lock takes, which is in vain. */
static int wait_in_vain(struct clv_queue *record)
{
	n_reads = 0;
	order_ns = 0;
	assert_false(clv_cl_queue_lock_order(record));
	return n_reads > 0 ? n_reads - 1 : 0;
}

static struct clv_queue *begin_locking(pthread_t *ret, void *(*run)(void *record))
{
	struct clv_queue *record = clv_queue_find(queue);

	sem_init(&may_lock, 0, 1);
	sem_init(&has_locked, 0, 0);
	sem_init(&may_unlock, 0, 0);
	sem_init(&has_unlocked, 0, 0);
	assert_int_equal(pthread_create(ret, NULL, run, record), 0);
	sem_wait(&has_locked);
	return record;
}

static void end_locking(pthread_t thread)
{
	sem_post(&may_unlock);
	pthread_join(thread, NULL);
}

/* The call ends as another thread gives up its wait: for the next call it waits again. */
static void test_order_is_waived_for_one_call(void **state)
{
	clv_vdso_clock_fn before = atomic_exchange(&clv_clock_read, read_clock);
	struct clv_queue *record;
	pthread_t thread;

	record = begin_locking(&thread, lock_twice);
	unlocks_at_the_end = true;
	assert_int_equal(wait_in_vain(record), 1);
	sem_post(&may_lock);
	sem_wait(&has_locked);
	assert_int_equal(wait_in_vain(record), 1);
	assert_int_equal(wait_in_vain(record), 0);
	end_locking(thread);
	atomic_store(&clv_clock_read, before);
}

/* A callback in the call submits too, and the call goes on. */
static void test_order_is_waived_for_the_whole_call(void **state)
{
	clv_vdso_clock_fn before = atomic_exchange(&clv_clock_read, read_clock);
	struct clv_queue *record;
	pthread_t thread;

	record = begin_locking(&thread, lock_in_a_callback);
	assert_int_equal(wait_in_vain(record), 1);
	sem_post(&may_unlock);
	sem_wait(&has_unlocked);
	assert_int_equal(wait_in_vain(record), 0);
	sem_post(&may_lock);
	end_locking(thread);
	atomic_store(&clv_clock_read, before);
}

static void CL_CALLBACK native(void *arguments)
{
	fail();
}

/* The arguments are copied behind the gate's own. */
static void test_too_many_arguments(void **state)
{
	assert_int_equal(wrapped.clEnqueueNativeKernel(queue, native, &wrapped, SIZE_MAX,
				 0, NULL, NULL, 0, NULL, NULL),
		CL_OUT_OF_HOST_MEMORY);
}

static void test_handle_is_used_again(void **state)
{
	cl_int error;

	assert_true(clv_queue_find_known(queue)->out_of_order);
	properties = 0;
	assert_ptr_equal(
		wrapped.clCreateCommandQueueWithProperties(NULL, NULL, NULL, &error),
		queue);
	assert_false(clv_queue_find_known(queue)->out_of_order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_command_in_several_queues, begin, end),
		cmocka_unit_test_setup_teardown(test_many_of_unknown_length, begin, end),
		cmocka_unit_test_setup_teardown(test_many_of_known_length, begin, end),
		cmocka_unit_test_setup_teardown(
			test_markers_complete_in_order, begin, end),
		cmocka_unit_test_setup_teardown(
			test_failed_command_hides_no_other, begin, end),
		cmocka_unit_test_setup_teardown(
			test_finished_events_are_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(test_order_needs_no_events, begin, end),
		cmocka_unit_test_setup_teardown(test_booked_in_another_order, begin, end),
		cmocka_unit_test_setup_teardown(
			test_booked_in_another_order_at_first, begin, end),
		cmocka_unit_test_setup_teardown(
			test_wait_for_event_of_a_released_queue, begin, end),
		cmocka_unit_test_setup_teardown(test_handle_is_used_again, begin, end),
		cmocka_unit_test_setup_teardown(
			test_order_is_waived_for_one_call, begin, end),
		cmocka_unit_test_setup_teardown(
			test_order_is_waived_for_the_whole_call, begin, end),
		cmocka_unit_test_setup_teardown(
			test_two_threads_release_a_user_event, begin, end),
		cmocka_unit_test_setup_teardown(
			test_two_threads_retain_and_release, begin, end),
		cmocka_unit_test_setup_teardown(
			test_refused_release_of_a_user_event, begin, end),
		cmocka_unit_test_setup_teardown(test_too_many_arguments, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
