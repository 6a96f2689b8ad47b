/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions of the program in nodes that it adds to a graph by hand.  The node gets a
 * function of the gate's, so that the run is seen as a callback (process/state.h).  Any
 * thread. */

/* CUDA_HOST_NODE_PARAMS, hipHostNodeParams */
struct clv_host_node {
	void (*function)(void *userdata);
	void *userdata;
};

/* What the node gets in the place of the program's function.  Without memory that is the
 * function itself. */
struct clv_host_node clv_host_node_wrap(const struct clv_host_node *node);

/* The program's function, of what a node has. */
struct clv_host_node clv_host_node_unwrap(const struct clv_host_node *node);

/* In a forked child: no thread has the lock. */
void clv_host_nodes_forget_parent(void);
