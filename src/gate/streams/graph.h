/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Graphs that begin with a wait for semaphores of other interfaces.  A graph is one
 * command, and no call tells where in it the device is: a graph that is blocked at such a
 * wait would count as running.  So the same wait is submitted to the stream first, where
 * it is observed (blocked-stream.h), and the graph's own wait is over when the graph
 * starts.
 *
 * This is done for waits that everything else in the graph follows, and for semaphores
 * whose value only grows (timelines), since others are consumed by a wait.  All other
 * waits in graphs count as running. */

/* desc begins with the semaphore's type, which has the same numbers in CUDA and HIP. */
void clv_semaphore_imported(void *semaphore, const void *desc);
void clv_semaphore_gone(const void *semaphore);

/* made: an executable graph was instantiated from the graph, or updated to it.  gone: it
 * is about to be destroyed. */
void clv_graph_made(void *exec, void *graph);
void clv_graph_gone(const void *exec);

/* New parameters were set in the executable graph for a node of its original graph: those
 * of a wait, or of a node of any type. */
void clv_graph_wait_set(const void *exec, const void *node, const void *params);
void clv_graph_node_set(const void *exec, const void *node, const void *params);

/* Submits the graph's first waits; call before the launch. */
void clv_graph_wait_first(const void *exec, void *stream, bool is_per_thread);

void clv_graphs_forget_parent(void);
