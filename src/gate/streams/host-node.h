/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Functions of the program in nodes that it adds to a graph by hand.  The node gets a
 * function of the gate's, so that the run is seen as a callback (process/state.h).  Any
 * thread. */

/* CUDA_HOST_NODE_PARAMS, hipHostNodeParams */
struct clv_host_node {
	void (*function)(void *userdata);
	void *userdata;
};

/* CUgraphNodeParams, hipGraphNodeParams */
struct clv_graph_node {
	int type, reserved[3];
	union {
		struct clv_host_node host;
		uint64_t room[30];
	};
};

#define CLV_GRAPH_NODE_HOST 3

/* What the node gets in the place of the program's function.  Without memory that is the
 * function itself. */
struct clv_host_node clv_host_node_wrap(const struct clv_host_node *node);

/* The program's function, of what a node has. */
struct clv_host_node clv_host_node_unwrap(const struct clv_host_node *node);

/* The same for the parameters of a call: in *room if they differ from the program's,
 * which may be NULL. */
void *clv_host_node_params(struct clv_host_node *room, void *params);
void *clv_graph_node_params(struct clv_graph_node *room, void *params);

/* After a call that returned a node's parameters. */
void clv_host_node_found(struct clv_host_node *params);
void clv_graph_node_found(struct clv_graph_node *params);

/* In a forked child: no thread has the lock. */
void clv_host_nodes_forget_parent(void);
