/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a program puts into graphs itself.  Those of a capture are of the stream's
 * context. */
#include "gate/cuda/library.h"
#include "gate/cuda/part.h"

static int added(int result, bool is_kernel)
{
	if (result == CLV_CUDA_SUCCESS && is_kernel)
		clv_cuda_part_node();
	return result;
}

/* Of CUgraphNodeParams, which begins with it. */
static bool is_kernel(const void *parameters)
{
	return parameters && *(const int *)parameters == CLV_CUDA_NODE_KERNEL;
}

int clv_own_cuGraphAddKernelNode(clv_fn_cuGraphAddKernelNode *real, void *ret,
	void *graph, void *dependencies, size_t n, void *parameters)
{
	return added(real(ret, graph, dependencies, n, parameters), true);
}

int clv_own_cuGraphAddKernelNode_v2(clv_fn_cuGraphAddKernelNode_v2 *real, void *ret,
	void *graph, void *dependencies, size_t n, void *parameters)
{
	return added(real(ret, graph, dependencies, n, parameters), true);
}

int clv_own_cuGraphAddNode(clv_fn_cuGraphAddNode *real, void *ret, void *graph,
	void *dependencies, size_t n, void *parameters)
{
	return added(
		real(ret, graph, dependencies, n, parameters), is_kernel(parameters));
}

int clv_own_cuGraphAddNode_v2(clv_fn_cuGraphAddNode_v2 *real, void *ret, void *graph,
	void *dependencies, void *data, size_t n, void *parameters)
{
	return added(real(ret, graph, dependencies, data, n, parameters),
		is_kernel(parameters));
}
