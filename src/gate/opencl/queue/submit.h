/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/queue/custody.h"

struct clv_deferred;
struct clv_queue;
struct clv_view;

/* One call that submits a command: begin, the driver's call, end. */
struct clv_submission {
	struct clv_view *view; /* NULL: ungated, and the call passes */
	struct clv_queue *queue;
	struct clv_deferred *held; /* not in flight yet */
	/* What the driver's call gets in place of the program's arguments. */
	cl_uint n_waits;
	const cl_event *wait_list;
	cl_event *event;
	cl_event own_event;
	cl_event unused_event; /* released last, because that may run callbacks */
	bool has_order_lock;
	bool spans_queues;
	bool blocking;              /* returns when the command is complete */
	struct clv_custody custody; /* blocking: of everything before it in an in-order
				     * queue */
	uint64_t packed;
	uint64_t kind;
};

/* Waits for the turn.  CL_SUCCESS, or the error that the program gets in place of its
 * call. wait_list and event are the program's own arguments. */
cl_int clv_submission_begin(struct clv_submission *submission, cl_command_queue queue,
	uint64_t kind, bool blocking, cl_uint n_waits, const cl_event *wait_list,
	cl_event *event);

/* The command's work is in other queues of the device, too, so that a marker in its own
 * queue may be complete before it.  To be called after begin. */
void clv_submission_set_spans_queues(struct clv_submission *submission);

/* What the program gets: the command's result, and its event if calls by that reach the
 * gate; otherwise an error. */
static inline cl_int clv_event_return(cl_event *event, cl_int result)
{
	if (!event || result != CL_SUCCESS || !*event || clv_vendor_is_gated(*event))
		return result;
	clv_real.clReleaseEvent(*event);
	*event = NULL;
	return CL_OUT_OF_RESOURCES;
}

/* Books the outcome and returns it. */
cl_int clv_submission_end(struct clv_submission *submission, cl_int result);
