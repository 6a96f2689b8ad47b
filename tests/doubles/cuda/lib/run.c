/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/helper.h"
#include "copy.h"
#include "functions.h"
#include "graph.h"
#include "memory.h"
#include "outside.h"
#include "pool.h"
#include <stdlib.h>

/* Pushes a graph's nodes to streams: the first branch to the stream of the launch, others
 * to streams of the executable, which wait for each other where nodes do. In a chain,
 * nodes that only take multiprocessor time become one command. The graph inside a node
 * runs one node after the other. */

#define CONDITION_TURNS_MAX 1000000U

/* The nodes of one branch that are not yet pushed to its stream. */
struct run {
	struct stream *stream;
	uint64_t flags;
	struct dgp_cmd cmd; /* time of multiprocessors */
	struct effect *effects, **last;
	bool is_empty;
	uint64_t seq;
	struct node *node; /* the last one */
	bool is_used;
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

static int run_semaphores(struct run *run, const struct node *n)
{
	int r = flush(run);

	return r ? r : dcu_semaphores_wait(&n->params.semaphores, run->stream);
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

	if (run->flags & DCU_INSTANTIATE_AUTO_FREE &&
		dcu_block_find(a->address, &block) && !block.is_freed)
		r = run_free(run, a->address);
	return r ? r : dcu_pool_take_at(pool, run->stream->ctx, a->bytes, a->address);
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
	case DCU_NODE_AWAIT:
		return run_semaphores(run, n);
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

/* --- Branches --- */

#define BRANCH_STREAMS_MAX 64

static _Atomic int n_branch_streams;

struct flight {
	struct run runs[DCU_BRANCHES];
	struct branches *branches;
	uint64_t start; /* of the launch, in the first branch's stream */
};

static void begin_run(struct run *run, struct stream *s, uint64_t flags)
{
	*run = (struct run){.stream = s, .flags = flags, .is_empty = true};
	run->last = &run->effects;
}

static int wait_for(struct stream *s, int slot, uint64_t seq)
{
	struct dgp_cmd cmd = {
		.kind = DGP_WAIT_STREAM, .target = (uint16_t)slot, .value = seq};

	return dcu_stream_push(s, &cmd, NULL);
}

/* Returns the stream of a branch; NULL: none is left. */
static struct stream *branch_stream(struct flight *f, int i)
{
	const struct stream *first = f->runs[0].stream;
	struct stream **s = &f->branches->streams[i];

	if (*s && (*s)->ctx != first->ctx)
		dcu_branches_end(f->branches);
	if (*s)
		return *s;
	if (atomic_fetch_add(&n_branch_streams, 1) >= BRANCH_STREAMS_MAX ||
		dcu_stream_open(first->ctx, DCU_STREAM_NON_BLOCKING, first->priority, s))
		atomic_fetch_sub(&n_branch_streams, 1);
	return *s;
}

/* A branch begins at the launch, or continues after the first one. */
static struct run *new_branch(struct flight *f, int *ret)
{
	const struct stream *first = f->runs[0].stream;

	for (int i = 1; i < DCU_BRANCHES; i++) {
		struct stream *s;

		if (f->runs[i].is_used)
			continue;
		s = branch_stream(f, i);
		if (!s)
			break;
		begin_run(&f->runs[i], s, f->runs[0].flags);
		f->runs[i].is_used = true;
		*ret = wait_for(s, first->slot, f->start);
		return &f->runs[i];
	}
	return &f->runs[0];
}

/* Chooses a branch whose last node is one that this node comes after. */
static struct run *choose_run(struct flight *f, const struct node *n, int *ret)
{
	for (size_t i = 0; i < n->n_after; i++)
		if (f->runs[n->after[i]->branch].node == n->after[i])
			return &f->runs[n->after[i]->branch];
	if (!f->runs[0].is_used) {
		f->runs[0].is_used = true;
		return &f->runs[0];
	}
	return new_branch(f, ret);
}

static bool is_in_chain(const struct node *n)
{
	return n->n_next == 1 && n->next_of_chain->n_after == 1;
}

static int end_node(struct run *run, struct node *n)
{
	int r = flush(run);

	n->seq = dgp_slot_tail(run->stream->slot);
	return r;
}

static int place_node(struct flight *f, struct node *n)
{
	int r = 0;
	struct run *run = choose_run(f, n, &r);

	if (!r && run->node && run->node->next_of_chain != n)
		r = end_node(run, run->node);
	n->branch = (uint32_t)(run - f->runs);
	for (size_t i = 0; i < n->n_after && !r; i++) {
		const struct node *other = n->after[i];

		if (other->branch != n->branch)
			r = wait_for(run->stream, f->runs[other->branch].stream->slot,
				other->seq);
	}
	if (!r && !n->disabled)
		r = run_node(run, n);
	run->node = n;
	/* A wait for this node must not include the nodes behind it. */
	return r || is_in_chain(n) ? r : end_node(run, n);
}

static int join(struct flight *f)
{
	int r = flush(&f->runs[0]);

	for (int i = 1; i < DCU_BRANCHES && !r; i++) {
		const struct stream *s = f->runs[i].stream;

		if (f->runs[i].is_used)
			r = wait_for(f->runs[0].stream, s->slot, dgp_slot_tail(s->slot));
		f->runs[i].is_used = false;
	}
	return r;
}

static int run_branches(struct flight *f, const struct graph *graph)
{
	struct node **order = dcu_graph_order(graph);
	struct dgp_cmd start = {.kind = DGP_WRITE};
	int r = order ? 0 : DCU_INVALID_VALUE;

	f->runs[0].is_used = false;
	f->runs[0].node = NULL;
	r = r ? r : dcu_stream_push(f->runs[0].stream, &start, &f->start);
	for (size_t i = 0; i < graph->n_nodes && !r; i++)
		r = place_node(f, order[i]);
	free(order);
	return r ? r : join(f);
}

/* Sets whether there are branches. */
static bool count_next(const struct graph *graph)
{
	size_t n_roots = 0;
	bool forks = false;

	for (struct node *n = graph->nodes; n; n = n->next) {
		n->n_next = 0;
		n->next_of_chain = NULL;
	}
	for (struct node *n = graph->nodes; n; n = n->next) {
		n_roots += !n->n_after;
		for (size_t i = 0; i < n->n_after; i++) {
			n->after[i]->next_of_chain = n;
			forks |= ++n->after[i]->n_next > 1;
		}
	}
	return forks || n_roots > 1;
}

int dcu_graph_run(const struct graph *graph, struct stream *s, uint64_t flags,
	uint64_t turns, struct branches *branches)
{
	struct flight f = {.branches = branches};
	bool has_branches = count_next(graph);
	int r = 0;

	begin_run(&f.runs[0], s, flags);
	for (uint64_t i = 0; i < turns && !r; i++)
		r = has_branches ? run_branches(&f, graph) : run_graph(&f.runs[0], graph);
	return r ? r : flush(&f.runs[0]);
}

void dcu_branches_end(struct branches *branches)
{
	for (int i = 0; i < DCU_BRANCHES; i++)
		if (branches->streams[i]) {
			dcu_cuStreamDestroy_v2(branches->streams[i]);
			atomic_fetch_sub(&n_branch_streams, 1);
		}
	*branches = (struct branches){0};
}
