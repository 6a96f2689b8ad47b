/* SPDX-License-Identifier: Apache-2.0 */
/* What every submission goes through.  The command's arguments are the vendor's business;
 * here it is only counted, timed and, if need be, held back before the vendor sees it, so
 * that no order between commands can change. */
#include "gate/opencl/submit.h"

#include "gate/opencl/real.h"

/* A child that was refused, or a process whose lease ended: no device. */
static cl_int check_attachment(struct clv_submission *submission)
{
	bool refused;

	submission->view = clv_gate_view(&refused);
	return refused ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
}

/* Whether the command's own event must serve as its marker: in a queue that holds blocked
 * commands a marker of ours would wait for those as well. */
static bool needs_own_event(const struct clv_submission *submission)
{
	return submission->blocked || atomic_load(&submission->queue->n_blocked) > 0;
}

cl_int clv_submission_begin(struct clv_submission *submission, cl_command_queue queue,
	uint64_t kind, bool blocking, cl_uint n_waits, const cl_event *wait_list,
	cl_event *event)
{
	uint64_t estimate_ns = clv_cost_estimate(kind);
	cl_int r = CL_SUCCESS;

	submission->event = event;
	submission->own_event = NULL;
	submission->blocked = NULL;
	submission->custody = (struct clv_custody){0};
	submission->blocking = blocking;
	submission->kind = kind;
	submission->packed = CLV_FLIGHT_PACK(estimate_ns);
	submission->view = clv_gate_peek();
	if (__builtin_expect(!submission->view, 0))
		r = check_attachment(submission);
	if (!submission->view)
		return r;
	submission->queue = clv_queue_find(queue);
	if (!submission->queue)
		return CL_OUT_OF_HOST_MEMORY;

	/* Who holds work back and lets it go at once is in debt afterwards.  Here it is
	 * paid: nothing else would ever make such a program wait. */
	if (__builtin_expect(clv_blocked_any(), 0)) {
		clv_flight_wait_for_turn(submission->view);
		submission->blocked = clv_blocked_classify(submission->queue, n_waits,
			wait_list, submission->packed, kind, false);
	}
	if (!submission->blocked)
		clv_flight_enter(submission->view, estimate_ns);
	/* Before the call: what others submit meanwhile need not be complete after it. */
	if (blocking && !submission->blocked && !submission->queue->out_of_order)
		submission->custody = clv_custody_take(submission->queue);
	if (__builtin_expect(needs_own_event(submission), 0) && !event)
		submission->event = &submission->own_event;
	return CL_SUCCESS;
}

/* The event that the gate keeps: its own, or one more reference to the program's. */
static cl_event keep_event(const struct clv_submission *submission)
{
	if (submission->own_event)
		return submission->own_event;
	if (!submission->event || !*submission->event)
		return NULL;
	clv_real.clRetainEvent(*submission->event);
	return *submission->event;
}

static void book_complete(struct clv_submission *submission)
{
	clv_flight_leave(submission->packed);
	if (submission->custody.queue)
		clv_custody_book(&submission->custody);
}

static void book_blocked(struct clv_submission *submission, cl_int result)
{
	cl_event event = result == CL_SUCCESS ? keep_event(submission) : NULL;

	if (event && submission->blocking) {
		clv_real.clReleaseEvent(event);
		event = NULL;
	}
	clv_blocked_enqueued(submission->blocked, event);
}

static void book_submitted(struct clv_submission *submission)
{
	struct clv_cl_queue *queue = submission->queue;
	bool is_own = submission->own_event != NULL;
	uint64_t unmarked;

	if (is_own)
		clv_real.clReleaseEvent(submission->own_event);
	clv_queue_note_kind(queue, submission->kind);
	unmarked = clv_queue_submitted(
		queue, is_own ? NULL : submission->event, submission->packed);
	if (CLV_FLIGHT_NS(submission->packed) == 0 ||
		clv_flight_fills_marker(submission->view, unmarked) ||
		clv_flight_wants_marker_now(submission->view,
			atomic_load(&queue->n_markers), atomic_load(&queue->sync_style)))
		clv_queue_mark(queue);
}

cl_int clv_submission_end(struct clv_submission *submission, cl_int result)
{
	if (!submission->view)
		return result;
	if (submission->blocked) {
		book_blocked(submission, result);
	} else if (result != CL_SUCCESS) {
		clv_custody_return(&submission->custody);
		clv_flight_leave(submission->packed);
	} else if (submission->blocking) {
		if (submission->own_event)
			clv_real.clReleaseEvent(submission->own_event);
		book_complete(submission);
	} else if (atomic_load(&submission->queue->n_blocked) > 0 && submission->event) {
		clv_queue_mark_with_event(submission->queue, keep_event(submission),
			submission->packed, submission->kind);
	} else {
		book_submitted(submission);
	}
	return result;
}
