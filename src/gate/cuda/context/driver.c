/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's calls for the common code of streams (streams/driver.h). */
#include "gate/cuda/context/driver.h"

#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/streams/driver.h"

static int get_context(void **ret)
{
	*ret = NULL;
	return clv_cuda.cuCtxGetCurrent(ret);
}

static int set_context(void *context)
{
	return clv_cuda.cuCtxSetCurrent(context);
}

static int wait_for_context(void)
{
	return clv_cuda.cuCtxSynchronize();
}

static bool subcontext_of(void *stream, void *context, struct clv_stream_subcontext *ret)
{
	struct clv_cuda_subcontext found;

	if (stream ? !clv_cuda_subcontext_of_stream(stream, &found)
		   : !clv_cuda_subcontext_of_context(context, &found))
		return false;
	*ret = (struct clv_stream_subcontext){found.context, found.primary};
	return true;
}

static bool is_blocking(void *stream)
{
	uint32_t flags = 0;

	return clv_cuda.cuStreamGetFlags(stream, &flags) != CLV_CUDA_SUCCESS ||
	       !(flags & CLV_CUDA_STREAM_NON_BLOCKING);
}

static int capture_status(void *stream, int *ret)
{
	return clv_cuda.cuStreamIsCapturing(stream, ret);
}

static int exchange_capture_mode(int *mode)
{
	return clv_cuda.cuThreadExchangeStreamCaptureMode(mode);
}

enum { HOST, DEVICE, OTHER };

/* Asks the driver, because a call's name does not tell: with unified addresses a copy
 * "from the host" may be within the device.  The driver does not know pageable memory of
 * the host.  Managed memory may be in either place. */
static int kind_of(uint64_t address)
{
	uint32_t type = 0, is_managed = 0;

	if (clv_cuda.cuPointerGetAttribute(
		    &type, CLV_CUDA_POINTER_MEMORY_TYPE, address) != CLV_CUDA_SUCCESS)
		return HOST;
	if (clv_cuda.cuPointerGetAttribute(&is_managed, CLV_CUDA_POINTER_IS_MANAGED,
		    address) != CLV_CUDA_SUCCESS ||
		is_managed)
		return OTHER;
	if (type == CLV_CUDA_MEMORY_TYPE_HOST)
		return HOST;
	return type == CLV_CUDA_MEMORY_TYPE_DEVICE ? DEVICE : OTHER;
}

static bool is_host_device(uint64_t to, uint64_t from)
{
	int kind_to = kind_of(to), kind_from = kind_of(from);

	return (kind_to == DEVICE && kind_from == HOST) ||
	       (kind_to == HOST && kind_from == DEVICE);
}

static int make_blocking(void **ret)
{
	return clv_cuda.cuStreamCreate((void *)ret, 0);
}

static int make_event(void **ret, unsigned int flags)
{
	return clv_cuda.cuEventCreate(ret, flags);
}

static int record(void *event, void *stream)
{
	return clv_cuda.cuEventRecord(event, stream);
}

static int record_context(void *event, void *context)
{
	return clv_cuda.cuCtxRecordEvent(context, event);
}

static int query(void *event)
{
	return clv_cuda.cuEventQuery(event);
}

static int query_stream(void *stream)
{
	return clv_cuda.cuStreamQuery(stream);
}

static int wait_for(void *event)
{
	return clv_cuda.cuEventSynchronize(event);
}

static void destroy(void *event)
{
	clv_cuda.cuEventDestroy_v2(event);
}

static int nodes(void *graph, void *ret, void *ret_n)
{
	return clv_cuda.cuGraphGetNodes(graph, ret, ret_n);
}

static int edges(void *graph, void *ret_from, void *ret_to, void *ret_n)
{
	return clv_cuda.cuGraphGetEdges(graph, ret_from, ret_to, ret_n);
}

static int node_type(void *node, void *ret)
{
	return clv_cuda.cuGraphNodeGetType(node, ret);
}

static int wait_params(void *node, void *ret)
{
	return clv_cuda.cuGraphExternalSemaphoresWaitNodeGetParams(node, ret);
}

static int wait_for_semaphores(void *semaphores, void *values, uint32_t n, void *stream)
{
	return clv_cuda.cuWaitExternalSemaphoresAsync(semaphores, values, n, stream);
}

const struct clv_stream_driver clv_cuda_stream_driver = {
	.legacy = CLV_CUDA_STREAM_LEGACY,
	/* CUDA forbids calls in a callback. */
	.in_callback = CLV_CUDA_NOT_PERMITTED,
	.get_context = get_context,
	.set_context = set_context,
	.wait_for_context = wait_for_context,
	.context_of = clv_cuda_context_of,
	.subcontext_of = subcontext_of,
	.is_within = clv_cuda_part_applies_to,
	.report_unlimited = clv_cuda_green_report_outside,
	.is_blocking = is_blocking,
	.capture_status = capture_status,
	.make_blocking = make_blocking,
	.exchange_capture_mode = exchange_capture_mode,
	.is_host_device = is_host_device,
	.make_event = make_event,
	.record = record,
	.record_context = record_context,
	.query = query,
	.query_stream = query_stream,
	.wait = wait_for,
	.destroy = destroy,
	.graphs = {.wait_type = CLV_CUDA_NODE_SEMAPHORE_WAIT,
		.value_bytes = CLV_CUDA_SEMAPHORE_VALUE_BYTES,
		.nodes = nodes,
		.edges = edges,
		.type = node_type,
		.wait_params = wait_params,
		.wait = wait_for_semaphores},
};
