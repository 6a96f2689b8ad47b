/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"
#include "../../gpu/client/effect.h"
#include "copy.h"
#include "memory.h"
#include "outside.h"
#include <stdlib.h>
#include <string.h>

/* Nodes of graphs. */

bool dcu_is_graph(const struct graph *graph)
{
	return graph && graph->magic == DCU_IS_GRAPH;
}

bool dcu_is_node(const struct node *node)
{
	return node && node->magic == DCU_IS_NODE;
}

struct graph *dcu_graph_new(void)
{
	struct graph *g = calloc(1, sizeof(*g));

	g->magic = DCU_IS_GRAPH;
	return g;
}

void dcu_graph_free(struct graph *graph)
{
	for (struct node *n = graph->nodes; n; n = n->next) {
		n->magic = DCU_DEAD;
		for (uint32_t i = 0; i < n->n_bodies; i++)
			dcu_graph_free(n->bodies[i]);
		free(n->after);
		n->after = NULL;
		n->n_after = 0;
	}
	graph->magic = DCU_DEAD;
}

static struct node *append(
	struct graph *graph, struct node *const *after, size_t n_after, int type)
{
	struct node *n = calloc(1, sizeof(*n)), **last = &graph->nodes;

	n->magic = DCU_IS_NODE;
	n->graph = graph;
	n->params.type = type;
	n->after = calloc(n_after + 1, sizeof(struct node *));
	if (n_after)
		memcpy(n->after, after, n_after * sizeof(struct node *));
	n->n_after = n_after;
	while (*last)
		last = &(*last)->next;
	*last = n;
	graph->n_nodes++;
	return n;
}

static void remove_last(struct graph *graph, struct node *node)
{
	struct node **at = &graph->nodes;

	while (*at != node)
		at = &(*at)->next;
	*at = NULL;
	graph->n_nodes--;
	node->magic = DCU_DEAD;
}

/* --- A node of each type --- */

static int set_kernel(struct node *n)
{
	const struct kernel_params *k = &n->params.kernel;

	n->launch = (struct launch){
		.func = k->func ? k->func : k->kernel, .shared_bytes = k->shared_bytes};
	memcpy(n->launch.grid, k->grid, sizeof(k->grid));
	memcpy(n->launch.block, k->block, sizeof(k->block));
	return dcu_launch_prepare(&n->launch, k->params, k->extra);
}

/* Checks whether the transfer is possible now; it is checked again when it runs. */
static int try_transfer(const struct node *n)
{
	const struct set_params *s = &n->params.set;
	struct transfer t;
	int r;

	if (n->params.type == DCU_NODE_COPY)
		r = dcu_transfer_3d(&n->params.copy.copy, &t);
	else
		r = dcu_transfer_fill(s->dst, s->pitch, s->value,
			s->element ? s->element : 1, s->width, s->height, &t);
	if (!r)
		dgp_effect_free(t.effect);
	return r;
}

static int set_child(struct node *n)
{
	if (!dcu_is_graph(n->params.graph))
		return DCU_INVALID_VALUE;
	n->bodies[0] = dcu_graph_clone(n->params.graph);
	n->bodies[0]->is_owned = true;
	n->n_bodies = 1;
	return 0;
}

static int set_alloc(struct node *n)
{
	struct alloc_params *a = &n->params.alloc;

	if (!a->bytes || a->pool.location.type != DCU_AT_DEVICE ||
		!dcu_device_at(a->pool.location.id))
		return DCU_INVALID_VALUE;
	a->address = DCU_DEVICE_BASE + dcu_addresses_take(a->bytes);
	return 0;
}

static int set_conditional(struct node *n)
{
	struct conditional_params *c = &n->params.conditional;
	const struct condition *condition = (struct condition *)(uintptr_t)c->handle;

	if (!condition || condition->magic != DCU_IS_CONDITION || c->type < 0 ||
		c->type > 2 || !c->n_bodies || c->n_bodies > 8)
		return DCU_INVALID_VALUE;
	n->n_bodies = c->n_bodies;
	for (uint32_t i = 0; i < n->n_bodies; i++) {
		n->bodies[i] = dcu_graph_new();
		n->bodies[i]->is_owned = true;
	}
	c->bodies = n->bodies;
	return 0;
}

static int set_any(struct node *n)
{
	switch (n->params.type) {
	case DCU_NODE_KERNEL:
		return set_kernel(n);
	case DCU_NODE_COPY:
	case DCU_NODE_SET:
		return try_transfer(n);
	case DCU_NODE_HOST:
		return n->params.host.fn ? 0 : DCU_INVALID_VALUE;
	case DCU_NODE_GRAPH:
		return set_child(n);
	case DCU_NODE_WAIT_EVENT:
	case DCU_NODE_RECORD_EVENT:
		return n->params.event && n->params.event->magic == DCU_IS_EVENT
			       ? 0
			       : DCU_INVALID_HANDLE;
	case DCU_NODE_AWAIT:
		return dcu_semaphores_keep(&n->params.semaphores);
	case DCU_NODE_ALLOC:
		return set_alloc(n);
	case DCU_NODE_CONDITIONAL:
		return set_conditional(n);
	case DCU_NODE_EMPTY:
	case DCU_NODE_FREE:
		return 0;
	}
	return DCU_NOT_SUPPORTED;
}

int dcu_node_add(struct graph *graph, struct node *const *after, size_t n_after,
	struct node_params *params, struct node **ret)
{
	struct node *n;
	int r;

	if (!ret || !params || !dcu_is_graph(graph) || (n_after && !after))
		return DCU_INVALID_VALUE;
	for (size_t i = 0; i < n_after; i++)
		if (!dcu_is_node(after[i]) || after[i]->graph != graph)
			return DCU_INVALID_VALUE;
	n = append(graph, after, n_after, params->type);
	n->params = *params;
	r = set_any(n);
	if (r) {
		remove_last(graph, n);
		return r;
	}
	params->alloc = params->type == DCU_NODE_ALLOC ? n->params.alloc : params->alloc;
	if (params->type == DCU_NODE_CONDITIONAL)
		params->conditional.bodies = n->bodies;
	*ret = n;
	return 0;
}

void **dcu_node_args(struct node *n)
{
	for (int i = 0; i < DCU_ARGS_MAX; i++)
		n->param_addresses[i] = (char *)&n->launch.args + dcu_func_args[i].offset;
	return n->param_addresses;
}

struct node *dcu_node_launch(struct graph *graph, struct node *const *after,
	size_t n_after, const struct launch *launch)
{
	struct node *n = append(graph, after, n_after, DCU_NODE_KERNEL);
	struct kernel_params *k = &n->params.kernel;

	n->launch = *launch;
	k->func = launch->func;
	k->shared_bytes = launch->shared_bytes;
	memcpy(k->grid, launch->grid, sizeof(k->grid));
	memcpy(k->block, launch->block, sizeof(k->block));
	k->params = dcu_node_args(n);
	return n;
}

int dcu_node_set(struct node *node, const struct node_params *params)
{
	struct node trial = *node;
	int r;

	if (params->type != node->params.type || params->type == DCU_NODE_ALLOC ||
		params->type == DCU_NODE_CONDITIONAL)
		return DCU_INVALID_VALUE;
	trial.params = *params;
	r = set_any(&trial);
	if (!r)
		*node = trial;
	return r;
}

/* --- Of the whole --- */

bool dcu_node_comes_after(const struct node *node, const struct node *other)
{
	if (node == other)
		return true;
	for (size_t i = 0; i < node->n_after; i++)
		if (dcu_node_comes_after(node->after[i], other))
			return true;
	return false;
}

static bool has(struct node *const *nodes, size_t n, const struct node *node)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i] == node)
			return true;
	return false;
}

struct node **dcu_graph_order(const struct graph *graph)
{
	struct node **order = calloc(graph->n_nodes + 1, sizeof(*order));
	size_t n = 0, before = SIZE_MAX;

	while (n != before) {
		before = n;
		for (struct node *at = graph->nodes; at; at = at->next) {
			bool is_free = !has(order, n, at);

			for (size_t i = 0; i < at->n_after && is_free; i++)
				is_free = has(order, n, at->after[i]);
			if (is_free)
				order[n++] = at;
		}
	}
	if (n == graph->n_nodes)
		return order;
	free(order);
	return NULL;
}

struct node *dcu_graph_copy_of(const struct graph *graph, const struct node *original)
{
	for (struct node *n = graph->nodes; n; n = n->next)
		if (n->origin == original)
			return n;
	return NULL;
}

struct graph *dcu_graph_clone(const struct graph *graph)
{
	struct graph *g = dcu_graph_new();

	for (const struct node *n = graph->nodes; n; n = n->next) {
		struct node *copy = append(g, n->after, n->n_after, n->params.type);

		copy->params = n->params;
		copy->launch = n->launch;
		copy->disabled = n->disabled;
		copy->origin = n;
		copy->n_bodies = n->n_bodies;
		for (uint32_t i = 0; i < n->n_bodies; i++)
			copy->bodies[i] = dcu_graph_clone(n->bodies[i]);
	}
	for (struct node *n = g->nodes; n; n = n->next)
		for (size_t i = 0; i < n->n_after; i++)
			n->after[i] = dcu_graph_copy_of(g, n->after[i]);
	return g;
}
