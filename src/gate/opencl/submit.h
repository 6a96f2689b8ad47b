/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/opencl/held.h"
#include "gate/opencl/queues.h"

/* One call that submits a command: begin, the vendor's call, end. */
struct clv_submission {
	struct clv_view *view; /* NULL: ungated, the call just passes */
	struct clv_cl_queue *queue;
	struct clv_held *held; /* not in flight yet */
	/* What the vendor's call gets in place of the program's arguments. */
	cl_uint n_waits;
	const cl_event *wait_list;
	cl_event *event;
	cl_event own_event;
	bool has_order_lock;
	bool blocking;              /* returns when the command is complete */
	struct clv_custody custody; /* blocking: all before it in an in-order queue */
	uint64_t packed;
	uint64_t kind;
};

/* Waits for the turn.  CL_SUCCESS, or the error that the program gets in place of its
 * call. wait_list and event are the program's own arguments. */
cl_int clv_submission_begin(struct clv_submission *submission, cl_command_queue queue,
	uint64_t kind, bool blocking, cl_uint n_waits, const cl_event *wait_list,
	cl_event *event);

/* Books the outcome and returns it. */
cl_int clv_submission_end(struct clv_submission *submission, cl_int result);

/* The common case, inline: an attached process that nobody contends with, no callback
 * (there last_queue is never set), a queue seen before, a command of known length that
 * does not block, nothing held.  True: the command is counted in, make the call
 * and end it with clv_quick_end.  False: nothing happened, take the long way. */
struct clv_quick {
	struct clv_view *view;
	struct clv_cl_queue *queue;
	uint64_t packed;
};

CLV_HOT bool clv_quick_begin(
	struct clv_quick *quick, cl_command_queue queue, uint64_t kind, bool blocking)
{
	const struct clv_cost *cost = clv_cost_of(kind);

	if (CLV_UNLIKELY(atomic_load_explicit(&cost->key, memory_order_relaxed) != kind))
		return false;
	quick->view = clv_gate_peek();
	quick->queue = clv_gate_thread.last_queue;
	quick->packed = CLV_FLIGHT_PACK(
		(uint64_t)atomic_load_explicit(&cost->estimate_ns, memory_order_relaxed));
	if (CLV_UNLIKELY(
		    !quick->view || quick->queue->handle != queue || blocking ||
		    clv_held_any() ||
		    atomic_load_explicit(&quick->queue->has_held, memory_order_relaxed)))
		return false;
	if (CLV_UNLIKELY(!clv_flight_quick_enter(quick->view, quick->packed)))
		return false;
	clv_queue_note_kind(quick->queue, kind);
	return true;
}

CLV_HOT cl_int clv_quick_end(
	const struct clv_quick *quick, const cl_event *event, cl_int result)
{
	uint64_t unmarked;

	if (CLV_UNLIKELY(result != CL_SUCCESS)) {
		clv_flight_leave(quick->packed);
		return result;
	}
	unmarked = clv_queue_submitted(quick->queue, event, quick->packed);
	if (CLV_UNLIKELY(clv_flight_fills_marker(quick->view, unmarked)))
		clv_queue_mark(quick->queue);
	return result;
}
