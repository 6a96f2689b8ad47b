/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A queue from which the item with the lowest number comes first: a pairing heap, whose
 * links lie in the items, so that nothing is allocated.  NULL is empty; what it points to
 * is the first.  With n items inside a removal costs O(log n), in the long run.  Not
 * thread-safe. */
struct clv_ready {
	uint64_t number; /* set before it is pushed, each another */
	struct clv_ready *child, *sibling;
	struct clv_ready *before; /* its elder sibling, or its parent */
};

void clv_ready_push(struct clv_ready **heap, struct clv_ready *item);

/* Returns how many items it looked at. */
uint64_t clv_ready_remove(struct clv_ready **heap, struct clv_ready *item);
