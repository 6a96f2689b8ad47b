/* SPDX-License-Identifier: Apache-2.0 */
/* What every call that gives a stream work goes through.  Its arguments are the driver's
 * business; here it is only counted and timed, and waits for its turn before the driver
 * sees it, so that no order between commands can change. */
#include "gate/streams/submit.h"

#include "gate/streams/driver.h"

/* A process that never said cuInit, or a lease that ended. */
static int find_view(struct clv_stream_submission *submission)
{
	bool is_refused = false;

	submission->view = clv_gate_view(&is_refused);
	return is_refused ? CLV_STREAM_NO_DEVICE : CLV_STREAM_SUCCESS;
}

/* What a callback may be waiting for does not wait itself: it is paid for. */
static void enter(struct clv_stream_submission *submission, uint64_t estimate_ns)
{
	if (!clv_flight_enter(submission->view, &submission->queue->backlog, estimate_ns))
		clv_flight_enter_as_debt(submission->view, submission->packed);
}

int clv_stream_submission_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking)
{
	uint64_t estimate_ns = clv_cost_estimate(kind);
	int r = CLV_STREAM_SUCCESS;
	const void *handle;

	/* Other libraries than the streams' may have attached the process. */
	clv_stream_driver.load();
	*submission = (struct clv_stream_submission){
		.view = clv_gate_peek(),
		.packed = CLV_FLIGHT_PACK(estimate_ns),
		.kind = kind,
		.is_blocking = is_blocking,
	};
	if (CLV_UNLIKELY(!submission->view))
		r = find_view(submission);
	if (!submission->view)
		return r;
	/* Where no call is allowed in a callback drivers do not always say so. */
	if (clv_gate_thread.callback_depth > 0 && clv_stream_driver.in_callback)
		return clv_stream_driver.in_callback;
	handle = clv_stream_queue_handle(stream, is_per_thread);
	if (handle != CLV_STREAM_NO_QUEUE &&
		!clv_stream_is_capturing(stream, is_per_thread))
		submission->queue = clv_queue_find(handle);
	if (!submission->queue) {
		submission->view = NULL;
		return CLV_STREAM_SUCCESS;
	}
	enter(submission, estimate_ns);
	/* Before the call: what others submit meanwhile need not be complete after it. */
	if (is_blocking) {
		submission->custody = clv_custody_take(submission->queue);
		clv_gate_wait_begin();
	} else {
		submission->is_ordered = clv_stream_order_begin(submission->queue);
	}
	return CLV_STREAM_SUCCESS;
}

int clv_stream_launch_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking)
{
	int r = clv_stream_submission_begin(
		submission, stream, is_per_thread, kind, is_blocking);

	/* What is captured is launched later, and where it was captured. */
	if (r == CLV_STREAM_SUCCESS)
		clv_stream_note_launch(submission->queue, stream);
	return r;
}

static void book_complete(const struct clv_stream_submission *submission)
{
	clv_flight_leave(submission->packed);
	clv_custody_book(&submission->custody);
}

int clv_stream_submission_end(struct clv_stream_submission *submission, int result)
{
	if (!submission->view)
		return result;
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
	if (submission->is_ordered)
		clv_stream_order_end(submission->queue);
	return result;
}
