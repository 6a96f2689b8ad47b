/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the waits with which a graph begins, once per graph from its nodes and edges, and
 * only in programs that have imported a timeline semaphore. */
#include "gate/streams/graph.h"

#include "gate/process/lock.h"
#include "gate/process/view.h"
#include "gate/streams/capture.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream-wait.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TIMELINE_FD 9
/* Nodes that wait, in one graph; further ones count as other nodes. */
#define WAITS_MAX 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
}

static const struct clv_stream_graphs *calls(void)
{
	return &clv_stream_driver->graphs;
}

/* Semaphores whose value only grows. */

struct semaphore {
	struct semaphore *next;
	const void *handle;
};

static struct semaphore *semaphores;
static _Atomic uint32_t n_semaphores;

void clv_semaphore_imported(void *handle, const void *desc)
{
	struct semaphore *made;

	if (*(const int *)desc != TIMELINE_FD)
		return;
	made = malloc(sizeof(*made));
	if (!made)
		return;
	pthread_mutex_lock(&lock);
	*made = (struct semaphore){semaphores, handle};
	semaphores = made;
	atomic_fetch_add(&n_semaphores, 1);
	pthread_mutex_unlock(&lock);
}

void clv_semaphore_gone(const void *handle)
{
	struct semaphore *gone;

	pthread_mutex_lock(&lock);
	for (struct semaphore **link = &semaphores; (gone = *link); link = &gone->next) {
		if (gone->handle != handle)
			continue;
		*link = gone->next;
		free(gone);
		atomic_fetch_sub(&n_semaphores, 1);
		break;
	}
	pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static bool is_timeline(const void *handle)
{
	const struct semaphore *each = semaphores;

	while (each && each->handle != handle)
		each = each->next;
	return each;
}

/* The waits with which executable graphs begin. */

struct params { /* laid out as in both APIs */
	void **semaphores;
	const char *values;
	uint32_t n;
};

struct wait {
	struct wait *next;
	const void *exec, *node;
	uint32_t n;
	void **semaphores; /* stored after the values */
	_Alignas(16) char values[];
};

static struct wait *waits;
static _Atomic uint32_t n_waits;

static struct wait *new_wait(
	const void *exec, const void *node, const struct params *params)
{
	size_t value_bytes = params->n * calls()->value_bytes;
	size_t handle_bytes = params->n * sizeof(void *);
	struct wait *wait = malloc(sizeof(*wait) + value_bytes + handle_bytes);

	if (!wait)
		return NULL;
	*wait = (struct wait){.exec = exec, .node = node, .n = params->n};
	wait->semaphores = (void **)(void *)(wait->values + value_bytes);
	memcpy(wait->values, params->values, value_bytes);
	memcpy(wait->semaphores, params->semaphores, handle_bytes);
	return wait;
}

static struct wait *copy_of(const struct wait *wait)
{
	struct params params = {wait->semaphores, wait->values, wait->n};

	return new_wait(wait->exec, wait->node, &params);
}

/* With the lock held, as add_wait() and drop_waits(). */
static bool can_be_first(void *const *handles, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!is_timeline(handles[i]))
			return false;
	}
	return n > 0;
}

static void add_wait(const void *exec, const void *node, const struct params *params)
{
	struct wait *made = can_be_first(params->semaphores, params->n)
				    ? new_wait(exec, node, params)
				    : NULL;

	if (!made)
		return;
	made->next = waits;
	waits = made;
	atomic_fetch_add(&n_waits, 1);
}

/* node: NULL for all.  Returns whether there was any. */
static bool drop_waits(const void *exec, const void *node)
{
	bool any = false;

	for (struct wait **link = &waits; *link;) {
		struct wait *each = *link;

		if (each->exec != exec || (node && each->node != node)) {
			link = &each->next;
			continue;
		}
		*link = each->next;
		free(each);
		atomic_fetch_sub(&n_waits, 1);
		any = true;
	}
	return any;
}

void clv_graph_gone(const void *exec)
{
	if (atomic_load(&n_waits) == 0)
		return;
	pthread_mutex_lock(&lock);
	drop_waits(exec, NULL);
	pthread_mutex_unlock(&lock);
}

void clv_graph_wait_set(const void *exec, const void *node, const void *params)
{
	if (atomic_load(&n_waits) == 0)
		return;
	pthread_mutex_lock(&lock);
	if (drop_waits(exec, node))
		add_wait(exec, node, params);
	pthread_mutex_unlock(&lock);
}

#define UNION_AT 16 /* offset of the union in the parameters of a node of any type */

void clv_graph_node_set(const void *exec, const void *node, const void *params)
{
	if (*(const int *)params == calls()->wait_type)
		clv_graph_wait_set(exec, node, (const char *)params + UNION_AT);
}

/* The shape of a graph. */

struct shape {
	size_t n_nodes, n_edges;
	void **nodes; /* sorted */
	void **from, **to;
	/* For each node: a bitmap of the waits that it follows by an edge; OTHER: it
	 * follows another node. */
	uint32_t *behind;
	void *waits[WAITS_MAX];
	uint32_t n_waits;
};

#define OTHER (UINT32_C(1) << WAITS_MAX)

/* The bit of a wait node, or OTHER. */
static uint32_t bit_of(const struct shape *shape, const void *node)
{
	for (uint32_t i = 0; i < shape->n_waits; i++) {
		if (shape->waits[i] == node)
			return UINT32_C(1) << i;
	}
	return OTHER;
}

static void find_waits(struct shape *shape)
{
	for (size_t i = 0; i < shape->n_nodes && shape->n_waits < WAITS_MAX; i++) {
		int type = 0;

		if (calls()->type(shape->nodes[i], &type) == CLV_STREAM_SUCCESS &&
			type == calls()->wait_type)
			shape->waits[shape->n_waits++] = shape->nodes[i];
	}
}

static int compare(const void *a, const void *b)
{
	const char *one = *(char *const *)a, *other = *(char *const *)b;

	return (one > other) - (one < other);
}

static bool read_nodes(struct shape *shape, void *graph)
{
	if (calls()->nodes(graph, NULL, &shape->n_nodes) != CLV_STREAM_SUCCESS)
		return false;
	shape->nodes = calloc(shape->n_nodes + 1, sizeof(void *));
	shape->behind = calloc(shape->n_nodes + 1, sizeof(*shape->behind));
	if (!shape->nodes || !shape->behind ||
		calls()->nodes(graph, shape->nodes, &shape->n_nodes) !=
			CLV_STREAM_SUCCESS)
		return false;
	find_waits(shape);
	qsort(shape->nodes, shape->n_nodes, sizeof(void *), compare);
	return shape->n_waits > 0;
}

static bool read_edges(struct shape *shape, void *graph)
{
	if (calls()->edges(graph, NULL, NULL, &shape->n_edges) != CLV_STREAM_SUCCESS)
		return false;
	shape->from = calloc(shape->n_edges + 1, sizeof(void *));
	shape->to = calloc(shape->n_edges + 1, sizeof(void *));
	return shape->from && shape->to &&
	       (shape->n_edges == 0 || calls()->edges(graph, shape->from, shape->to,
					       &shape->n_edges) == CLV_STREAM_SUCCESS);
}

static void note_edges(struct shape *shape)
{
	for (size_t i = 0; i < shape->n_edges; i++) {
		void **to = bsearch(&shape->to[i], shape->nodes, shape->n_nodes,
			sizeof(void *), compare);

		if (to)
			shape->behind[to - shape->nodes] |= bit_of(shape, shape->from[i]);
	}
}

/* Returns the waits that all other nodes follow: the intersection over all nodes that
 * are not waits and follow no node but waits.  A wait that one of these follows is
 * added too. */
static uint32_t first_waits(const struct shape *shape)
{
	uint32_t first = (UINT32_C(1) << shape->n_waits) - 1;

	for (size_t i = 0; i < shape->n_nodes; i++) {
		if (bit_of(shape, shape->nodes[i]) == OTHER &&
			!(shape->behind[i] & OTHER))
			first &= shape->behind[i];
	}
	for (uint32_t round = 0; round < shape->n_waits; round++) {
		for (size_t i = 0; i < shape->n_nodes; i++) {
			if (bit_of(shape, shape->nodes[i]) & first)
				first |= shape->behind[i];
		}
	}
	return first & ~OTHER;
}

static void keep_first_waits(const struct shape *shape, const void *exec)
{
	uint32_t first = first_waits(shape);

	for (uint32_t i = 0; i < shape->n_waits; i++) {
		struct params params = {0};

		if (!(first & (UINT32_C(1) << i)) ||
			calls()->wait_params(shape->waits[i], &params) !=
				CLV_STREAM_SUCCESS)
			continue;
		pthread_mutex_lock(&lock);
		add_wait(exec, shape->waits[i], &params);
		pthread_mutex_unlock(&lock);
	}
}

void clv_graph_made(void *exec, void *graph)
{
	struct shape shape = {0};

	clv_graph_gone(exec);
	if (atomic_load(&n_semaphores) == 0 || !calls()->nodes)
		return;
	if (read_nodes(&shape, graph) && read_edges(&shape, graph)) {
		note_edges(&shape);
		keep_first_waits(&shape, exec);
	}
	free(shape.nodes);
	free(shape.behind);
	free(shape.from);
	free(shape.to);
}

/* Launches. */

static struct wait *copy_waits(const void *exec)
{
	struct wait *all = NULL, *copy;

	pthread_mutex_lock(&lock);
	for (const struct wait *each = waits; each; each = each->next) {
		if (each->exec != exec || !can_be_first(each->semaphores, each->n))
			continue;
		copy = copy_of(each);
		if (!copy)
			break;
		copy->next = all;
		all = copy;
	}
	pthread_mutex_unlock(&lock);
	return all;
}

static void submit_wait(struct wait *wait, void *stream, bool is_per_thread)
{
	struct clv_blocked_waiting waiting =
		clv_blocked_waiting_begin(stream, is_per_thread, false);

	if (!stream && is_per_thread)
		stream = CLV_STREAM_PER_THREAD;
	clv_blocked_waiting_end(
		&waiting, calls()->wait(wait->semaphores, wait->values, wait->n, stream));
}

void clv_graph_wait_first(const void *exec, void *stream, bool is_per_thread)
{
	struct wait *all, *next;

	if (atomic_load(&n_waits) == 0 || !clv_gate_current_view() ||
		clv_stream_is_capturing(stream, is_per_thread))
		return;
	all = copy_waits(exec);
	for (struct wait *each = all; each; each = next) {
		next = each->next;
		submit_wait(each, stream, is_per_thread);
		free(each);
	}
}

void clv_graphs_forget_parent(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
	semaphores = NULL;
	waits = NULL;
	atomic_store(&n_semaphores, 0);
	atomic_store(&n_waits, 0);
}
