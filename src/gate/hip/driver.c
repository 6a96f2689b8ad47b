/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's calls for the common code of streams (streams/driver.h).  A context of that code
 * is a device, of which a thread has one at a time. */
#include "gate/hip/driver.h"

#include "gate/hip/device.h"
#include "gate/hip/library.h"
#include "gate/streams/driver.h"

#include <stddef.h>

#define DEVICES_MAX 64

/* A device's context is the address of its element: unique in the process, and never odd
 * (streams/driver.h). */
static struct {
	_Alignas(16) char place;
} devices[DEVICES_MAX];

void *clv_hip_context_of_device(int device)
{
	return device >= 0 && device < DEVICES_MAX ? &devices[device] : NULL;
}

static int get_context(void **ret)
{
	int device = -1, r = clv_hip.hipGetDevice(&device);

	*ret = clv_hip_context_of_device(device);
	return r;
}

static int set_context(void *context)
{
	const char *place = context;

	if (!place)
		return CLV_HIP_SUCCESS;
	return clv_hip.hipSetDevice(
		(int)((size_t)(place - &devices[0].place) / sizeof(devices[0])));
}

static int wait_for_context(void)
{
	return clv_hip.hipDeviceSynchronize();
}

static void *context_of(void *stream)
{
	return clv_hip_context_of_device(clv_hip.hipGetStreamDeviceId(stream));
}

static int capture_status(void *stream, int *ret)
{
	return clv_hip.hipStreamIsCapturing(stream, ret);
}

static bool is_blocking(void *stream)
{
	uint32_t flags = 0;

	return clv_hip.hipStreamGetFlags(stream, &flags) != CLV_HIP_SUCCESS ||
	       !(flags & CLV_HIP_STREAM_NON_BLOCKING);
}

static int exchange_capture_mode(int *mode)
{
	return clv_hip.hipThreadExchangeStreamCaptureMode(mode);
}

static int make_blocking(void **ret)
{
	return clv_hip.hipStreamCreateWithFlags(ret, 0);
}

static int make_event(void **ret, unsigned int flags)
{
	return clv_hip.hipEventCreateWithFlags(ret, flags);
}

static int record(void *event, void *stream)
{
	return clv_hip.hipEventRecord(event, stream);
}

static int query(void *event)
{
	return clv_hip.hipEventQuery(event);
}

static int wait_for(void *event)
{
	return clv_hip.hipEventSynchronize(event);
}

static void destroy(void *event)
{
	clv_hip.hipEventDestroy(event);
}

static int nodes(void *graph, void *ret, void *ret_n)
{
	return clv_hip.hipGraphGetNodes(graph, ret, ret_n);
}

static int edges(void *graph, void *ret_from, void *ret_to, void *ret_n)
{
	return clv_hip.hipGraphGetEdges(graph, ret_from, ret_to, ret_n);
}

static int node_type(void *node, void *ret)
{
	return clv_hip.hipGraphNodeGetType(node, ret);
}

static int wait_params(void *node, void *ret)
{
	return clv_hip.hipGraphExternalSemaphoresWaitNodeGetParams(node, ret);
}

static int wait_for_semaphores(void *semaphores, void *values, uint32_t n, void *stream)
{
	return clv_hip.hipWaitExternalSemaphoresAsync(semaphores, values, n, stream);
}

const struct clv_stream_driver clv_hip_stream_driver = {
	.legacy = NULL, /* ROCm 5 has no special handle for it */
	.in_callback = CLV_HIP_SUCCESS,
	.get_context = get_context,
	.set_context = set_context,
	.wait_for_context = wait_for_context,
	.context_of = context_of,
	.capture_status = capture_status,
	.is_blocking = is_blocking,
	.make_blocking = make_blocking,
	.exchange_capture_mode = exchange_capture_mode,
	.make_event = make_event,
	.record = record,
	.query = query,
	.wait = wait_for,
	.destroy = destroy,
	.graphs = {.wait_type = CLV_HIP_NODE_SEMAPHORE_WAIT,
		.value_bytes = CLV_HIP_SEMAPHORE_VALUE_BYTES,
		.nodes = nodes,
		.edges = edges,
		.type = node_type,
		.wait_params = wait_params,
		.wait = wait_for_semaphores},
};
