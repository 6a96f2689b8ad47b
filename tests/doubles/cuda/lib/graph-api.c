/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

/* Creating and querying graphs. */

int dcu_cuGraphCreate(struct graph **ret, unsigned flags)
{
	if (!ret || flags)
		return DCU_INVALID_VALUE;
	*ret = dcu_graph_new();
	return 0;
}

int dcu_cuGraphDestroy(struct graph *graph)
{
	if (!dcu_is_graph(graph) || graph->is_owned)
		return DCU_INVALID_VALUE;
	dcu_graph_free(graph);
	return 0;
}

/* --- Nodes --- */

int dcu_cuGraphAddNode(struct node **ret, struct graph *graph, struct node *const *after,
	size_t n, struct node_params *params)
{
	return dcu_node_add(graph, after, n, params, ret);
}

int dcu_cuGraphAddNode_v2(struct node **ret, struct graph *graph,
	struct node *const *after, const struct edge *edges, size_t n,
	struct node_params *params)
{
	return dcu_node_add(graph, after, n, params, ret);
}

int dcu_cuGraphAddKernelNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, const struct kernel_params *kernel)
{
	struct node_params p = {.type = DCU_NODE_KERNEL};

	if (!kernel)
		return DCU_INVALID_VALUE;
	memcpy(&p.kernel, kernel, DCU_KERNEL_PARAMS_V1);
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphAddKernelNode_v2(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, const struct kernel_params *kernel)
{
	struct node_params p = {.type = DCU_NODE_KERNEL};

	if (!kernel)
		return DCU_INVALID_VALUE;
	p.kernel = *kernel;
	return dcu_node_add(graph, after, n, &p, ret);
}

static bool is_of(const struct node *node, int type)
{
	return dcu_is_node(node) && node->params.type == type;
}

int dcu_cuGraphAddMemsetNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, const struct set_params *set,
	struct ctx *ctx)
{
	struct node_params p = {.type = DCU_NODE_SET};

	if (!set)
		return DCU_INVALID_VALUE;
	p.set = *set;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphAddChildGraphNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, struct graph *child)
{
	struct node_params p = {.type = DCU_NODE_GRAPH};

	p.graph = child;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphChildGraphNodeGetGraph(struct node *node, struct graph **ret)
{
	if (!is_of(node, DCU_NODE_GRAPH) || !ret)
		return DCU_INVALID_VALUE;
	*ret = node->bodies[0];
	return 0;
}

int dcu_cuGraphAddEventRecordNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, struct event *event)
{
	struct node_params p = {.type = DCU_NODE_RECORD_EVENT};

	p.event = event;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphAddMemAllocNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, struct alloc_params *alloc)
{
	struct node_params p = {.type = DCU_NODE_ALLOC};
	int r;

	if (!alloc)
		return DCU_INVALID_VALUE;
	p.alloc = *alloc;
	r = dcu_node_add(graph, after, n, &p, ret);
	if (!r)
		alloc->address = p.alloc.address;
	return r;
}

int dcu_cuGraphMemAllocNodeGetParams(struct node *node, struct alloc_params *ret)
{
	if (!is_of(node, DCU_NODE_ALLOC) || !ret)
		return DCU_INVALID_VALUE;
	*ret = node->params.alloc;
	return 0;
}

int dcu_cuGraphAddMemFreeNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, uint64_t address)
{
	struct node_params p = {.type = DCU_NODE_FREE};

	p.freed = address;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphConditionalHandleCreate(uint64_t *ret, struct graph *graph,
	struct ctx *ctx, unsigned value, unsigned flags)
{
	struct condition *c;

	if (!ret || !dcu_is_graph(graph) || flags & ~DCU_CONDITION_ASSIGN_DEFAULT)
		return DCU_INVALID_VALUE;
	c = calloc(1, sizeof(*c));
	c->magic = DCU_IS_CONDITION;
	c->value = flags & DCU_CONDITION_ASSIGN_DEFAULT ? value : 0;
	*ret = (uint64_t)(uintptr_t)c;
	return 0;
}

/* --- Questions --- */

int dcu_cuGraphNodeGetType(struct node *node, int *ret)
{
	if (!dcu_is_node(node) || !ret)
		return DCU_INVALID_VALUE;
	*ret = node->params.type;
	return 0;
}

static void put(struct node **ret, size_t room, size_t *n, struct node *node)
{
	if (ret && *n < room)
		ret[*n] = node;
	++*n;
}

static int get_nodes(struct graph *graph, struct node **ret, size_t *n, bool roots)
{
	size_t room, found = 0;

	if (!dcu_is_graph(graph) || !n)
		return DCU_INVALID_VALUE;
	room = *n;
	for (struct node *at = graph->nodes; at; at = at->next)
		if (!roots || !at->n_after)
			put(ret, room, &found, at);
	*n = ret && found > room ? room : found;
	return 0;
}

int dcu_cuGraphGetNodes(struct graph *graph, struct node **ret, size_t *n)
{
	return get_nodes(graph, ret, n, false);
}

int dcu_cuGraphGetRootNodes(struct graph *graph, struct node **ret, size_t *n)
{
	return get_nodes(graph, ret, n, true);
}

int dcu_cuGraphGetEdges(
	struct graph *graph, struct node **from, struct node **to, size_t *n)
{
	size_t room, found = 0;

	if (!dcu_is_graph(graph) || !n || !from != !to)
		return DCU_INVALID_VALUE;
	room = *n;
	for (struct node *at = graph->nodes; at; at = at->next)
		for (size_t i = 0; i < at->n_after; i++) {
			size_t place = found;

			put(from, room, &found, at->after[i]);
			put(to, room, &place, at);
		}
	*n = from && found > room ? room : found;
	return 0;
}

int dcu_cuGraphAddDependencies(
	struct graph *graph, struct node *const *from, struct node *const *to, size_t n)
{
	if (!dcu_is_graph(graph) || (n && (!from || !to)))
		return DCU_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (!dcu_is_node(from[i]) || !dcu_is_node(to[i]) ||
			from[i]->graph != graph || to[i]->graph != graph ||
			dcu_node_comes_after(from[i], to[i]))
			return DCU_INVALID_VALUE;
		to[i]->after = realloc(
			to[i]->after, (to[i]->n_after + 2) * sizeof(struct node *));
		to[i]->after[to[i]->n_after++] = from[i];
	}
	return 0;
}
