/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "functions.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

/* Executable graphs. */

struct exec {
	uint32_t magic;
	struct graph *graph; /* its own copy */
	uint64_t flags;
	pthread_mutex_t lock;
	int last_slot; /* launches of it run one at a time */
	uint64_t last_seq;
	struct branches branches;
};

static bool is_exec(const struct exec *e)
{
	return e && e->magic == DCU_IS_EXEC;
}

/* --- Making --- */

static bool can_be_done(const struct graph *graph)
{
	struct node **order = dcu_graph_order(graph);

	free(order);
	return order;
}

static int instantiate(struct exec **ret, struct graph *graph, uint64_t flags)
{
	struct exec *e;

	if (!ret || !dcu_is_graph(graph) || flags > 15)
		return DCU_INVALID_VALUE;
	if (!can_be_done(graph))
		return DCU_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	e->magic = DCU_IS_EXEC;
	e->graph = dcu_graph_clone(graph);
	e->flags = flags;
	pthread_mutex_init(&e->lock, NULL);
	*ret = e;
	return 0;
}

int dcu_cuGraphInstantiate_v2(struct exec **ret, struct graph *graph,
	struct node **failed, char *log, size_t bytes)
{
	if (failed)
		*failed = NULL;
	if (log && bytes)
		*log = '\0';
	return instantiate(ret, graph, 0);
}

int dcu_cuGraphInstantiateWithFlags(
	struct exec **ret, struct graph *graph, unsigned long long flags)
{
	return instantiate(ret, graph, flags);
}

int dcu_cuGraphInstantiateWithParams(
	struct exec **ret, struct graph *graph, struct instantiate_params *params)
{
	int r;

	if (!params)
		return DCU_INVALID_VALUE;
	r = instantiate(ret, graph, params->flags);
	params->failed = NULL;
	params->result = r ? 1 : 0;
	return r;
}

int dcu_cuGraphExecDestroy(struct exec *e)
{
	if (!is_exec(e))
		return DCU_INVALID_VALUE;
	e->magic = DCU_DEAD;
	dcu_branches_end(&e->branches);
	dcu_graph_free(e->graph);
	return 0;
}

int dcu_cuGraphUpload(struct exec *e, struct stream *handle)
{
	int r;

	if (!dcu_stream(handle, &r))
		return r;
	return is_exec(e) ? 0 : DCU_INVALID_VALUE;
}

/* --- Launching --- */

/* How often a kernel of the graph launches the graph again from the device. */
static uint64_t relaunches(const struct exec *e)
{
	uint64_t most = 0;

	if (!(e->flags & DCU_INSTANTIATE_DEVICE_LAUNCH))
		return 0;
	for (const struct node *n = e->graph->nodes; n; n = n->next)
		if (n->params.type == DCU_NODE_KERNEL &&
			n->launch.func->relaunches > most)
			most = n->launch.func->relaunches;
	return most;
}

static int launch(struct exec *e, struct stream *s)
{
	struct dgp_cmd after = {.kind = DGP_WAIT_STREAM};
	uint64_t turns = relaunches(e) + 1;
	int r = 0;

	if (e->last_seq && e->last_slot != s->slot) {
		after.target = (uint16_t)e->last_slot;
		after.value = e->last_seq;
		r = dcu_stream_push(s, &after, NULL);
	}
	r = r ? r : dcu_graph_run(e->graph, s, e->flags, turns, &e->branches);
	e->last_slot = s->slot;
	e->last_seq = dgp_slot_tail(s->slot);
	return r;
}

int dcu_cuGraphLaunch(struct exec *e, struct stream *handle)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!is_exec(e))
		return DCU_INVALID_VALUE;
	if (s->capture)
		return dcu_capture_graph(s, e->graph);
	pthread_mutex_lock(&e->lock);
	r = launch(e, s);
	pthread_mutex_unlock(&e->lock);
	return r;
}

/* --- Changing --- */

static int set_in_exec(
	struct exec *e, const struct node *node, const struct node_params *p)
{
	struct node *copy;

	if (!is_exec(e) || !node || !p)
		return DCU_INVALID_VALUE;
	copy = dcu_graph_copy_of(e->graph, node);
	return copy ? dcu_node_set(copy, p) : DCU_INVALID_VALUE;
}

int dcu_cuGraphExecNodeSetParams(
	struct exec *e, struct node *node, struct node_params *params)
{
	return set_in_exec(e, node, params);
}

int dcu_cuGraphExecKernelNodeSetParams_v2(
	struct exec *e, struct node *node, const struct kernel_params *kernel)
{
	struct node_params p = {.type = DCU_NODE_KERNEL};

	if (!kernel)
		return DCU_INVALID_VALUE;
	p.kernel = *kernel;
	return set_in_exec(e, node, &p);
}

/* Returns 0, or the reason: 2: the shape differs, 3: a node's type. */
static int compare(const struct graph *old, const struct graph *new, struct node **ret)
{
	const struct node *a = old->nodes, *b = new->nodes;

	for (; a && b; a = a->next, b = b->next) {
		*ret = (struct node *)(uintptr_t)b;
		if (a->params.type != b->params.type)
			return 3;
		if (a->n_after != b->n_after)
			return 2;
	}
	return a || b ? 2 : 0;
}

int dcu_cuGraphExecUpdate_v2(
	struct exec *e, struct graph *graph, struct update_result *ret)
{
	struct node *node = NULL;
	int why;

	if (!is_exec(e) || !dcu_is_graph(graph) || !ret)
		return DCU_INVALID_VALUE;
	why = compare(e->graph, graph, &node);
	*ret = (struct update_result){why, why ? node : NULL, NULL};
	if (why)
		return DCU_GRAPH_UPDATE_FAILURE;
	pthread_mutex_lock(&e->lock);
	dcu_graph_free(e->graph);
	e->graph = dcu_graph_clone(graph);
	pthread_mutex_unlock(&e->lock);
	return 0;
}

int dcu_cuGraphExecUpdate(
	struct exec *e, struct graph *graph, struct node **failed, int *result)
{
	struct update_result info = {0};
	int r = dcu_cuGraphExecUpdate_v2(e, graph, &info);

	if (failed)
		*failed = info.node;
	if (result)
		*result = info.result;
	return r;
}
