/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program in graphs that it makes by hand (streams/host-node.h).  HIP
 * lets them launch. */
#include "gate/hip/library.h"
#include "gate/streams/graph.h"
#include "gate/streams/host-node.h"

int clv_own_hipGraphAddHostNode(clv_fn_hipGraphAddHostNode *real, void *ret_node,
	void *graph, void *dependencies, size_t n, void *params)
{
	struct clv_host_node room;

	return real(
		ret_node, graph, dependencies, n, clv_host_node_params(&room, params));
}

int clv_own_hipGraphHostNodeSetParams(
	clv_fn_hipGraphHostNodeSetParams *real, void *node, void *params)
{
	struct clv_host_node room;

	return real(node, clv_host_node_params(&room, params));
}

int clv_own_hipGraphExecHostNodeSetParams(
	clv_fn_hipGraphExecHostNodeSetParams *real, void *exec, void *node, void *params)
{
	struct clv_host_node room;

	return real(exec, node, clv_host_node_params(&room, params));
}

int clv_own_hipGraphHostNodeGetParams(
	clv_fn_hipGraphHostNodeGetParams *real, void *node, void *ret_params)
{
	int r = real(node, ret_params);

	if (r == CLV_HIP_SUCCESS)
		clv_host_node_found(ret_params);
	return r;
}

int clv_own_hipGraphAddNode(clv_fn_hipGraphAddNode *real, void *ret_node, void *graph,
	void *dependencies, size_t n, void *params)
{
	struct clv_graph_node room;

	return real(
		ret_node, graph, dependencies, n, clv_graph_node_params(&room, params));
}

int clv_own_hipGraphNodeSetParams(
	clv_fn_hipGraphNodeSetParams *real, void *node, void *params)
{
	struct clv_graph_node room;

	return real(node, clv_graph_node_params(&room, params));
}

int clv_own_hipGraphExecNodeSetParams(
	clv_fn_hipGraphExecNodeSetParams *real, void *exec, void *node, void *params)
{
	struct clv_graph_node room;
	int r = real(exec, node, clv_graph_node_params(&room, params));

	if (r == CLV_HIP_SUCCESS)
		clv_graph_node_set(exec, node, params);
	return r;
}
