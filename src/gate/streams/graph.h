/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Graphs that begin with a wait for semaphores of other interfaces.  A graph is one
 * command, and nobody says where in it the device is: one that stands at such a wait
 * would count as running.  So the same wait is put into the stream first, where it is
 * seen (stand.h), and the graph's own is over when the graph comes to it.
 *
 * This is for waits that all else in the graph comes after, and for semaphores whose
 * value only grows (timelines): others are used up by a wait.  All other waits in graphs
 * count as running. */

/* desc begins with the semaphore's type, which is the same number in CUDA and HIP. */
void clv_semaphore_imported(void *semaphore, const void *desc);
void clv_semaphore_gone(const void *semaphore);

/* An executable graph was made of the graph, or is now like it; or it is about to go. */
void clv_graph_made(void *exec, void *graph);
void clv_graph_gone(const void *exec);

/* The node, which is of the graph that the executable one was made of, has other
 * parameters there: those of a wait, or of a node of any type. */
void clv_graph_wait_set(const void *exec, const void *node, const void *params);
void clv_graph_node_set(const void *exec, const void *node, const void *params);

/* Before the launch. */
void clv_graph_wait_first(const void *exec, void *stream, bool is_per_thread);

void clv_graphs_forget_parent(void);
