/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and functions that a program adds to graphs itself.  A kernel that is captured
 * belongs to the context of the captured stream.  CUDA forbids its functions every call
 * (streams/host-node.h). */
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"
#include "gate/streams/graph.h"
#include "gate/streams/host-node.h"

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
	struct clv_graph_node room;

	return note_node(real(ret, graph, dependencies, n,
				 clv_graph_node_params(&room, parameters)),
		parameters);
}

int clv_own_cuGraphAddNode_v2(clv_fn_cuGraphAddNode_v2 *real, void *ret, void *graph,
	void *dependencies, void *data, size_t n, void *parameters)
{
	struct clv_graph_node room;

	return note_node(real(ret, graph, dependencies, data, n,
				 clv_graph_node_params(&room, parameters)),
		parameters);
}

int clv_own_cuGraphNodeSetParams(
	clv_fn_cuGraphNodeSetParams *real, void *node, void *parameters)
{
	struct clv_graph_node room;

	return real(node, clv_graph_node_params(&room, parameters));
}

int clv_own_cuGraphNodeGetParams(
	clv_fn_cuGraphNodeGetParams *real, void *node, void *ret_parameters)
{
	int r = real(node, ret_parameters);

	if (r == CLV_CUDA_SUCCESS)
		clv_graph_node_found(ret_parameters);
	return r;
}

int clv_own_cuGraphExecNodeSetParams(
	clv_fn_cuGraphExecNodeSetParams *real, void *exec, void *node, void *parameters)
{
	struct clv_graph_node room;
	int r = real(exec, node, clv_graph_node_params(&room, parameters));

	if (r == CLV_CUDA_SUCCESS)
		clv_graph_node_set(exec, node, parameters);
	return r;
}

int clv_own_cuGraphAddHostNode(clv_fn_cuGraphAddHostNode *real, void *ret, void *graph,
	void *dependencies, size_t n, void *parameters)
{
	struct clv_host_node room;

	return real(ret, graph, dependencies, n, clv_host_node_params(&room, parameters));
}

int clv_own_cuGraphHostNodeSetParams(
	clv_fn_cuGraphHostNodeSetParams *real, void *node, void *parameters)
{
	struct clv_host_node room;

	return real(node, clv_host_node_params(&room, parameters));
}

int clv_own_cuGraphExecHostNodeSetParams(clv_fn_cuGraphExecHostNodeSetParams *real,
	void *exec, void *node, void *parameters)
{
	struct clv_host_node room;

	return real(exec, node, clv_host_node_params(&room, parameters));
}

int clv_own_cuGraphHostNodeGetParams(
	clv_fn_cuGraphHostNodeGetParams *real, void *node, void *ret_parameters)
{
	int r = real(node, ret_parameters);

	if (r == CLV_CUDA_SUCCESS)
		clv_host_node_found(ret_parameters);
	return r;
}
