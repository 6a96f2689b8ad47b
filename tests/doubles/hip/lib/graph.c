/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* Graphs: nodes with their dependencies. A graph runs by pushing its nodes to the stream
 * one after the other, in an order that respects the edges. */

bool dhi_is_graph(const struct graph *graph)
{
	return graph && graph->magic == IS_GRAPH;
}

struct graph *dhi_graph_new(void)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	graph->magic = IS_GRAPH;
	graph->memory = calloc(1, sizeof(*graph->memory));
	graph->memory->references = 1;
	return graph;
}

static void drop_memory(struct graph_memory *m)
{
	if (atomic_fetch_sub(&m->references, 1) != 1)
		return;
	for (size_t i = 0; i < m->n; i++) {
		struct memory memory;

		if (dhi_memory_remove(m->blocks[i].base, &memory))
			dhi_give(memory.device, memory.base, memory.bytes);
	}
	free(m->blocks);
	free(m);
}

void dhi_graph_free(struct graph *graph)
{
	for (struct node *node = graph->nodes; node; node = node->next) {
		node->graph = NULL;
		if (node->op.kind == OP_GRAPH)
			dhi_graph_free(node->op.graph);
	}
	drop_memory(graph->memory);
	free(graph->order);
	graph->magic = 0;
}

struct node *dhi_graph_add(
	struct graph *graph, struct node *const *deps, size_t n, const struct op *op)
{
	struct node *node = calloc(1, sizeof(*node)), **last = &graph->nodes;

	node->graph = graph;
	node->op = *op;
	node->deps = malloc((n + 1) * sizeof(*deps));
	if (n)
		memcpy(node->deps, deps, n * sizeof(*deps));
	node->n_deps = n;
	while (*last)
		last = &(*last)->next;
	*last = node;
	graph->n++;
	return node;
}

struct node *dhi_graph_find(const struct graph *graph, const struct node *original)
{
	struct node *node = graph->nodes;

	while (node && node->original != original)
		node = node->next;
	return node;
}

struct graph *dhi_graph_clone(const struct graph *graph)
{
	struct graph *clone = dhi_graph_new();

	drop_memory(clone->memory);
	clone->memory = graph->memory;
	atomic_fetch_add(&clone->memory->references, 1);
	for (const struct node *node = graph->nodes; node; node = node->next) {
		struct node *copy = dhi_graph_add(clone, NULL, 0, &node->op);

		copy->original = node;
		copy->kernel = node->kernel;
		copy->set = node->set;
		if (node->op.kind == OP_GRAPH) {
			copy->op.graph = dhi_graph_clone(node->op.graph);
			copy->op.graph->owner = clone;
		}
	}
	for (struct node *copy = clone->nodes; copy; copy = copy->next) {
		const struct node *node = copy->original;

		free(copy->deps);
		copy->deps = malloc((node->n_deps + 1) * sizeof(*copy->deps));
		copy->n_deps = node->n_deps;
		for (size_t i = 0; i < node->n_deps; i++)
			copy->deps[i] = dhi_graph_find(clone, node->deps[i]);
	}
	return clone;
}

static bool is_free(const struct node *node)
{
	for (size_t i = 0; i < node->n_deps; i++)
		if (!node->deps[i]->is_done)
			return false;
	return true;
}

bool dhi_graph_order(struct graph *graph)
{
	size_t n = 0, before;

	free(graph->order);
	graph->order = malloc((graph->n + 1) * sizeof(struct node *));
	for (struct node *node = graph->nodes; node; node = node->next)
		node->is_done = false;
	do {
		before = n;
		for (struct node *node = graph->nodes; node; node = node->next) {
			if (node->is_done || !is_free(node))
				continue;
			node->is_done = true;
			graph->order[n++] = node;
		}
	} while (n != before);
	for (struct node *node = graph->nodes; node; node = node->next)
		if (node->op.kind == OP_GRAPH && !dhi_graph_order(node->op.graph))
			return false;
	return n == graph->n;
}

int dhi_graph_take(struct graph *graph, struct device *device, size_t bytes, void **ret)
{
	struct memory memory = {.bytes = bytes, .kind = MEMORY_DEVICE, .device = device};
	struct graph_memory *m = graph->memory;
	int r = dhi_take(device, device->coarse, bytes, ret);

	if (r)
		return r;
	memory.base = *ret;
	dhi_memory_add(&memory);
	m->blocks = realloc(m->blocks, (m->n + 1) * sizeof(*m->blocks));
	m->blocks[m->n++] = memory;
	return 0;
}

bool dhi_is_exec(const struct exec *exec)
{
	return exec && exec->magic == IS_EXEC;
}

/* --- The graph's own calls --- */

int dhi_hipGraphCreate(struct graph **ret, unsigned flags)
{
	if (!ret || flags)
		return HIP_INVALID_VALUE;
	*ret = dhi_graph_new();
	return 0;
}

int dhi_hipGraphDestroy(struct graph *graph)
{
	if (!dhi_is_graph(graph) || graph->owner)
		return HIP_INVALID_VALUE;
	dhi_graph_free(graph);
	return 0;
}

int dhi_hipGraphClone(struct graph **ret, struct graph *graph)
{
	if (!ret || !dhi_is_graph(graph))
		return HIP_INVALID_VALUE;
	*ret = dhi_graph_clone(graph);
	return 0;
}

int dhi_hipGraphInstantiate(struct exec **ret, struct graph *graph,
	struct node **error_node, char *log, size_t log_bytes)
{
	struct exec *exec;
	struct graph *clone;

	if (!ret || !dhi_is_graph(graph))
		return HIP_INVALID_VALUE;
	clone = dhi_graph_clone(graph);
	if (!dhi_graph_order(clone)) {
		dhi_graph_free(clone);
		return HIP_INVALID_VALUE;
	}
	exec = calloc(1, sizeof(*exec));
	exec->magic = IS_EXEC;
	exec->graph = clone;
	*ret = exec;
	return 0;
}

int dhi_hipGraphInstantiateWithFlags(
	struct exec **ret, struct graph *graph, unsigned long long flags)
{
	return flags > 15 ? HIP_INVALID_VALUE
			  : dhi_hipGraphInstantiate(ret, graph, NULL, NULL, 0);
}

int dhi_hipGraphExecDestroy(struct exec *exec)
{
	if (!dhi_is_exec(exec))
		return HIP_INVALID_VALUE;
	dhi_graph_free(exec->graph);
	exec->magic = 0;
	return 0;
}

int dhi_hipGraphLaunch(struct exec *exec, struct stream *handle)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_GRAPH};

	if (!s || !dhi_is_exec(exec))
		return HIP_INVALID_VALUE;
	op.graph = exec->graph;
	if (s->capture)
		op.graph = dhi_graph_clone(exec->graph);
	return dhi_submit(s, &op);
}

/* Whether the one can take the parameters of the other. */
static bool is_alike(const struct graph *a, const struct graph *b)
{
	const struct node *x = a->nodes, *y = b->nodes;

	for (; x && y; x = x->next, y = y->next)
		if (x->op.kind != y->op.kind || x->n_deps != y->n_deps)
			return false;
	return !x && !y;
}

int dhi_hipGraphExecUpdate(
	struct exec *exec, struct graph *graph, struct node **error_node, int *ret_result)
{
	struct graph *clone;

	if (!dhi_is_exec(exec) || !dhi_is_graph(graph) || !ret_result)
		return HIP_INVALID_VALUE;
	*ret_result = is_alike(exec->graph, graph) ? 0 : 2;
	if (*ret_result)
		return HIP_GRAPH_UPDATE_FAILURE;
	clone = dhi_graph_clone(graph);
	dhi_graph_order(clone);
	dhi_graph_free(exec->graph);
	exec->graph = clone;
	return 0;
}

/* --- Edges --- */

static bool is_in(const struct graph *graph, const struct node *node)
{
	return node && node->graph == graph;
}

int dhi_hipGraphAddDependencies(
	struct graph *graph, struct node *const *from, struct node *const *to, size_t n)
{
	if (!dhi_is_graph(graph) || (n && (!from || !to)))
		return HIP_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct node *node = to[i];

		if (!is_in(graph, from[i]) || !is_in(graph, node) || from[i] == node)
			return HIP_INVALID_VALUE;
		node->deps =
			realloc(node->deps, (node->n_deps + 1) * sizeof(*node->deps));
		node->deps[node->n_deps++] = from[i];
	}
	return 0;
}

/* --- Queries: into an array that may be too small, or the count alone --- */

struct list {
	struct node **to;
	size_t room, n;
};

static void put(struct list *list, struct node *node)
{
	if (list->to && list->n < list->room)
		list->to[list->n] = node;
	list->n++;
}

static int give(struct list *list, size_t *n)
{
	for (size_t i = list->n; list->to && i < list->room; i++)
		list->to[i] = NULL;
	*n = list->to && list->n > list->room ? list->room : list->n;
	return 0;
}

int dhi_hipGraphGetNodes(struct graph *graph, struct node **nodes, size_t *n)
{
	struct list list = {nodes, n ? *n : 0, 0};

	if (!dhi_is_graph(graph) || !n)
		return HIP_INVALID_VALUE;
	for (struct node *node = graph->nodes; node; node = node->next)
		put(&list, node);
	return give(&list, n);
}

int dhi_hipGraphGetEdges(
	struct graph *graph, struct node **from, struct node **to, size_t *n)
{
	struct list starts = {from, n ? *n : 0, 0}, ends = {to, n ? *n : 0, 0};

	if (!dhi_is_graph(graph) || !n)
		return HIP_INVALID_VALUE;
	for (struct node *node = graph->nodes; node; node = node->next)
		for (size_t i = 0; i < node->n_deps; i++) {
			put(&starts, node->deps[i]);
			put(&ends, node);
		}
	give(&ends, n);
	return give(&starts, n);
}
