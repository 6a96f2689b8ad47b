/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/helper.h"
#include "capture.h"
#include "copy.h"
#include "functions.h"
#include "graph.h"
#include "memory.h"
#include "module.h"
#include "pool.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Executable graphs.  A launch puts the nodes into the stream one behind the other; those
 * that only take the multiprocessors' time go as one command. */

#define CONDITION_TURNS_MAX 1000000U

struct exec {
	uint32_t magic;
	struct graph *graph; /* its own */
	uint64_t flags;
	pthread_mutex_t lock;
	int last_slot; /* one launch of it runs at a time */
	uint64_t last_seq;
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
	dcu_graph_free(e->graph);
	return 0;
}

int dcu_cuGraphExecGetFlags(struct exec *e, uint64_t *ret)
{
	if (!is_exec(e) || !ret)
		return DCU_INVALID_VALUE;
	*ret = e->flags;
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

/* What of one launch has not gone into the stream yet. */
struct run {
	struct exec *exec;
	struct stream *stream;
	struct dgp_cmd cmd; /* of multiprocessors' time */
	struct effect *effects, **last;
	bool is_empty;
	uint64_t seq;
};

static int flush(struct run *run)
{
	int r;

	if (run->is_empty)
		return 0;
	run->cmd.effect = (uint64_t)(uintptr_t)run->effects;
	r = dcu_stream_push(run->stream, &run->cmd, &run->seq);
	run->is_empty = true;
	run->effects = NULL;
	run->last = &run->effects;
	return r;
}

static int add(struct run *run, const struct dgp_cmd *cmd)
{
	struct effect *effect = (struct effect *)(uintptr_t)cmd->effect;
	int r;

	if (cmd->kind != DGP_KERNEL || cmd->turns) {
		struct dgp_cmd copy = *cmd;

		r = flush(run);
		return r ? r : dcu_stream_push(run->stream, &copy, &run->seq);
	}
	r = run->cmd.units == cmd->units ? 0 : flush(run);
	if (r)
		return r;
	if (run->is_empty)
		run->cmd = (struct dgp_cmd){.kind = DGP_KERNEL,
			.name = dgp_name("[graph]"),
			.units = cmd->units};
	run->is_empty = false;
	run->cmd.ns += cmd->ns;
	run->cmd.launches += cmd->launches ? cmd->launches : 1;
	run->cmd.waits_for_host |= cmd->waits_for_host;
	*run->last = effect;
	while (*run->last)
		run->last = &(*run->last)->next;
	return 0;
}

static int run_graph(struct run *run, const struct graph *graph);

static int run_transfer(struct run *run, const struct node *n)
{
	const struct set_params *s = &n->params.set;
	struct transfer t;
	struct dgp_cmd cmd;
	int r;

	if (n->params.type == DCU_NODE_COPY)
		r = dcu_transfer_3d(&n->params.copy.copy, &t);
	else
		r = dcu_transfer_fill(s->dst, s->pitch, s->value,
			s->element ? s->element : 1, s->width, s->height, &t);
	if (r)
		return r;
	cmd = dcu_transfer_cmd(&t);
	cmd.waits_for_host = !t.to_device && dgp_helper_start();
	return add(run, &cmd);
}

static void call_host_fn(struct host_task *task)
{
	((host_fn)(uintptr_t)task->fn)(task->user);
}

static int run_host(struct run *run, const struct node *n)
{
	struct host_task *task = calloc(1, sizeof(*task));
	struct dgp_cmd cmd = {.kind = DGP_HOST, .waits_for_host = 1};

	task->call = call_host_fn;
	task->fn = (void *)(uintptr_t)n->params.host.fn;
	task->user = n->params.host.user;
	cmd.effect = (uint64_t)(uintptr_t)task;
	return dgp_helper_start() ? add(run, &cmd) : DCU_OUT_OF_MEMORY;
}

static int run_kernel(struct run *run, const struct node *n)
{
	struct dgp_cmd cmd;
	int r = dcu_func_load(n->launch.func, run->stream->ctx);

	if (r)
		return r;
	cmd = dcu_launch_cmd(&n->launch);
	return add(run, &cmd);
}

static int run_event(struct run *run, const struct node *n)
{
	int r = flush(run);

	if (r)
		return r;
	if (n->params.type == DCU_NODE_RECORD_EVENT)
		return dcu_cuEventRecord(n->params.event, run->stream);
	return dcu_cuStreamWaitEvent(run->stream, n->params.event, 0);
}

static int run_free(struct run *run, uint64_t address)
{
	int r = flush(run);

	return r ? r : dcu_free_async(address, run->stream);
}

static int run_alloc(struct run *run, const struct node *n)
{
	const struct alloc_params *a = &n->params.alloc;
	struct pool *pool = dcu_graph_pool(dcu_device_at(a->pool.location.id));
	struct block block;
	int r = 0;

	if (!dcu_block_find(a->address, &block))
		return dcu_pool_take_at(pool, run->stream->ctx, a->bytes, a->address);
	if (!block.is_freed && run->exec->flags & DCU_INSTANTIATE_AUTO_FREE)
		r = run_free(run, a->address);
	return r ? r : dcu_pool_take_again(a->address);
}

static int run_condition(struct run *run, const struct node *n)
{
	const struct conditional_params *c = &n->params.conditional;
	uint32_t value = ((struct condition *)(uintptr_t)c->handle)->value, turns = 1;
	uint32_t body = 0;
	int r = 0;

	if (c->type == 0) {
		body = value ? 0 : 1;
	} else if (c->type == 1) {
		turns = value < CONDITION_TURNS_MAX ? value : CONDITION_TURNS_MAX;
	} else {
		body = value;
	}
	for (uint32_t i = 0; i < turns && body < n->n_bodies && !r; i++)
		r = run_graph(run, n->bodies[body]);
	return r;
}

static int run_node(struct run *run, const struct node *n)
{
	switch (n->params.type) {
	case DCU_NODE_KERNEL:
		return run_kernel(run, n);
	case DCU_NODE_COPY:
	case DCU_NODE_SET:
		return run_transfer(run, n);
	case DCU_NODE_HOST:
		return run_host(run, n);
	case DCU_NODE_GRAPH:
		return run_graph(run, n->bodies[0]);
	case DCU_NODE_WAIT_EVENT:
	case DCU_NODE_RECORD_EVENT:
		return run_event(run, n);
	case DCU_NODE_ALLOC:
		return run_alloc(run, n);
	case DCU_NODE_FREE:
		return run_free(run, n->params.freed);
	case DCU_NODE_CONDITIONAL:
		return run_condition(run, n);
	}
	return 0;
}

static int run_graph(struct run *run, const struct graph *graph)
{
	struct node **order = dcu_graph_order(graph);
	int r = order ? 0 : DCU_INVALID_VALUE;

	for (size_t i = 0; i < graph->n_nodes && !r; i++)
		if (!order[i]->disabled)
			r = run_node(run, order[i]);
	free(order);
	return r;
}

/* How often a kernel of the graph launches it again, from the device. */
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
	struct run run = {.exec = e, .stream = s, .is_empty = true};
	struct dgp_cmd after = {.kind = DGP_WAIT_STREAM};
	uint64_t turns = relaunches(e) + 1;
	int r = 0;

	run.last = &run.effects;
	if (e->last_seq && e->last_slot != s->slot) {
		after.target = (uint16_t)e->last_slot;
		after.value = e->last_seq;
		r = dcu_stream_push(s, &after, NULL);
	}
	for (uint64_t i = 0; i < turns && !r; i++)
		r = run_graph(&run, e->graph);
	r = r ? r : flush(&run);
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

int dcu_cuGraphExecKernelNodeSetParams(
	struct exec *e, struct node *node, const struct kernel_params *kernel)
{
	struct node_params p = {.type = DCU_NODE_KERNEL};

	if (!kernel)
		return DCU_INVALID_VALUE;
	memcpy(&p.kernel, kernel, DCU_KERNEL_PARAMS_V1);
	return set_in_exec(e, node, &p);
}

int dcu_cuGraphExecMemcpyNodeSetParams(
	struct exec *e, struct node *node, const struct copy_3d *copy, struct ctx *ctx)
{
	struct node_params p = {.type = DCU_NODE_COPY};

	if (!copy)
		return DCU_INVALID_VALUE;
	p.copy.copy = *copy;
	return set_in_exec(e, node, &p);
}

int dcu_cuGraphExecMemsetNodeSetParams(
	struct exec *e, struct node *node, const struct set_params *set, struct ctx *ctx)
{
	struct node_params p = {.type = DCU_NODE_SET};

	if (!set)
		return DCU_INVALID_VALUE;
	p.set = *set;
	return set_in_exec(e, node, &p);
}

int dcu_cuGraphExecHostNodeSetParams(
	struct exec *e, struct node *node, const struct host_params *host)
{
	struct node_params p = {.type = DCU_NODE_HOST};

	if (!host)
		return DCU_INVALID_VALUE;
	p.host = *host;
	return set_in_exec(e, node, &p);
}

int dcu_cuGraphExecChildGraphNodeSetParams(
	struct exec *e, struct node *node, struct graph *child)
{
	struct node_params p = {.type = DCU_NODE_GRAPH};

	p.graph = child;
	return set_in_exec(e, node, &p);
}

int dcu_cuGraphNodeSetEnabled(struct exec *e, struct node *node, unsigned enabled)
{
	struct node *copy = is_exec(e) ? dcu_graph_copy_of(e->graph, node) : NULL;

	if (!copy || copy->params.type > DCU_NODE_SET)
		return DCU_INVALID_VALUE;
	copy->disabled = !enabled;
	return 0;
}

int dcu_cuGraphNodeGetEnabled(struct exec *e, struct node *node, unsigned *ret)
{
	struct node *copy = is_exec(e) ? dcu_graph_copy_of(e->graph, node) : NULL;

	if (!copy || !ret)
		return DCU_INVALID_VALUE;
	*ret = !copy->disabled;
	return 0;
}

/* Success, or why not: 2 the shape, 3 a node's type. */
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
