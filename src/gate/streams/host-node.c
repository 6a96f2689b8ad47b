/* SPDX-License-Identifier: Apache-2.0 */
/* The records are kept, because a graph, its copies and the executable ones may have them
 * for as long as the process lives; each pair of function and data has one. */
#include "gate/streams/host-node.h"

#include "gate/process/lock.h"
#include "gate/process/state.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define N_BUCKETS 256

struct record {
	struct record *next;
	struct clv_host_node node;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *buckets[N_BUCKETS];

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

	return &buckets[key * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

/* With the lock held. */
static struct record *find_or_add(const struct clv_host_node *node)
{
	struct record **bucket = bucket_of(node), *record = *bucket;

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
