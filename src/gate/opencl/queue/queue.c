/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of command queues that the common code needs.  A marker is followed by a
 * flush, because nothing obliges a driver to start work that was never flushed. */
#include "gate/opencl/queue/queue.h"

#include "base/clock.h"
#include "base/units.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/queue/table.h"

#include <string.h>
#include <time.h>

#define POLL_NS 1000000
#define FINISH_NS (10 * CLV_NS_PER_S)

static cl_command_queue handle_of(const struct clv_queue *queue)
{
	return (cl_command_queue)queue->handle;
}

static void get_platform_name(cl_command_queue queue, char ret[64])
{
	cl_device_id device = NULL;
	cl_platform_id platform = NULL;

	clv_real.clGetCommandQueueInfo(
		queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	if (device)
		clv_real.clGetDeviceInfo(
			device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	memset(ret, 0, 64);
	if (platform)
		clv_real.clGetPlatformInfo(platform, CL_PLATFORM_NAME, 63, ret, NULL);
}

/* Drivers are recognized by name, because the workarounds cost something: a marker with
 * each finish, which newer versions of rusticl do not need, and with oclgrind everything
 * that could run beside the program. */
static void note_habits(struct clv_queue *queue)
{
	struct clv_cl_queue *own = clv_cl_queue(queue);
	char name[64];

	get_platform_name(handle_of(queue), name);
	own->forgets_flushed = strcmp(name, "rusticl") == 0;
	own->runs_in_caller = strcmp(name, "Oclgrind") == 0;
	/* No command may take the fast path, which does not finish the queues. */
	if (own->runs_in_caller)
		clv_queue_set_held(queue);
}

static void begin_queue(struct clv_queue *queue)
{
	cl_command_queue_properties properties = 0;

	clv_real.clGetCommandQueueInfo(handle_of(queue), CL_QUEUE_PROPERTIES,
		sizeof(properties), &properties, NULL);
	clv_real.clGetCommandQueueInfo(handle_of(queue), CL_QUEUE_CONTEXT,
		sizeof(queue->context), &queue->context, NULL);
	note_habits(queue);
	queue->out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	if (queue->out_of_order)
		atomic_store(&queue->is_never_quick, 1);
	clv_call_lock_init(&clv_cl_queue(queue)->order_lock);
	clv_event_list_begin(&clv_cl_queue(queue)->events);
}

static void end_queue(struct clv_queue *queue)
{
	struct clv_event_list *list = &clv_cl_queue(queue)->events;

	clv_event_list_drop(list, clv_event_list_count(list));
}

bool clv_cl_queue_lock_order(struct clv_queue *queue)
{
	return clv_call_lock(&clv_cl_queue(queue)->order_lock);
}

void clv_cl_queue_unlock_order(struct clv_queue *queue)
{
	clv_call_unlock(&clv_cl_queue(queue)->order_lock);
}

/* Enqueues a marker behind everything in the queue. */
static cl_event enqueue_marker(struct clv_queue *queue)
{
	cl_event event = NULL;

	if (clv_real.clEnqueueMarkerWithWaitList(handle_of(queue), 0, NULL, &event) !=
		CL_SUCCESS)
		return NULL;
	return event;
}

/* For a command without an event only a marker shows completion, and only one behind
 * everything. */
static void *mark(struct clv_queue *queue)
{
	struct clv_event_list *list = &clv_cl_queue(queue)->events;
	bool has_gap = atomic_exchange(&list->has_gap, 0);
	void *events = clv_event_list_take(list);
	cl_event marker;

	if (events && !has_gap)
		return events;
	marker = enqueue_marker(queue);
	if (!marker)
		clv_event_list_note_gap(list);
	if (events)
		clv_event_marker_release(list, events);
	return marker;
}

/* In the place of a marker: the end of all work of the queue. */
static char end_of_queue;

/* Takes no memory of the driver's. */
static void *mark_end(struct clv_queue *queue)
{
	struct clv_cl_queue *own = clv_cl_queue(queue);

	if (own->runs_in_caller ||
		clv_real.clRetainCommandQueue(handle_of(queue)) != CL_SUCCESS)
		return NULL;
	own->kept = handle_of(queue);
	return &end_of_queue;
}

static void unmark(struct clv_queue *queue)
{
	clv_event_list_note_gap(&clv_cl_queue(queue)->events);
}

static void flush(struct clv_queue *queue)
{
	/* Mostly called by the helper, in which nothing may run. */
	if (clv_cl_queue(queue)->runs_in_caller)
		return;
	/* Counted before the flush, for clv_cl_queue_finish. */
	atomic_fetch_add(&clv_cl_queue(queue)->n_flushes, 1);
	clv_real.clFlush(handle_of(queue));
}

void clv_cl_queue_await(struct clv_queue *queue)
{
	cl_event event = enqueue_marker(queue);

	if (!event)
		return;
	atomic_store(&queue->unflushed, 0);
	flush(queue);
	clv_real.clWaitForEvents(1, &event);
	clv_real.clReleaseEvent(event);
}

/* A held command may wait for this thread, and what waits for that command is held as
 * well. */
static bool may_run(const struct clv_queue *queue)
{
	return clv_backlog_in_flight(&queue->backlog) > 0 &&
	       atomic_load(&queue->n_held) == 0 && !atomic_load(&queue->released);
}

void clv_cl_queue_run_all(struct clv_queue *queue)
{
	struct clv_table_walk walk = {0};

	if (!clv_cl_queue(queue)->runs_in_caller || clv_gate_thread.callback_depth > 0)
		return;
	clv_gate_wait_begin();
	while ((queue = clv_table_next(&walk))) {
		if (may_run(queue))
			clv_real.clFinish(handle_of(queue));
	}
	clv_gate_wait_end();
}

static cl_int finish_flushed(struct clv_queue *queue)
{
	struct clv_cl_queue *own = clv_cl_queue(queue);
	uint32_t n = atomic_load(&own->n_flushes);
	cl_int r;

	if (own->forgets_flushed && n != atomic_load(&own->n_flushes_finished))
		clv_real.clEnqueueMarkerWithWaitList(handle_of(queue), 0, NULL, NULL);
	r = clv_real.clFinish(handle_of(queue));
	if (r == CL_SUCCESS)
		atomic_store(&own->n_flushes_finished, n);
	return r;
}

cl_int clv_cl_queue_finish(struct clv_queue *queue)
{
	struct clv_cl_queue *own = clv_cl_queue(queue);
	uint64_t before = clv_event_list_count(&own->events);
	cl_int r;

	if (atomic_load(&queue->has_held))
		clv_cl_queue_await(queue);
	r = finish_flushed(queue);
	/* The helper may have flushed the queue just before the finish. */
	if (r == CL_SUCCESS && own->forgets_flushed &&
		atomic_load(&own->n_flushes) != atomic_load(&own->n_flushes_finished))
		r = finish_flushed(queue);
	if (r == CL_SUCCESS)
		clv_event_list_drop(&own->events, before);
	else
		clv_event_list_note_gap(&own->events);
	return r;
}

/* The program may have released the queue.  For want of memory it is tried again; if it
 * fails otherwise the device does, and nothing of the queue runs any more. */
static void finish_kept(const struct clv_cl_queue *own)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	uint64_t until_ns = clv_clock_ns() + FINISH_NS;
	cl_int marked = CL_SUCCESS, r;

	do {
		if (own->forgets_flushed)
			marked = clv_real.clEnqueueMarkerWithWaitList(
				own->kept, 0, NULL, NULL);
		r = clv_real.clFinish(own->kept);
		if (marked != CL_OUT_OF_HOST_MEMORY && r != CL_OUT_OF_HOST_MEMORY)
			return;
		nanosleep(&pause, NULL);
	} while (clv_clock_ns() < until_ns);
}

static void wait_for_event(struct clv_queue *queue, void *event)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	cl_int status = CL_QUEUED;

	if (event == &end_of_queue) {
		finish_kept(clv_cl_queue(queue));
		return;
	}
	if (!clv_cl_queue(queue)->runs_in_caller) {
		/* A driver that cannot wait has not said that the work is complete. */
		if (!clv_event_marker_wait(event)) {
			while (!clv_event_marker_is_complete(event))
				nanosleep(&pause, NULL);
		}
		return;
	}
	while (clv_real.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
		       sizeof(status), &status, NULL) == CL_SUCCESS &&
		status > CL_COMPLETE)
		nanosleep(&pause, NULL);
}

static void release_event(struct clv_queue *queue, void *event)
{
	if (event == &end_of_queue)
		clv_real.clReleaseCommandQueue(clv_cl_queue(queue)->kept);
	else
		clv_event_marker_release(&clv_cl_queue(queue)->events, event);
}

static bool is_complete_aside(struct clv_queue *queue, void *event)
{
	(void)queue;
	return event != &end_of_queue && clv_event_marker_is_complete(event);
}

const struct clv_queue_ops clv_cl_queue_ops = {
	.record_bytes = sizeof(struct clv_cl_queue),
	.begin = begin_queue,
	.end = end_queue,
	.mark = mark,
	.mark_end = mark_end,
	.unmark = unmark,
	.flush = flush,
	.wait_for_event = wait_for_event,
	.release_event = release_event,
	.is_complete_aside = is_complete_aside,
};
