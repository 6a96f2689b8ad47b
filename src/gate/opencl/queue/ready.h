/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A priority queue that returns the item with the lowest number first: a pairing heap
 * whose links are in the items, so nothing is allocated.  NULL is the empty one;
 * otherwise the pointer is the first item.  With n items a removal costs O(log n),
 * amortized.  Not thread-safe. */
struct clv_ready {
	uint64_t number; /* set before the push, and unique */
	struct clv_ready *child, *sibling;
	struct clv_ready *before; /* its elder sibling, or the parent */
};

void clv_ready_push(struct clv_ready **heap, struct clv_ready *item);

/* Returns the number of items that it visited. */
uint64_t clv_ready_remove(struct clv_ready **heap, struct clv_ready *item);
