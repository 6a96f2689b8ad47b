/* SPDX-License-Identifier: Apache-2.0 */
/* The path of every call that submits work to a stream.  Its arguments are passed to the
 * driver unread; the call is only counted and timed, and waits for its turn before the
 * driver sees it, so that the order of commands cannot change. */
#include "gate/streams/submit.h"

#include "gate/attach/attachment.h"
#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/queue/custody.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/streams/capture.h"
#include "gate/streams/copies.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"
#include "gate/window/threads.h"

/* Attaches a process that has not called cuInit, or finds that its lease has ended. */
static int find_view(struct clv_stream_submission *submission)
{
	bool is_refused = false;

	submission->view = clv_gate_view(&is_refused);
	return is_refused ? CLV_STREAM_NO_DEVICE : CLV_STREAM_SUCCESS;
}

/* Whether other leases may be waiting for the device, or hold it. */
static bool is_contended(const struct clv_view *view)
{
	enum clv_phase phase = CLV_PHASE_OF(atomic_load(&view->control->phase));

	return phase == CLV_PHASE_GRANTED || phase == CLV_PHASE_CLOSED;
}

static bool enter_as_copy(
	struct clv_stream_submission *submission, const struct clv_stream_copy *copy)
{
	if (copy && is_contended(submission->view) && clv_gate_thread.callback_depth == 0)
		submission->copy = clv_stream_take_copy(submission->queue, copy);
	return submission->copy;
}

/* A command that a callback may be waiting for does not wait: it enters and is
 * charged. */
static void enter(
	struct clv_stream_submission *submission, const struct clv_stream_copy *copy)
{
	if (enter_as_copy(submission, copy))
		return;
	if (clv_stream_note_counted(submission->queue, copy))
		submission->kind = CLV_COST_MIXED;
	clv_queue_mark_before(submission->queue, submission->kind, submission->packed);
	if (!clv_flight_enter(submission->view, &submission->queue->backlog,
		    CLV_FLIGHT_NS(submission->packed)))
		clv_flight_enter_as_debt(submission->view, submission->packed);
}

/* Finds the stream's queue; NULL: the call is passed on uncounted.  Returns an error if
 * the stream cannot be determined. */
static int find_queue(void *stream, bool is_per_thread, struct clv_queue **ret)
{
	const void *handle;
	int r = clv_stream_queue_handle(stream, is_per_thread, &handle);

	*ret = NULL;
	if (r != CLV_STREAM_SUCCESS || handle == CLV_STREAM_NO_QUEUE ||
		clv_stream_is_capturing(stream, is_per_thread))
		return r;
	*ret = clv_queue_find(handle);
	return *ret ? CLV_STREAM_SUCCESS : CLV_STREAM_OUT_OF_MEMORY;
}

static int begin(struct clv_stream_submission *submission, bool is_per_thread,
	const struct clv_stream_copy *copy)
{
	int r = CLV_STREAM_SUCCESS;

	submission->view = clv_gate_current_view();
	submission->packed = CLV_FLIGHT_PACK(clv_cost_estimate(submission->kind));
	if (CLV_UNLIKELY(!submission->view))
		r = find_view(submission);
	if (!submission->view)
		return r;
	/* Drivers do not always return this error where no call is allowed in a
	 * callback. */
	if (clv_gate_thread.callback_depth > 0 && clv_stream_driver->in_callback)
		return clv_stream_driver->in_callback;
	r = find_queue(submission->stream, is_per_thread, &submission->queue);
	/* In a forked child, or where the program never made a context itself. */
	if (submission->queue && !clv_gate_helper_is_ready()) {
		submission->queue = NULL;
		r = CLV_STREAM_OUT_OF_MEMORY;
	}
	if (!submission->queue) {
		submission->view = NULL;
		return r;
	}
	/* Before the command enters: the wait for a marker keeps nothing in flight. */
	clv_stream_before_submit(submission->queue);
	enter(submission, copy);
	/* Before the call: what other threads submit meanwhile may be incomplete after
	 * it. */
	if (submission->is_blocking) {
		submission->custody = clv_custody_take(submission->queue);
		clv_gate_wait_begin();
	}
	return CLV_STREAM_SUCCESS;
}

int clv_stream_submission_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking)
{
	*submission = (struct clv_stream_submission){
		.stream = stream, .kind = kind, .is_blocking = is_blocking};
	return begin(submission, is_per_thread, NULL);
}

int clv_stream_copy_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, const struct clv_stream_copy *copy)
{
	*submission = (struct clv_stream_submission){.stream = stream, .kind = kind};
	return begin(submission, is_per_thread, copy);
}

int clv_stream_launch_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking)
{
	int r = clv_stream_submission_begin(
		submission, stream, is_per_thread, kind, is_blocking);

	/* A captured launch runs later, and in the context in which it was captured. */
	if (r == CLV_STREAM_SUCCESS)
		clv_stream_note_launch(submission->queue, stream);
	return r;
}

static void book_complete(const struct clv_stream_submission *submission)
{
	clv_flight_leave(submission->packed);
	clv_custody_book(&submission->custody);
}

/* If the driver records no event the copy is counted after all. */
static void end_copy(const struct clv_stream_submission *submission, int result)
{
	if (result != CLV_STREAM_SUCCESS) {
		clv_copies_return(submission->copy);
	} else if (!clv_copies_mark(submission->copy, submission->stream)) {
		clv_flight_enter_as_debt(submission->view, submission->packed);
		clv_queue_book(submission->queue, submission->view, submission->kind,
			NULL, submission->packed);
	}
}

int clv_stream_submission_end(struct clv_stream_submission *submission, int result)
{
	if (!submission->view)
		return result;
	if (submission->copy) {
		end_copy(submission, result);
		return result;
	}
	if (result != CLV_STREAM_SUCCESS) {
		clv_custody_return(&submission->custody);
		clv_flight_leave(submission->packed);
	} else if (submission->is_blocking) {
		book_complete(submission);
	} else {
		clv_queue_book(submission->queue, submission->view, submission->kind,
			NULL, submission->packed);
	}
	if (submission->is_blocking)
		clv_gate_wait_end();
	return result;
}
