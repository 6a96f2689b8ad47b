/* SPDX-License-Identifier: Apache-2.0 */
#include "callback.h"
#include "cmd.h"
#include "entries.h"
#include "info.h"
#include "object.h"
#include "schedule.h"
#include <stdlib.h>

/* Events, user events, waiting and callbacks. Waiting for an event flushes the queue of
 * the event and no other: a caller that waits for a chain through several queues must
 * have flushed them. */

void dcl_event_destroy(void *object)
{
	cl_event event = object;
	cl_command_queue q = event->queue;
	cl_context context = event->context;
	struct dcl_callback *cb, *next;

	for (cb = event->callbacks; cb; cb = next) {
		next = cb->next;
		free(cb);
	}
	dcl_object_recycle(event);
	if (q)
		dcl_object_unpin(q);
	dcl_object_unpin(context);
}

cl_event CL_API_CALL dcl_clCreateUserEvent(cl_context context, cl_int *errcode_ret)
{
	cl_event event;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	event = dcl_object_new(DCL_EVENT);
	if (!event)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	dcl_object_pin(context);
	event->context = context;
	event->type = CL_COMMAND_USER;
	atomic_store(&event->status, CL_SUBMITTED);
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return event;
}

cl_int CL_API_CALL dcl_clSetUserEventStatus(cl_event event, cl_int status)
{
	struct dcl_after after = {0};
	bool settable;

	if (!dcl_is(event, DCL_EVENT) || event->type != CL_COMMAND_USER)
		return CL_INVALID_EVENT;
	if (status > CL_COMPLETE)
		return CL_INVALID_VALUE;
	dcl_sched_lock();
	settable = atomic_load(&event->status) > CL_COMPLETE;
	if (settable) {
		dcl_sched_event_status(event, status, &after);
		dcl_sched_settle(&after);
	}
	dcl_sched_unlock(&after);
	return settable ? CL_SUCCESS : CL_INVALID_OPERATION;
}

cl_int CL_API_CALL dcl_clRetainEvent(cl_event event)
{
	return dcl_object_retain(event, DCL_EVENT);
}

cl_int CL_API_CALL dcl_clReleaseEvent(cl_event event)
{
	return dcl_object_release(event, DCL_EVENT);
}

cl_int CL_API_CALL dcl_clWaitForEvents(cl_uint n, const cl_event *list)
{
	struct dcl_link inline_links[8], *links = inline_links;
	struct dcl_waiter waiter = {0};
	struct dcl_after after = {0};
	cl_int status;

	if (n == 0 || !list)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n; i++) {
		if (!dcl_is(list[i], DCL_EVENT))
			return CL_INVALID_EVENT;
		if (list[i]->context != list[0]->context)
			return CL_INVALID_CONTEXT;
	}
	if (n > DCL_ROWS(inline_links)) {
		links = calloc(n, sizeof(*links));
		if (!links)
			return CL_OUT_OF_HOST_MEMORY;
	}
	for (cl_uint i = 0; i < n; i++)
		if (list[i]->queue && atomic_load(&list[i]->status) == CL_QUEUED)
			dcl_queue_flush(list[i]->queue);

	dcl_sched_lock();
	for (cl_uint i = 0; i < n; i++)
		dcl_sched_wait_event(list[i], &links[i], &waiter);
	dcl_sched_unlock(&after);
	status = dcl_waiter_wait(&waiter);
	if (links != inline_links)
		free(links);
	return status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

static void run_event_callback(struct dcl_callback *cb)
{
	void(CL_CALLBACK * fn)(cl_event, cl_int, void *) = cb->function;
	cl_event event = cb->object;

	fn(event, cb->status, cb->user);
	free(cb);
	dcl_object_unpin(event);
}

cl_int CL_API_CALL dcl_clSetEventCallback(cl_event event, cl_int type,
	void(CL_CALLBACK *fn)(cl_event, cl_int, void *), void *user)
{
	struct dcl_after after = {0};
	struct dcl_callback *cb;
	cl_int status;

	if (!dcl_is(event, DCL_EVENT))
		return CL_INVALID_EVENT;
	if (!fn || (type != CL_SUBMITTED && type != CL_RUNNING && type != CL_COMPLETE))
		return CL_INVALID_VALUE;
	cb = dcl_callback_new(run_event_callback, event, NULL, user);
	if (!cb)
		return CL_OUT_OF_HOST_MEMORY;
	cb->function = (void *)fn;
	cb->status = type;
	dcl_object_pin(event);

	dcl_sched_lock();
	status = atomic_load(&event->status);
	if (status <= type) {
		if (status < 0)
			cb->status = status;
		dcl_callback_post(cb);
	} else {
		cb->next = event->callbacks;
		event->callbacks = cb;
	}
	dcl_sched_unlock(&after);
	return CL_SUCCESS;
}

static const void *event_status(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_event *event = object;
	cl_int *status = scratch;

	*status = atomic_load_explicit(&event->status, memory_order_acquire);
	*bytes = sizeof(*status);
	return status;
}

/* clang-format off */
static const struct dcl_info event_info[] = {
	DCL_F(CL_EVENT_COMMAND_QUEUE, struct _cl_event, queue),
	DCL_F(CL_EVENT_CONTEXT, struct _cl_event, context),
	DCL_F(CL_EVENT_COMMAND_TYPE, struct _cl_event, type),
	DCL_M(CL_EVENT_COMMAND_EXECUTION_STATUS, event_status),
	DCL_REFS(CL_EVENT_REFERENCE_COUNT),
};
static const struct dcl_info profiling_info[] = {
	DCL_F(CL_PROFILING_COMMAND_QUEUED, struct _cl_event, queued_ns),
	DCL_F(CL_PROFILING_COMMAND_SUBMIT, struct _cl_event, submit_ns),
	DCL_F(CL_PROFILING_COMMAND_START, struct _cl_event, start_ns),
	DCL_F(CL_PROFILING_COMMAND_END, struct _cl_event, end_ns),
	DCL_F(CL_PROFILING_COMMAND_COMPLETE, struct _cl_event, end_ns),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetEventInfo(
	cl_event event, cl_event_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(event, DCL_EVENT))
		return CL_INVALID_EVENT;
	return dcl_info_get(
		event_info, DCL_ROWS(event_info), event, param, bytes, ret, ret_bytes);
}

cl_int CL_API_CALL dcl_clGetEventProfilingInfo(cl_event event, cl_profiling_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(event, DCL_EVENT))
		return CL_INVALID_EVENT;
	if (!event->profiled ||
		atomic_load_explicit(&event->status, memory_order_acquire) != CL_COMPLETE)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return dcl_info_get(profiling_info, DCL_ROWS(profiling_info), event, param, bytes,
		ret, ret_bytes);
}
