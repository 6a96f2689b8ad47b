/* SPDX-License-Identifier: Apache-2.0 */
#include "alive.h"
#include "cmd.h"
#include "entries.h"
#include "info.h"
#include "knobs.h"
#include "object.h"
#include <string.h>

/* Command queues as objects; cmd.c and schedule.c handle their contents. The last release
 * of a queue flushes it, an earlier one does not: the stricter of the two readings of the
 * specification. */

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static cl_command_queue live;
static uint64_t dead_enqueued, dead_kernels, dead_flushes, dead_completed;

#define HOST_PROPERTIES \
	(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)

static void live_add(cl_command_queue q)
{
	pthread_mutex_lock(&live_lock);
	q->next_live = live;
	if (live)
		live->prev_live = &q->next_live;
	q->prev_live = &live;
	live = q;
	pthread_mutex_unlock(&live_lock);
}

static void live_remove(cl_command_queue q)
{
	pthread_mutex_lock(&live_lock);
	*q->prev_live = q->next_live;
	if (q->next_live)
		q->next_live->prev_live = q->prev_live;
	dead_enqueued += dcl_load(&q->enqueued);
	dead_kernels += dcl_load(&q->kernels);
	dead_flushes += dcl_load(&q->flushes);
	dead_completed += dcl_load(&q->completed);
	pthread_mutex_unlock(&live_lock);
}

void dcl_queues_count(
	uint64_t *enqueued, uint64_t *kernels, uint64_t *flushes, uint64_t *completed)
{
	pthread_mutex_lock(&live_lock);
	*enqueued = dead_enqueued;
	*kernels = dead_kernels;
	*flushes = dead_flushes;
	*completed = dead_completed;
	for (cl_command_queue q = live; q; q = q->next_live) {
		*enqueued += dcl_load(&q->enqueued);
		*kernels += dcl_load(&q->kernels);
		*flushes += dcl_load(&q->flushes);
		*completed += dcl_load(&q->completed);
	}
	pthread_mutex_unlock(&live_lock);
}

void dcl_queues_finish_context(cl_context context)
{
	cl_command_queue queues[64];
	unsigned n = 0;

	pthread_mutex_lock(&live_lock);
	for (cl_command_queue q = live; q && n < DCL_ROWS(queues); q = q->next_live)
		if (q->context == context && dcl_is(q, DCL_QUEUE)) {
			dcl_object_pin(q);
			queues[n++] = q;
		}
	pthread_mutex_unlock(&live_lock);
	while (n--) {
		dcl_queue_finish(queues[n]);
		dcl_object_unpin(queues[n]);
	}
}

static cl_int read_properties(const cl_queue_properties *list, cl_command_queue q)
{
	size_t n = 0;

	for (; list && list[n]; n += 2) {
		cl_queue_properties value = list[n + 1];

		if (n + 3 > DCL_ROWS(q->prop_list))
			return CL_INVALID_VALUE;
		switch (list[n]) {
		case CL_QUEUE_PROPERTIES:
			if (value & CL_QUEUE_ON_DEVICE)
				return CL_INVALID_QUEUE_PROPERTIES;
			if (value & ~(cl_queue_properties)HOST_PROPERTIES)
				return CL_INVALID_VALUE;
			q->props = value;
			break;
		case CL_QUEUE_PRIORITY_KHR:
			if (value != CL_QUEUE_PRIORITY_HIGH_KHR &&
				value != CL_QUEUE_PRIORITY_MED_KHR &&
				value != CL_QUEUE_PRIORITY_LOW_KHR)
				return CL_INVALID_VALUE;
			break;
		default:
			return CL_INVALID_VALUE;
		}
		q->prop_list[n] = list[n];
		q->prop_list[n + 1] = value;
	}
	q->prop_list_bytes = list ? (n + 1) * sizeof(*list) : 0;
	return CL_SUCCESS;
}

static bool context_has(cl_context context, cl_device_id device)
{
	for (cl_uint i = 0; i < context->n_devices; i++)
		if (context->devices[i] == device)
			return true;
	return false;
}

/* Recursive, because a loose finish keeps it while it enqueues and flushes. */
static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	if (dcl_knobs.loose_finish)
		pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

cl_command_queue CL_API_CALL dcl_clCreateCommandQueueWithProperties(cl_context context,
	cl_device_id device, const cl_queue_properties *properties, cl_int *errcode_ret)
{
	struct _cl_command_queue probe = {0};
	cl_command_queue q;
	cl_int rc;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (!dcl_is(device, DCL_DEVICE) || !context_has(context, device))
		return dcl_fail(errcode_ret, CL_INVALID_DEVICE);
	rc = read_properties(properties, &probe);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	if (!dcl_alive())
		return dcl_fail(errcode_ret, CL_OUT_OF_RESOURCES);

	q = dcl_object_new(DCL_QUEUE);
	if (!q)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	q->props = probe.props;
	memcpy(q->prop_list, probe.prop_list, sizeof(q->prop_list));
	q->prop_list_bytes = probe.prop_list_bytes;
	q->context = context;
	q->device = device;
	dcl_object_pin(context);
	dcl_object_pin(device);
	init_lock(&q->lock);
	live_add(q);
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return q;
}

cl_command_queue CL_API_CALL dcl_clCreateCommandQueueWithPropertiesKHR(cl_context context,
	cl_device_id device, const cl_queue_properties_khr *properties,
	cl_int *errcode_ret)
{
	return dcl_clCreateCommandQueueWithProperties(
		context, device, (const cl_queue_properties *)properties, errcode_ret);
}

cl_command_queue CL_API_CALL dcl_clCreateCommandQueue(cl_context context,
	cl_device_id device, cl_command_queue_properties properties, cl_int *errcode_ret)
{
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_command_queue q;

	q = dcl_clCreateCommandQueueWithProperties(context, device, list, errcode_ret);
	if (q)
		q->prop_list_bytes = 0;
	return q;
}

void dcl_queue_destroy(void *object)
{
	cl_command_queue q = object;

	live_remove(q);
	dcl_queue_free_slabs(q);
	pthread_mutex_destroy(&q->lock);
	dcl_object_unpin(q->device);
	dcl_object_unpin(q->context);
	dcl_object_recycle(q);
}

cl_int CL_API_CALL dcl_clRetainCommandQueue(cl_command_queue q)
{
	return dcl_object_retain(q, DCL_QUEUE);
}

cl_int CL_API_CALL dcl_clReleaseCommandQueue(cl_command_queue q)
{
	if (dcl_is(q, DCL_QUEUE) && dcl_object_users(q) == 1)
		dcl_queue_flush(q);
	return dcl_object_release(q, DCL_QUEUE);
}

static uint64_t no_size(const void *object)
{
	return 0;
}

/* clang-format off */
static const struct dcl_info queue_info[] = {
	DCL_F(CL_QUEUE_CONTEXT, struct _cl_command_queue, context),
	DCL_F(CL_QUEUE_DEVICE, struct _cl_command_queue, device),
	DCL_REFS(CL_QUEUE_REFERENCE_COUNT),
	DCL_F(CL_QUEUE_PROPERTIES, struct _cl_command_queue, props),
	DCL_A(CL_QUEUE_PROPERTIES_ARRAY, struct _cl_command_queue, prop_list, prop_list_bytes),
	DCL_U(CL_QUEUE_DEVICE_DEFAULT, cl_command_queue, no_size),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetCommandQueueInfo(cl_command_queue q,
	cl_command_queue_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(q, DCL_QUEUE) || param == CL_QUEUE_SIZE)
		return CL_INVALID_COMMAND_QUEUE;
	return dcl_info_get(
		queue_info, DCL_ROWS(queue_info), q, param, bytes, ret, ret_bytes);
}

cl_int CL_API_CALL dcl_clSetCommandQueueProperty(cl_command_queue q,
	cl_command_queue_properties properties, cl_bool enable,
	cl_command_queue_properties *old)
{
	return dcl_is(q, DCL_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

cl_int CL_API_CALL dcl_clSetDefaultDeviceCommandQueue(
	cl_context context, cl_device_id device, cl_command_queue q)
{
	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	return CL_INVALID_OPERATION;
}

cl_int CL_API_CALL dcl_clFlush(cl_command_queue q)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!dcl_alive())
		return CL_OUT_OF_RESOURCES;
	dcl_queue_flush(q);
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clFinish(cl_command_queue q)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!dcl_alive())
		return CL_OUT_OF_RESOURCES;
	dcl_queue_finish(q);
	return CL_SUCCESS;
}
