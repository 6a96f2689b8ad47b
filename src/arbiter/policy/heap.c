/* SPDX-License-Identifier: Apache-2.0 */
/* The indexed heap that keeps the policy's decisions at O(log n).  With four children per
 * node the tree of 1,000 leases is five levels deep, and siblings share cache lines.  Its
 * storage never shrinks: the number of leases is small. */
#include "arbiter/policy/heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define ARITY 4

int clv_heap_reserve(struct clv_heap *heap, uint32_t capacity)
{
	struct clv_heap_node *nodes;
	uint32_t *places;

	if (capacity <= heap->capacity)
		return 0;
	nodes = realloc(heap->nodes, capacity * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	heap->nodes = nodes;
	places = realloc(heap->places, capacity * sizeof(*places));
	if (!places)
		return -ENOMEM;
	heap->places = places;

	for (uint32_t id = heap->capacity; id < capacity; id++)
		places[id] = CLV_HEAP_NOWHERE;
	heap->capacity = capacity;
	return 0;
}

void clv_heap_done(struct clv_heap *heap)
{
	free(heap->nodes);
	free(heap->places);
	*heap = (struct clv_heap){0};
}

static inline bool is_before(const struct clv_heap_node *a, const struct clv_heap_node *b)
{
	return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static inline void put(struct clv_heap *heap, uint32_t place, struct clv_heap_node node)
{
	heap->nodes[place] = node;
	heap->places[node.id] = place;
}

static void sift_up(struct clv_heap *heap, uint32_t place, struct clv_heap_node node)
{
	while (place > 0) {
		uint32_t parent = (place - 1) / ARITY;

		if (!is_before(&node, &heap->nodes[parent]))
			break;
		put(heap, place, heap->nodes[parent]);
		place = parent;
	}
	put(heap, place, node);
}

static void sift_down(struct clv_heap *heap, uint32_t place, struct clv_heap_node node)
{
	for (;;) {
		uint32_t least = place * ARITY + 1;
		uint32_t end = least + ARITY;

		if (least >= heap->n_nodes)
			break;
		if (end > heap->n_nodes)
			end = heap->n_nodes;
		for (uint32_t child = least + 1; child < end; child++) {
			if (is_before(&heap->nodes[child], &heap->nodes[least]))
				least = child;
		}
		if (!is_before(&heap->nodes[least], &node))
			break;
		put(heap, place, heap->nodes[least]);
		place = least;
	}
	put(heap, place, node);
}

static void settle(struct clv_heap *heap, uint32_t place, struct clv_heap_node node)
{
	if (place > 0 && is_before(&node, &heap->nodes[(place - 1) / ARITY]))
		sift_up(heap, place, node);
	else
		sift_down(heap, place, node);
}

void clv_heap_push(struct clv_heap *heap, uint32_t id, __int128 key)
{
	assert(heap->n_nodes < heap->capacity && heap->places[id] == CLV_HEAP_NOWHERE);
	sift_up(heap, heap->n_nodes++, (struct clv_heap_node){.key = key, .id = id});
}

void clv_heap_remove(struct clv_heap *heap, uint32_t id)
{
	uint32_t place = heap->places[id];
	struct clv_heap_node last;

	assert(place < heap->n_nodes);
	heap->places[id] = CLV_HEAP_NOWHERE;
	last = heap->nodes[--heap->n_nodes];
	if (place < heap->n_nodes)
		settle(heap, place, last);
}

void clv_heap_update(struct clv_heap *heap, uint32_t id, __int128 key)
{
	assert(heap->places[id] < heap->n_nodes);
	settle(heap, heap->places[id], (struct clv_heap_node){.key = key, .id = id});
}
