/* SPDX-License-Identifier: Apache-2.0 */
/* The records are kept, because a graph, its copies and the executable ones may have them
 * for as long as the process lives; each pair of function and data has one. */
#include "gate/streams/host-node.h"

#include "gate/process/lock.h"
#include "gate/process/state.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_BITS 8

struct record {
	struct record *next;
	struct clv_host_node node;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *first[1 << FIRST_BITS];
/* A hash's first n_bits are its bucket. */
static struct {
	struct record **buckets;
	unsigned n_bits;
	size_t n;
} table = {first, FIRST_BITS, 0};

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

static struct record **bucket_of(const struct clv_host_node *node)
{
	uint64_t key = (uint64_t)(uintptr_t)node->userdata ^
		       (uint64_t)(uintptr_t)node->function << 17;

	return &table.buckets[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - table.n_bits)];
}

/* With the lock held.  Without memory the chains become longer instead.  In a child that
 * is forked meanwhile, chains end early, and a pair may get a second record. */
static void grow(void)
{
	struct record **old = table.buckets, **buckets;
	size_t n_old = (size_t)1 << table.n_bits;

	if (table.n < 2 * n_old)
		return;
	buckets = calloc(2 * n_old, sizeof(struct record *));
	if (!buckets)
		return;
	table.buckets = buckets;
	table.n_bits++;
	for (size_t i = 0; i < n_old; i++) {
		struct record *record, *next;

		for (record = old[i]; record; record = next) {
			struct record **bucket = bucket_of(&record->node);

			next = record->next;
			record->next = *bucket;
			*bucket = record;
		}
	}
	if (old != first)
		free(old);
}

/* With the lock held. */
static struct record *find_or_add(const struct clv_host_node *node)
{
	struct record **bucket, *record;

	grow();
	bucket = bucket_of(node);
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
	table.n++;
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
