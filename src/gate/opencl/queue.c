/* SPDX-License-Identifier: Apache-2.0 */
/* What the common part cannot know of a command queue.  A marker is followed by a flush,
 * because nothing obliges a driver to start work that was never flushed. */
#include "gate/opencl/queue.h"

#include "gate/opencl/real.h"

static cl_command_queue handle_of(const struct clv_queue *queue)
{
	return (cl_command_queue)queue->handle;
}

static void begin_queue(struct clv_queue *queue)
{
	cl_command_queue_properties properties = 0;
	pthread_mutexattr_t attributes;

	clv_real.clGetCommandQueueInfo(handle_of(queue), CL_QUEUE_PROPERTIES,
		sizeof(properties), &properties, NULL);
	clv_real.clGetCommandQueueInfo(handle_of(queue), CL_QUEUE_CONTEXT,
		sizeof(queue->context), &queue->context, NULL);
	queue->out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&clv_cl_queue(queue)->order_lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

static void *mark(struct clv_queue *queue)
{
	cl_event event = NULL;

	if (clv_real.clEnqueueMarkerWithWaitList(handle_of(queue), 0, NULL, &event) !=
		CL_SUCCESS)
		return NULL;
	return event;
}

static void flush(struct clv_queue *queue)
{
	clv_real.clFlush(handle_of(queue));
}

static void wait_for_event(struct clv_queue *queue, void *event)
{
	cl_event awaited = event;

	(void)queue;
	clv_real.clWaitForEvents(1, &awaited);
}

static void release_event(struct clv_queue *queue, void *event)
{
	(void)queue;
	clv_real.clReleaseEvent(event);
}

const struct clv_queue_ops clv_cl_queue_ops = {
	.record_bytes = sizeof(struct clv_cl_queue),
	.begin = begin_queue,
	.mark = mark,
	.flush = flush,
	.wait_for_event = wait_for_event,
	.release_event = release_event,
};
