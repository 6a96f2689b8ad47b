/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "launch.h"
#include "objects.h"

/* Graphs: nodes in the order in which they were added, each with the nodes that it comes
 * after. An executable graph has its own copy. */

struct node {
	uint32_t magic;
	struct graph *graph;
	const struct node *origin; /* the node that this one is a copy of */
	struct node_params params;
	struct launch launch;                /* of a kernel: its parameters' values */
	void *param_addresses[DCU_ARGS_MAX]; /* for calls that query them */
	struct node **after;
	size_t n_after;
	bool disabled;
	struct graph *bodies[8]; /* of a child or of a condition */
	uint32_t n_bodies;
	struct node *next;
	/* For the launch in progress: the branch of the node, and how many nodes come
	 * after it. */
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

/* The value of a condition when the graph is launched. */
struct condition {
	uint32_t magic, value;
};

#define DCU_BRANCHES 8

/* The streams of the branches of an executable graph, except for the first. */
struct branches {
	struct stream *streams[DCU_BRANCHES];
};

/* Pushes the nodes to streams, this often, and makes the stream wait for the end. */
int dcu_graph_run(const struct graph *graph, struct stream *stream, uint64_t flags,
	uint64_t turns, struct branches *branches);
void dcu_branches_end(struct branches *branches);

struct graph *dcu_graph_new(void);
void dcu_graph_free(struct graph *graph);
struct graph *dcu_graph_clone(const struct graph *graph);
bool dcu_is_graph(const struct graph *graph);
bool dcu_is_node(const struct node *node);

/* Creates a node from the parameters, and fills in their output fields. */
int dcu_node_add(struct graph *graph, struct node *const *after, size_t n_after,
	struct node_params *params, struct node **ret);
/* Creates the node of a launch whose parameters' values are known. */
struct node *dcu_node_launch(struct graph *graph, struct node *const *after,
	size_t n_after, const struct launch *launch);
/* Sets new parameters of a node of the same type. */
int dcu_node_set(struct node *node, const struct node_params *params);
bool dcu_node_comes_after(const struct node *node, const struct node *other);
/* Returns the graph's nodes in topological order; NULL for a cycle. Caller frees. */
struct node **dcu_graph_order(const struct graph *graph);
/* Returns the addresses of the values of a kernel's parameters. */
void **dcu_node_args(struct node *node);
struct node *dcu_graph_copy_of(const struct graph *graph, const struct node *original);
