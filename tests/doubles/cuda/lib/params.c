/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include "graph.h"
#include <stdlib.h>

/* Reading and changing the parameters of nodes, and objects of graphs. */

static bool is_of(const struct node *node, int type)
{
	return dcu_is_node(node) && node->params.type == type;
}

int dcu_cuGraphMemsetNodeGetParams(struct node *node, struct set_params *ret)
{
	if (!is_of(node, DCU_NODE_SET) || !ret)
		return DCU_INVALID_VALUE;
	*ret = node->params.set;
	return 0;
}

int dcu_cuGraphMemsetNodeSetParams(struct node *node, const struct set_params *value)
{
	struct node_params p = {.type = DCU_NODE_SET};

	if (!is_of(node, DCU_NODE_SET) || !value)
		return DCU_INVALID_VALUE;
	p.set = *value;
	return dcu_node_set(node, &p);
}

int dcu_cuGraphAddHostNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, const struct host_params *params)
{
	struct node_params p = {.type = DCU_NODE_HOST};

	if (!params)
		return DCU_INVALID_VALUE;
	p.host = *params;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphHostNodeGetParams(struct node *node, struct host_params *ret)
{
	if (!is_of(node, DCU_NODE_HOST) || !ret)
		return DCU_INVALID_VALUE;
	*ret = node->params.host;
	return 0;
}

int dcu_cuGraphExecHostNodeSetParams(
	struct exec *e, struct node *node, const struct host_params *params)
{
	struct node_params p = {.type = DCU_NODE_HOST};

	if (!params)
		return DCU_INVALID_VALUE;
	p.host = *params;
	return dcu_cuGraphExecNodeSetParams(e, node, &p);
}

int dcu_cuGraphExternalSemaphoresWaitNodeGetParams(
	struct node *node, struct semaphores_params *ret)
{
	if (!is_of(node, DCU_NODE_AWAIT) || !ret)
		return DCU_INVALID_VALUE;
	*ret = node->params.semaphores;
	return 0;
}

int dcu_cuGraphAddExternalSemaphoresWaitNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, const struct semaphores_params *params)
{
	struct node_params p = {.type = DCU_NODE_AWAIT};

	if (!params)
		return DCU_INVALID_VALUE;
	p.semaphores = *params;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphExecExternalSemaphoresWaitNodeSetParams(
	struct exec *e, struct node *node, const struct semaphores_params *params)
{
	struct node_params p = {.type = DCU_NODE_AWAIT};

	if (!params)
		return DCU_INVALID_VALUE;
	p.semaphores = *params;
	return dcu_cuGraphExecNodeSetParams(e, node, &p);
}

int dcu_cuGraphExecEventRecordNodeSetEvent(
	struct exec *e, struct node *node, struct event *event)
{
	struct node_params p = {.type = DCU_NODE_RECORD_EVENT};

	p.event = event;
	return dcu_cuGraphExecNodeSetParams(e, node, &p);
}

/* --- Objects that live as long as a graph --- */

struct object {
	uint32_t magic;
	unsigned refs;
	host_fn destroy;
	void *user;
};

static bool is_object(const struct object *o)
{
	return o && o->magic == DCU_IS_OBJECT;
}

int dcu_cuUserObjectCreate(
	struct object **ret, void *user, host_fn destroy, unsigned refs, unsigned flags)
{
	struct object *o;

	if (!ret || !destroy || !refs || flags != 1)
		return DCU_INVALID_VALUE;
	o = calloc(1, sizeof(*o));
	*o = (struct object){DCU_IS_OBJECT, refs, destroy, user};
	*ret = o;
	return 0;
}

int dcu_cuUserObjectRelease(struct object *o, unsigned n)
{
	if (!is_object(o) || !n || n > o->refs)
		return DCU_INVALID_VALUE;
	o->refs -= n;
	if (!o->refs) {
		o->magic = DCU_DEAD;
		o->destroy(o->user);
	}
	return 0;
}

/* In this double a graph keeps its objects for ever.  With the flag it takes over
 * references of the program's. */
int dcu_cuGraphRetainUserObject(
	struct graph *graph, struct object *o, unsigned n, unsigned flags)
{
	if (!dcu_is_graph(graph) || flags > 1 || !is_object(o) || !n)
		return DCU_INVALID_VALUE;
	o->refs += flags ? 0 : n;
	return 0;
}
