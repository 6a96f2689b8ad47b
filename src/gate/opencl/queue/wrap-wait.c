/* SPDX-License-Identifier: Apache-2.0 */
/* Waits, user events, markers and barriers: calls that submit no work.  None of them ever
 * waits for the gate.  What the program itself waits for needs no marker of the gate. */
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/queue/deferred.h"
#include "gate/opencl/queue/queue.h"
#include "gate/opencl/queue/submit.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/queue/custody.h"
#include "gate/queue/table.h"
#include "gate/window/turnstile.h"

#define MAX_CUSTODIES 16

/* After an error of an event in the list the commands are complete as well; after any
 * other error nothing was waited for. */
static void end_custody(const struct clv_custody *custody, cl_int result)
{
	if (!custody->queue)
		return;
	if (result == CL_SUCCESS ||
		result == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
		clv_custody_book(custody);
	else
		clv_custody_return(custody);
}

static cl_int CL_API_CALL wrap_clFinish(cl_command_queue queue)
{
	struct clv_custody custody = {0};
	cl_int r;

	if (clv_gate_current_view())
		custody = clv_custody_take(clv_queue_find_known(queue));
	clv_gate_wait_begin();
	r = custody.queue ? clv_cl_queue_finish(custody.queue) : clv_real.clFinish(queue);
	end_custody(&custody, r);
	clv_gate_wait_end();
	return r;
}

/* Only the last command of an in-order queue shows that those before it are complete. The
 * event keeps a queue that the program has released, for which no new record is made. */
static struct clv_custody custody_of_event(cl_event event)
{
	struct clv_custody none = {0}, taken;
	struct clv_queue *queue;
	cl_command_queue handle = NULL;

	if (clv_real.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle),
		    &handle, NULL) != CL_SUCCESS ||
		!handle)
		return none;
	queue = clv_queue_find_known(handle);
	if (!queue || queue->out_of_order || atomic_load(&queue->has_several_users) ||
		atomic_load(&queue->tail_event) != event)
		return none;
	taken = clv_custody_take(queue);
	if (atomic_load(&queue->tail_event) == event)
		return taken;
	clv_custody_return(&taken);
	return none;
}

static cl_int CL_API_CALL wrap_clWaitForEvents(cl_uint n_events, const cl_event *events)
{
	struct clv_custody custodies[MAX_CUSTODIES];
	cl_uint n = 0;
	cl_int r;

	if (clv_gate_current_view() && !clv_deferred_any()) {
		for (cl_uint i = 0; events && i < n_events && n < MAX_CUSTODIES; i++) {
			custodies[n] = custody_of_event(events[i]);
			n += custodies[n].queue != NULL;
		}
	}
	clv_gate_wait_begin();
	r = clv_real.clWaitForEvents(n_events, events);
	for (cl_uint i = 0; i < n; i++)
		end_custody(&custodies[i], r);
	clv_gate_wait_end();
	return r;
}

static cl_event CL_API_CALL wrap_clCreateUserEvent(cl_context context, cl_int *ret_error)
{
	cl_int error = CL_SUCCESS;
	cl_event event = clv_real.clCreateUserEvent(context, &error);

	if (ret_error)
		*ret_error = error;
	if (error != CL_SUCCESS)
		return NULL;
	if (event && clv_event_return(&event, CL_SUCCESS) != CL_SUCCESS && ret_error)
		*ret_error = CL_OUT_OF_RESOURCES;
	if (event)
		clv_deferred_user_event_created(event);
	return event;
}

/* Commands that waited for the event are let go as far as turn and window allow, and this
 * thread never waits: the turnstile thread does the rest.  In a callback it does
 * everything, because the driver may hold locks there that the release of an event takes.
 */
static cl_int CL_API_CALL wrap_clSetUserEventStatus(cl_event event, cl_int status)
{
	struct clv_deferred_setting setting = clv_deferred_user_event_begin_set(event);
	cl_int r = clv_real.clSetUserEventStatus(event, status);

	clv_deferred_user_event_end_set(setting, r == CL_SUCCESS);
	if (r != CL_SUCCESS)
		return r;
	if (clv_gate_thread.callback_depth > 0 ? clv_deferred_any()
					       : clv_deferred_release())
		clv_turnstile_wake();
	return r;
}

static cl_int CL_API_CALL wrap_clRetainEvent(cl_event event)
{
	cl_int r = clv_real.clRetainEvent(event);

	if (r == CL_SUCCESS && clv_deferred_any())
		clv_deferred_user_event_retained(event);
	return r;
}

static cl_int CL_API_CALL wrap_clReleaseEvent(cl_event event)
{
	struct clv_deferred_releasing releasing = {0};
	cl_int r;

	if (clv_deferred_any())
		releasing = clv_deferred_user_event_begin_release(event);
	r = clv_real.clReleaseEvent(event);
	clv_deferred_user_event_end_release(releasing, r == CL_SUCCESS);
	return r;
}

/* Markers and barriers are no work, but they may be held, and then what waits for them is
 * held too. */
static struct clv_deferred *hold(cl_command_queue handle, cl_uint n_waits,
	const cl_event *wait_list, bool is_barrier)
{
	struct clv_deferred_command command = {
		.n_waits = n_waits,
		.wait_list = wait_list,
		.is_barrier = is_barrier,
	};

	if (!clv_deferred_any() || !clv_gate_current_view())
		return NULL;
	command.queue = clv_queue_find(handle);
	if (!command.queue ||
		clv_deferred_find_keeper_kind(&command) == CLV_HELD_BY_NOTHING)
		return NULL;
	return clv_deferred_add(&command);
}

static void book(struct clv_deferred *held, cl_int result, cl_event own, cl_event *event)
{
	cl_event kept = result == CL_SUCCESS ? own : NULL;

	if (!held)
		return;
	if (!kept && result == CL_SUCCESS && event && *event &&
		clv_real.clRetainEvent(*event) == CL_SUCCESS)
		kept = *event;
	clv_deferred_enqueued(held, kept);
}

static cl_int CL_API_CALL wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue,
	cl_uint n_waits, const cl_event *wait_list, cl_event *event)
{
	struct clv_deferred *held = hold(queue, n_waits, wait_list, false);
	cl_event own = NULL;
	cl_int r = clv_real.clEnqueueMarkerWithWaitList(
		queue, n_waits, wait_list, held && !event ? &own : event);

	book(held, r, own, event);
	return clv_event_return(event, r);
}

static cl_int CL_API_CALL wrap_clEnqueueBarrierWithWaitList(cl_command_queue queue,
	cl_uint n_waits, const cl_event *wait_list, cl_event *event)
{
	struct clv_deferred *held = hold(queue, n_waits, wait_list, true);
	cl_event own = NULL;
	cl_int r = clv_real.clEnqueueBarrierWithWaitList(
		queue, n_waits, wait_list, held && !event ? &own : event);

	book(held, r, own, event);
	return clv_event_return(event, r);
}

/* The three calls of OpenCL 1.0 are these two by other names.  The driver's own could
 * hide a held command from the gate. */
static cl_int CL_API_CALL wrap_clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
	if (!clv_deferred_any())
		return clv_event_return(event, clv_real.clEnqueueMarker(queue, event));
	return wrap_clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
}

static cl_int CL_API_CALL wrap_clEnqueueBarrier(cl_command_queue queue)
{
	if (!clv_deferred_any())
		return clv_real.clEnqueueBarrier(queue);
	return wrap_clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

static cl_int CL_API_CALL wrap_clEnqueueWaitForEvents(
	cl_command_queue queue, cl_uint n_events, const cl_event *events)
{
	if (!clv_deferred_any() || n_events == 0)
		return clv_real.clEnqueueWaitForEvents(queue, n_events, events);
	return wrap_clEnqueueBarrierWithWaitList(queue, n_events, events, NULL);
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_waits(cl_icd_dispatch *table)
{
	WRAP(clFinish);
	WRAP(clWaitForEvents);
	WRAP(clCreateUserEvent);
	WRAP(clSetUserEventStatus);
	WRAP(clRetainEvent);
	WRAP(clReleaseEvent);
	WRAP(clEnqueueMarkerWithWaitList);
	WRAP(clEnqueueBarrierWithWaitList);
	WRAP(clEnqueueMarker);
	WRAP(clEnqueueBarrier);
	WRAP(clEnqueueWaitForEvents);
}
