/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "launch.h"
#include "objects.h"

/* Graphs: nodes in the order in which they were added, each with those that it comes
 * after. An executable graph has a copy of its own. */

struct node {
	uint32_t magic;
	struct graph *graph;
	const struct node *origin; /* what it is a copy of */
	struct node_params params;
	struct launch launch;                /* of a kernel: its parameters' values */
	void *param_addresses[DCU_ARGS_MAX]; /* for those who ask for them */
	struct node **after;
	size_t n_after;
	bool disabled;
	struct graph *bodies[8]; /* of a child or of a condition */
	uint32_t n_bodies;
	struct node *next;
	/* Of the launch that goes on: where the node is, and who comes after it. */
	uint32_t branch, n_next;
	uint64_t seq;
	const struct node *next_of_chain;
};

struct graph {
	uint32_t magic;
	struct node *nodes;
	size_t n_nodes;
	bool is_owned; /* by a node */
};

/* What a condition is when the graph is launched. */
struct condition {
	uint32_t magic, value;
};

#define DCU_BRANCHES 8

/* The streams of the branches of an executable graph, but for the first. */
struct branches {
	struct stream *streams[DCU_BRANCHES];
};

/* Puts the nodes into streams, so often, and has the stream wait for the end. */
int dcu_graph_run(const struct graph *graph, struct stream *stream, uint64_t flags,
	uint64_t turns, struct branches *branches);
void dcu_branches_end(struct branches *branches);

struct graph *dcu_graph_new(void);
void dcu_graph_free(struct graph *graph);
struct graph *dcu_graph_clone(const struct graph *graph);
bool dcu_is_graph(const struct graph *graph);
bool dcu_is_node(const struct node *node);

/* Makes a node of the parameters, and fills in what is an answer in them. */
int dcu_node_add(struct graph *graph, struct node *const *after, size_t n_after,
	struct node_params *params, struct node **ret);
/* The node of a launch, whose values are known. */
struct node *dcu_node_launch(struct graph *graph, struct node *const *after,
	size_t n_after, const struct launch *launch);
/* New parameters for a node of the same type. */
int dcu_node_set(struct node *node, const struct node_params *params);
bool dcu_node_comes_after(const struct node *node, const struct node *other);
/* The graph's nodes so that each is behind those that it comes after; NULL for a circle.
 * To be freed. */
struct node **dcu_graph_order(const struct graph *graph);
/* Where the values of a kernel's parameters are. */
void **dcu_node_args(struct node *node);
struct node *dcu_graph_copy_of(const struct graph *graph, const struct node *original);
