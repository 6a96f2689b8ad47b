/* SPDX-License-Identifier: Apache-2.0 */
/* The common path of all submissions.  A command's arguments go to the driver unread.
 * The command is only counted, timed and, if need be, delayed before the driver gets it,
 * so the order of commands cannot change. */
#include "gate/opencl/queue/submit.h"

#include "gate/attach/attachment.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/queue/deferred.h"
#include "gate/opencl/queue/queue.h"
#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/queue/custody.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"
#include "gate/window/threads.h"

/* A forked child that was refused, or a process whose lease ended, has no device. */
static cl_int check_attachment(struct clv_submission *submission)
{
	bool refused;

	submission->view = clv_gate_view(&refused);
	return refused ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
}

/* Whether a command's own event must serve as its marker: in a queue with held commands a
 * marker of the gate could wait for those as well, and where the gate's threads must not
 * call the driver they place none. */
static bool must_mark_itself(struct clv_queue *queue)
{
	return atomic_load(&queue->n_held) > 0 || clv_cl_queue(queue)->runs_in_caller;
}

static bool needs_own_event(const struct clv_submission *submission)
{
	return submission->held || must_mark_itself(submission->queue) ||
	       (!submission->blocking && clv_cl_queue_keeps_events(submission->queue));
}

static bool hold(struct clv_submission *submission, struct clv_deferred_command *command)
{
	submission->held = clv_deferred_add(command);
	submission->n_waits = command->n_waits;
	submission->wait_list = command->wait_list;
	return submission->held != NULL;
}

/* Behind a command that only the gate keeps, this thread waits as it would for a turn of
 * its own.  So no thread runs ahead without bounds. */
static enum clv_deferred_by wait_behind_held(const struct clv_deferred_command *command)
{
	enum clv_deferred_by by = clv_deferred_find_keeper_kind(command);
	struct clv_line line;

	if (by != CLV_HELD_BY_GATE || clv_gate_thread.callback_depth > 0)
		return by;
	clv_line_begin(&line);
	do {
		clv_deferred_release();
		by = clv_deferred_find_keeper_kind(command);
	} while (by == CLV_HELD_BY_GATE && clv_line_wait(&line, NULL));
	clv_line_end(&line);
	return by;
}

static void lock_order(struct clv_submission *submission)
{
	/* A blocking call would hold the lock for as long as it blocks. */
	submission->has_order_lock = !submission->blocking &&
				     atomic_load(&submission->queue->has_held) &&
				     clv_cl_queue_lock_order(submission->queue);
}

static void unlock_order(struct clv_submission *submission)
{
	if (submission->has_order_lock)
		clv_cl_queue_unlock_order(submission->queue);
	submission->has_order_lock = false;
}

/* The command is counted in, so it must not be behind a held command.  False: it is, and
 * is counted out again. */
static bool is_in_order(
	struct clv_submission *submission, const struct clv_deferred_command *command)
{
	lock_order(submission);
	if (submission->blocking || !atomic_load(&submission->queue->has_held) ||
		clv_deferred_find_keeper_kind(command) == CLV_HELD_BY_NOTHING)
		return true;
	unlock_order(submission);
	clv_flight_leave(submission->packed);
	return false;
}

/* The command is in flight or held afterwards.  Where neither is possible, it enters and
 * is charged. */
static void enter_or_hold(struct clv_submission *submission, uint64_t estimate_ns)
{
	struct clv_deferred_command command = {
		.queue = submission->queue,
		.n_waits = submission->n_waits,
		.wait_list = submission->wait_list,
		.packed = submission->packed,
		.kind = submission->kind,
	};

	for (;;) {
		if (CLV_UNLIKELY(clv_deferred_any()) &&
			wait_behind_held(&command) != CLV_HELD_BY_NOTHING)
			break;
		if (CLV_UNLIKELY(!clv_flight_enter(
			    submission->view, &submission->queue->backlog, estimate_ns)))
			break;
		if (CLV_LIKELY(is_in_order(submission, &command)))
			return;
	}
	/* A callback that blocks keeps the driver's thread until the command is complete.
	 */
	if (submission->blocking && clv_gate_thread.callback_depth > 0) {
		clv_flight_enter_as_debt(submission->view, submission->packed);
		return;
	}
	clv_queue_set_held(submission->queue);
	lock_order(submission);
	if (!hold(submission, &command))
		clv_flight_enter_as_debt(submission->view, submission->packed);
}

/* Whether a blocking call has to wait for the queue first: what is held in it is flushed
 * only when it is let go. */
static bool must_await(const struct clv_queue *queue)
{
	return atomic_load(&queue->has_held) && !queue->out_of_order &&
	       clv_gate_thread.callback_depth == 0;
}

cl_int clv_submission_begin(struct clv_submission *submission, cl_command_queue queue,
	uint64_t kind, bool blocking, cl_uint n_waits, const cl_event *wait_list,
	cl_event *event)
{
	uint64_t estimate_ns = clv_cost_estimate(kind);
	cl_int r = CL_SUCCESS;

	*submission = (struct clv_submission){
		.view = clv_gate_current_view(),
		.n_waits = n_waits,
		.wait_list = wait_list,
		.event = event,
		.blocking = blocking,
		.packed = CLV_FLIGHT_PACK(estimate_ns),
		.kind = kind,
	};
	if (CLV_UNLIKELY(!submission->view))
		r = check_attachment(submission);
	if (!submission->view)
		return r;
	submission->queue = clv_queue_find(queue);
	/* A forked child has none of the gate's threads yet. */
	if (!submission->queue || !clv_gate_threads_start())
		return CL_OUT_OF_HOST_MEMORY;

	clv_cl_queue_run_all(submission->queue);
	clv_queue_mark_before(submission->queue, kind, submission->packed);
	enter_or_hold(submission, estimate_ns);
	/* Taken before the call: what other threads submit meanwhile need not be complete
	 * after it. */
	if (blocking && !submission->held && !submission->queue->out_of_order)
		submission->custody = clv_custody_take(submission->queue);
	if (CLV_UNLIKELY(needs_own_event(submission)) && !event)
		submission->event = &submission->own_event;
	if (blocking)
		clv_gate_wait_begin();
	if (blocking && must_await(submission->queue))
		clv_cl_queue_await(submission->queue);
	return CL_SUCCESS;
}

void clv_submission_set_spans_queues(struct clv_submission *submission)
{
	submission->spans_queues = true;
	if (!submission->event)
		submission->event = &submission->own_event;
}

/* The event that the gate keeps: its own, or one more reference to the program's.  NULL:
 * the driver gave none. */
static cl_event keep_event(const struct clv_submission *submission)
{
	if (submission->own_event)
		return submission->own_event;
	if (!submission->event || !*submission->event ||
		clv_real.clRetainEvent(*submission->event) != CL_SUCCESS)
		return NULL;
	return *submission->event;
}

static void book_complete(struct clv_submission *submission)
{
	clv_flight_leave(submission->packed);
	if (submission->custody.queue)
		clv_custody_book(&submission->custody);
}

static void book_held(struct clv_submission *submission, cl_int result)
{
	cl_event event = result == CL_SUCCESS ? keep_event(submission) : NULL;

	if (result == CL_SUCCESS && !event && !submission->blocking) {
		clv_deferred_enqueued_without_event(submission->held);
		return;
	}
	if (event && submission->blocking) {
		clv_real.clReleaseEvent(event);
		event = NULL;
	}
	clv_deferred_enqueued(submission->held, event);
}

/* Books the command with its own event as marker, where the queue gets none. */
static bool book_with_event(struct clv_submission *submission)
{
	cl_event event = NULL;

	if (submission->spans_queues || must_mark_itself(submission->queue))
		event = keep_event(submission);
	if (!event)
		return false;
	clv_queue_mark_with_event(
		submission->queue, event, submission->packed, submission->kind);
	return true;
}

/* Adds the command's event to the list for the next marker. */
static void list_event(const struct clv_submission *submission)
{
	struct clv_event_list *list = &clv_cl_queue(submission->queue)->events;
	cl_event event = keep_event(submission);

	if (event)
		clv_event_list_add(list, event);
	else
		clv_event_list_note_gap(list);
}

static void book_submitted(struct clv_submission *submission)
{
	bool is_own = submission->own_event != NULL;

	if (book_with_event(submission))
		return;
	if (clv_cl_queue_keeps_events(submission->queue))
		list_event(submission);
	else
		submission->unused_event = submission->own_event;
	clv_queue_book(submission->queue, submission->view, submission->kind,
		is_own || !submission->event ? NULL : *submission->event,
		submission->packed);
}

cl_int clv_submission_end(struct clv_submission *submission, cl_int result)
{
	if (!submission->view)
		return result;
	if (submission->held) {
		book_held(submission, result);
	} else if (result != CL_SUCCESS) {
		clv_custody_return(&submission->custody);
		clv_flight_leave(submission->packed);
	} else if (submission->blocking) {
		if (submission->own_event)
			clv_real.clReleaseEvent(submission->own_event);
		book_complete(submission);
	} else {
		book_submitted(submission);
	}
	if (submission->blocking)
		clv_gate_wait_end();
	unlock_order(submission);
	if (submission->unused_event)
		clv_real.clReleaseEvent(submission->unused_event);
	return submission->event == &submission->own_event
		       ? result
		       : clv_event_return(submission->event, result);
}
