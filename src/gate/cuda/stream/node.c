/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a program puts into graphs itself.  Those of a capture are of the stream's
 * context. */
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"

static int added(int result)
{
	if (result == CLV_CUDA_SUCCESS)
		clv_cuda_part_node();
	return result;
}

/* What describes it begins with its type. */
static int added_any(int result, const void *parameters)
{
	if (result == CLV_CUDA_SUCCESS &&
		*(const int *)parameters == CLV_CUDA_NODE_KERNEL)
		clv_cuda_part_node();
	return result;
}

int clv_own_cuGraphAddKernelNode(clv_fn_cuGraphAddKernelNode *real, void *ret,
	void *graph, void *dependencies, size_t n, void *parameters)
{
	return added(real(ret, graph, dependencies, n, parameters));
}

int clv_own_cuGraphAddKernelNode_v2(clv_fn_cuGraphAddKernelNode_v2 *real, void *ret,
	void *graph, void *dependencies, size_t n, void *parameters)
{
	return added(real(ret, graph, dependencies, n, parameters));
}

int clv_own_cuGraphAddNode(clv_fn_cuGraphAddNode *real, void *ret, void *graph,
	void *dependencies, size_t n, void *parameters)
{
	return added_any(real(ret, graph, dependencies, n, parameters), parameters);
}

int clv_own_cuGraphAddNode_v2(clv_fn_cuGraphAddNode_v2 *real, void *ret, void *graph,
	void *dependencies, void *data, size_t n, void *parameters)
{
	return added_any(real(ret, graph, dependencies, data, n, parameters), parameters);
}
