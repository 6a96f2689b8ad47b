/* SPDX-License-Identifier: Apache-2.0 */
/* The indexed heap, compared with an array that is searched linearly. */
#include "arbiter/policy/heap.h"

#include <stdio.h>
#include <stdlib.h>

#define N_IDS 300
#define N_STEPS 200000

static uint64_t random_state = 88172645463325252;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

/* From a small range, so that equal keys are common; sometimes far outside 64 bits. */
static __int128 random_key(void)
{
	__int128 key = (int)random_below(1000) - 500;

	return random_below(4) == 0 ? key * ((__int128)1 << 100) : key;
}

struct model {
	bool inside[N_IDS];
	__int128 keys[N_IDS];
};

static int least(const struct model *m)
{
	int found = -1;

	for (int i = 0; i < N_IDS; i++) {
		if (m->inside[i] && (found < 0 || m->keys[i] < m->keys[found]))
			found = i;
	}
	return found;
}

static bool agrees(const struct clv_heap *heap, const struct model *m)
{
	int first = least(m);

	if (first < 0)
		return clv_heap_is_empty(heap);
	return !clv_heap_is_empty(heap) && clv_heap_top(heap)->id == (uint32_t)first &&
	       clv_heap_top(heap)->key == m->keys[first];
}

static void step(struct clv_heap *heap, struct model *m)
{
	uint32_t id = random_below(N_IDS);

	m->keys[id] = random_key();
	if (!m->inside[id]) {
		clv_heap_push(heap, id, m->keys[id]);
		m->inside[id] = true;
	} else if (random_below(2) == 0) {
		clv_heap_update(heap, id, m->keys[id]);
	} else {
		clv_heap_remove(heap, id);
		m->inside[id] = false;
	}
}

int main(void)
{
	struct clv_heap heap = {0};
	static struct model m;

	printf("1..1\n");
	if (clv_heap_reserve(&heap, 10) < 0 || clv_heap_reserve(&heap, N_IDS) < 0)
		abort();
	for (int i = 0; i < N_STEPS; i++) {
		step(&heap, &m);
		if (!agrees(&heap, &m)) {
			printf("not ok 1 - the least is on top (step %d)\n", i);
			return 1;
		}
	}
	while (!clv_heap_is_empty(&heap)) {
		if (!agrees(&heap, &m)) {
			printf("not ok 1 - they come out in order\n");
			return 1;
		}
		m.inside[clv_heap_top(&heap)->id] = false;
		clv_heap_remove(&heap, clv_heap_top(&heap)->id);
	}
	clv_heap_done(&heap);
	printf("ok 1 - heap and array agree\n");
	return 0;
}
