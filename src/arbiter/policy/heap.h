/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A 4-ary min-heap of small ids by a wide key.  The place of every id is recorded, so
 * that any id can be moved or removed in O(log n).  Equal keys are ordered by id, so the
 * order depends on the contents only, never on their history.  Embedded in its user; not
 * thread-safe. */
#define CLV_HEAP_NOWHERE UINT32_MAX

struct clv_heap_node {
	__int128 key;
	uint32_t id;
};

struct clv_heap {
	struct clv_heap_node *nodes;
	uint32_t *places; /* by id: index into nodes, or CLV_HEAP_NOWHERE */
	uint32_t n_nodes;
	uint32_t capacity;
};

/* Makes room for the ids 0 .. capacity - 1.  Returns 0 or -ENOMEM (nothing changed). */
int clv_heap_reserve(struct clv_heap *heap, uint32_t capacity);
void clv_heap_done(struct clv_heap *heap);

/* None of these allocates.  The id must be in the heap for remove and update, and must
 * not be for push. */
void clv_heap_push(struct clv_heap *heap, uint32_t id, __int128 key);
void clv_heap_remove(struct clv_heap *heap, uint32_t id);
void clv_heap_update(struct clv_heap *heap, uint32_t id, __int128 key);

static inline bool clv_heap_is_empty(const struct clv_heap *heap)
{
	return heap->n_nodes == 0;
}

/* The node with the least key; the heap must not be empty. */
static inline const struct clv_heap_node *clv_heap_top(const struct clv_heap *heap)
{
	return &heap->nodes[0];
}
