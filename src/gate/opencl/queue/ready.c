/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opencl/queue/ready.h"

#include <stddef.h>

/* Melds two heaps without siblings; b may be NULL. */
static struct clv_ready *meld(struct clv_ready *a, struct clv_ready *b)
{
	if (!b)
		return a;
	if (b->number < a->number)
		return meld(b, a);
	b->before = a;
	b->sibling = a->child;
	if (b->sibling)
		b->sibling->before = b;
	a->child = b;
	return a;
}

/* Melds them in pairs from the first to the last, and the pairs from the last to the
 * first. */
static struct clv_ready *meld_all(struct clv_ready *children, uint64_t *ret_n)
{
	struct clv_ready *pairs = NULL, *all = NULL;

	while (children) {
		struct clv_ready *a = children, *b = a->sibling, *pair;

		children = b ? b->sibling : NULL;
		a->sibling = a->before = NULL;
		if (b)
			b->sibling = b->before = NULL;
		pair = meld(a, b);
		pair->sibling = pairs;
		pairs = pair;
		*ret_n += 2;
	}
	while (pairs) {
		struct clv_ready *next = pairs->sibling;

		pairs->sibling = NULL;
		all = meld(pairs, all);
		pairs = next;
	}
	return all;
}

void clv_ready_push(struct clv_ready **heap, struct clv_ready *item)
{
	item->child = item->sibling = item->before = NULL;
	*heap = meld(item, *heap);
}

static void cut(struct clv_ready *item)
{
	if (item->before->child == item)
		item->before->child = item->sibling;
	else
		item->before->sibling = item->sibling;
	if (item->sibling)
		item->sibling->before = item->before;
}

uint64_t clv_ready_remove(struct clv_ready **heap, struct clv_ready *item)
{
	uint64_t n = 1;
	struct clv_ready *rest = meld_all(item->child, &n);

	if (item == *heap) {
		*heap = rest;
	} else {
		cut(item);
		*heap = meld(*heap, rest);
	}
	return n;
}
