/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program in graphs that it makes by hand (streams/host-node.h).  HIP
 * lets them launch. */
#include "gate/hip/library.h"
#include "gate/streams/graph.h"
#include "gate/streams/host-node.h"

/* The parameters for HIP, in *room if they differ from the program's. */
static void *wrap(struct clv_host_node *room, void *params)
{
	if (!params)
		return NULL;
	*room = clv_host_node_wrap(params);
	return room;
}

static void *wrap_any(struct clv_hip_node *room, void *params)
{
	struct clv_hip_node *node = params;

	if (!node || node->type != CLV_HIP_NODE_HOST)
		return params;
	*room = *node;
	room->host = clv_host_node_wrap(&node->host);
	return room;
}

int clv_own_hipGraphAddHostNode(clv_fn_hipGraphAddHostNode *real, void *ret_node,
	void *graph, void *dependencies, size_t n, void *params)
{
	struct clv_host_node room;

	return real(ret_node, graph, dependencies, n, wrap(&room, params));
}

int clv_own_hipGraphHostNodeSetParams(
	clv_fn_hipGraphHostNodeSetParams *real, void *node, void *params)
{
	struct clv_host_node room;

	return real(node, wrap(&room, params));
}

int clv_own_hipGraphExecHostNodeSetParams(
	clv_fn_hipGraphExecHostNodeSetParams *real, void *exec, void *node, void *params)
{
	struct clv_host_node room;

	return real(exec, node, wrap(&room, params));
}

int clv_own_hipGraphHostNodeGetParams(
	clv_fn_hipGraphHostNodeGetParams *real, void *node, void *ret_params)
{
	struct clv_host_node *found = ret_params;
	int r = real(node, ret_params);

	if (r == CLV_HIP_SUCCESS)
		*found = clv_host_node_unwrap(found);
	return r;
}

int clv_own_hipGraphAddNode(clv_fn_hipGraphAddNode *real, void *ret_node, void *graph,
	void *dependencies, size_t n, void *params)
{
	struct clv_hip_node room;

	return real(ret_node, graph, dependencies, n, wrap_any(&room, params));
}

int clv_own_hipGraphNodeSetParams(
	clv_fn_hipGraphNodeSetParams *real, void *node, void *params)
{
	struct clv_hip_node room;

	return real(node, wrap_any(&room, params));
}

int clv_own_hipGraphExecNodeSetParams(
	clv_fn_hipGraphExecNodeSetParams *real, void *exec, void *node, void *params)
{
	struct clv_hip_node room;
	int r = real(exec, node, wrap_any(&room, params));

	if (r == CLV_HIP_SUCCESS)
		clv_graph_node_set(exec, node, params);
	return r;
}
