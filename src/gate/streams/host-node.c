/* SPDX-License-Identifier: Apache-2.0 */
/* The records are kept, because a graph, its copies and the executable ones may have them
 * for as long as the process lives; each pair of function and data has one. */
#include "gate/streams/host-node.h"

#include "gate/process/lock.h"
#include "gate/process/state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_BITS 8
#define N_FIRST ((size_t)1 << FIRST_BITS)

struct record {
	struct record *next;
	struct clv_host_node node;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* A table of linear hashing: a new record splits at most one bucket, so that no call
 * takes longer because many were before it.  The first segment has the first N_FIRST
 * buckets, each other one as many as all before it. */
static struct record *first[N_FIRST];
static struct record **segments[32] = {first};
static _Atomic size_t n_buckets = N_FIRST;
static size_t n_records;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
}

static void run(void *userdata)
{
	const struct record *record = userdata;

	clv_gate_callback_begin();
	record->node.function(record->node.userdata);
	clv_gate_callback_end();
}

static unsigned highest_bit(size_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

static unsigned segment_of(size_t bucket)
{
	return bucket < N_FIRST ? 0 : highest_bit(bucket) - FIRST_BITS + 1;
}

static struct record **bucket_at(size_t bucket)
{
	return bucket < N_FIRST ? &first[bucket]
				: &segments[segment_of(bucket)]
					   [bucket - ((size_t)1 << highest_bit(bucket))];
}

static struct record **bucket_of(const struct clv_host_node *node, size_t n)
{
	uint64_t key = (uint64_t)(uintptr_t)node->userdata ^
		       (uint64_t)(uintptr_t)node->function << 17;
	size_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	size_t half = (size_t)1 << highest_bit(n), bucket = hash & (2 * half - 1);

	return bucket_at(bucket < n ? bucket : bucket - half);
}

/* Whether there is memory for one more bucket. */
static bool make_room(size_t n)
{
	unsigned segment = segment_of(n);

	if (segment >= sizeof(segments) / sizeof(*segments))
		return false;
	if (!segments[segment])
		segments[segment] = calloc(n, sizeof(struct record *));
	return segments[segment] != NULL;
}

/* With the lock held.  Without memory the chains become longer instead.  In a child that
 * is forked meanwhile a chain may end early, and a pair gets a second record: the number
 * of buckets is stored last, with their segment before it. */
static void grow(void)
{
	size_t n = atomic_load(&n_buckets);
	struct record **from, *record, *next;

	if (n_records < n || !make_room(n))
		return;
	from = bucket_at(n - ((size_t)1 << highest_bit(n)));
	record = *from;
	*from = NULL;
	for (; record; record = next) {
		struct record **bucket = bucket_of(&record->node, n + 1);

		next = record->next;
		record->next = *bucket;
		*bucket = record;
	}
	atomic_store(&n_buckets, n + 1);
}

/* With the lock held. */
static struct record *find_or_add(const struct clv_host_node *node)
{
	struct record **bucket, *record;

	grow();
	bucket = bucket_of(node, atomic_load(&n_buckets));
	record = *bucket;
	while (record && (record->node.function != node->function ||
				 record->node.userdata != node->userdata))
		record = record->next;
	if (record)
		return record;
	record = malloc(sizeof(*record));
	if (!record)
		return NULL;
	*record = (struct record){*bucket, *node};
	*bucket = record;
	n_records++;
	return record;
}

struct clv_host_node clv_host_node_wrap(const struct clv_host_node *node)
{
	struct record *record;

	if (!node->function)
		return *node;
	pthread_mutex_lock(&lock);
	record = find_or_add(node);
	pthread_mutex_unlock(&lock);
	return record ? (struct clv_host_node){run, record} : *node;
}

struct clv_host_node clv_host_node_unwrap(const struct clv_host_node *node)
{
	return node->function == run ? ((const struct record *)node->userdata)->node
				     : *node;
}

void *clv_host_node_params(struct clv_host_node *room, void *params)
{
	if (!params)
		return NULL;
	*room = clv_host_node_wrap(params);
	return room;
}

void *clv_graph_node_params(struct clv_graph_node *room, void *params)
{
	const struct clv_graph_node *node = params;

	if (!node || node->type != CLV_GRAPH_NODE_HOST)
		return params;
	*room = *node;
	room->host = clv_host_node_wrap(&node->host);
	return room;
}

void clv_host_node_found(struct clv_host_node *params)
{
	*params = clv_host_node_unwrap(params);
}

void clv_graph_node_found(struct clv_graph_node *params)
{
	if (params->type == CLV_GRAPH_NODE_HOST)
		clv_host_node_found(&params->host);
}

void clv_host_nodes_forget_parent(void)
{
	begin_lock();
}
