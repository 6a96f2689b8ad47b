/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a program adds to graphs itself.  A kernel that is captured belongs to the
 * context of the captured stream. */
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"

static int note_kernel_node(int result)
{
	if (result == CLV_CUDA_SUCCESS)
		clv_cuda_part_report_graph_kernel();
	return result;
}

/* The parameters begin with the node's type. */
static int note_node(int result, const void *parameters)
{
	if (result == CLV_CUDA_SUCCESS &&
		*(const int *)parameters == CLV_CUDA_NODE_KERNEL)
		clv_cuda_part_report_graph_kernel();
	return result;
}

int clv_own_cuGraphAddKernelNode(clv_fn_cuGraphAddKernelNode *real, void *ret,
	void *graph, void *dependencies, size_t n, void *parameters)
{
	return note_kernel_node(real(ret, graph, dependencies, n, parameters));
}

int clv_own_cuGraphAddKernelNode_v2(clv_fn_cuGraphAddKernelNode_v2 *real, void *ret,
	void *graph, void *dependencies, size_t n, void *parameters)
{
	return note_kernel_node(real(ret, graph, dependencies, n, parameters));
}

int clv_own_cuGraphAddNode(clv_fn_cuGraphAddNode *real, void *ret, void *graph,
	void *dependencies, size_t n, void *parameters)
{
	return note_node(real(ret, graph, dependencies, n, parameters), parameters);
}

int clv_own_cuGraphAddNode_v2(clv_fn_cuGraphAddNode_v2 *real, void *ret, void *graph,
	void *dependencies, void *data, size_t n, void *parameters)
{
	return note_node(real(ret, graph, dependencies, data, n, parameters), parameters);
}
