/* SPDX-License-Identifier: Apache-2.0 */
/* Creation, retention and release of command queues.  The gate holds no reference of its
 * own. */
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/queue/queue.h"
#include "gate/process/queue-record.h"
#include "gate/process/view.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"

#include <string.h>

/* A record of this handle is that of an earlier queue, which is gone. */
static void add_record(cl_command_queue queue)
{
	struct clv_queue *before = clv_queue_find_known(queue);

	if (before)
		clv_queue_forget(before);
	clv_queue_add(queue);
}

/* If there is an error, the driver's return value is no queue. */
static cl_command_queue register_queue(
	cl_command_queue queue, cl_int error, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	if (error != CL_SUCCESS)
		return NULL;
	if (queue && !clv_vendor_is_gated(queue)) {
		clv_real.clReleaseCommandQueue(queue);
		if (ret_error)
			*ret_error = CL_OUT_OF_RESOURCES;
		return NULL;
	}
	if (queue && clv_gate_current_view())
		add_record(queue);
	return queue;
}

static cl_command_queue CL_API_CALL wrap_clCreateCommandQueue(cl_context context,
	cl_device_id device, cl_command_queue_properties properties, cl_int *ret_error)
{
	cl_int error = CL_SUCCESS;
	cl_command_queue queue =
		clv_real.clCreateCommandQueue(context, device, properties, &error);

	return register_queue(queue, error, ret_error);
}

static cl_command_queue CL_API_CALL wrap_clCreateCommandQueueWithProperties(
	cl_context context, cl_device_id device, const cl_queue_properties *properties,
	cl_int *ret_error)
{
	cl_int error = CL_SUCCESS;
	cl_command_queue queue = clv_real.clCreateCommandQueueWithProperties(
		context, device, properties, &error);

	return register_queue(queue, error, ret_error);
}

/* The call of OpenCL 1.0, which later versions may refuse.  The order of a queue must not
 * change under the gate, which counts on it: in a queue that became out of order, the end
 * of its last command would count as the end of all. */
static cl_int CL_API_CALL wrap_clSetCommandQueueProperty(cl_command_queue queue,
	cl_command_queue_properties properties, cl_bool enable,
	cl_command_queue_properties *before)
{
	if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) &&
		clv_gate_current_view())
		return CL_INVALID_QUEUE_PROPERTIES;
	return clv_real.clSetCommandQueueProperty(queue, properties, enable, before);
}

static cl_int CL_API_CALL wrap_clRetainCommandQueue(cl_command_queue queue)
{
	cl_int r = clv_real.clRetainCommandQueue(queue);

	if (r == CL_SUCCESS && clv_gate_current_view())
		clv_queue_retain(queue);
	return r;
}

static cl_int CL_API_CALL wrap_clReleaseCommandQueue(cl_command_queue queue)
{
	if (queue && clv_gate_current_view())
		clv_queue_release(queue);
	return clv_real.clReleaseCommandQueue(queue);
}

/* In some drivers an event holds a reference to its queue, so the events that the gate
 * keeps do, too.  The program sees the count without these. */
static cl_int CL_API_CALL wrap_clGetCommandQueueInfo(cl_command_queue queue,
	cl_command_queue_info what, size_t room, void *value, size_t *ret_bytes)
{
	cl_int r = clv_real.clGetCommandQueueInfo(queue, what, room, value, ret_bytes);
	struct clv_queue *known;
	cl_uint shown, n_gates, n_own;

	if (r != CL_SUCCESS || what != CL_QUEUE_REFERENCE_COUNT || !value ||
		room < sizeof(shown) || !clv_gate_current_view())
		return r;
	known = clv_queue_find_known(queue);
	if (!known)
		return r;
	memcpy(&shown, value, sizeof(shown));
	n_gates = atomic_load(&known->n_markers) +
		  atomic_load(&clv_cl_queue(known)->events.n_kept);
	n_own = atomic_load(&known->application_references);
	shown = shown > n_own + n_gates ? shown - n_gates : n_own;
	memcpy(value, &shown, sizeof(shown));
	return r;
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_queues(cl_icd_dispatch *table)
{
	WRAP(clCreateCommandQueue);
	WRAP(clCreateCommandQueueWithProperties);
	WRAP(clSetCommandQueueProperty);
	WRAP(clRetainCommandQueue);
	WRAP(clReleaseCommandQueue);
	WRAP(clGetCommandQueueInfo);
}
