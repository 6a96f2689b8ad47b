/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/packed.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Estimates of how long commands take, by kind: kernels by handle and size, other
 * commands by operation and magnitude.  A direct-mapped table of atomics; a collision
 * only makes a command unknown again, and unknown commands go one at a time.  Keys are
 * never 0, and mixed: their high bits are the index.  Any thread. */
#define CLV_COST_MIXED UINT64_MAX /* a batch of several kinds updates no estimate */

/* Operations that are keyed by clv_cost_key_bytes(). */
enum clv_cost_operation {
	CLV_COST_READ = 1,
	CLV_COST_WRITE,
	CLV_COST_COPY,
	CLV_COST_FILL,
	CLV_COST_MAP,
	CLV_COST_MIGRATE,
	CLV_COST_NATIVE,
	CLV_COST_COMMAND_BUFFER,
};

#define CLV_COST_MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/* The key of a kernel launched with these sizes. */
static inline __attribute__((always_inline)) uint64_t clv_cost_key_kernel(
	const void *kernel, uint64_t x, uint64_t y, uint64_t z)
{
	uint64_t size = x * CLV_COST_MULTIPLIER ^ (y << 32 | z);

	return (size + (uint64_t)(uintptr_t)kernel) * CLV_COST_MULTIPLIER | 1;
}

static inline uint64_t clv_cost_key_bytes(
	enum clv_cost_operation operation, size_t n_bytes)
{
	uint64_t magnitude = n_bytes ? 64 - (uint64_t)__builtin_clzll(n_bytes) : 0;

	return ((uint64_t)operation << 8 | magnitude) * CLV_COST_MULTIPLIER | 1;
}

struct clv_cost {
	_Atomic uint64_t key;
	_Atomic uint64_t packed; /* one such command, packed; up to 4 s */
};

#define CLV_COST_BITS 12
extern struct clv_cost clv_costs[1 << CLV_COST_BITS]
	__attribute__((visibility("hidden")));

static inline struct clv_cost *clv_cost_of(uint64_t key)
{
	return &clv_costs[key >> (64 - CLV_COST_BITS)];
}

/* The estimate in nanoseconds, at least 1; 0: unknown. */
static inline __attribute__((always_inline)) uint64_t clv_cost_estimate(uint64_t key)
{
	const struct clv_cost *cost = clv_cost_of(key);

	if (atomic_load_explicit(&cost->key, memory_order_relaxed) != key)
		return 0;
	return CLV_FLIGHT_NS(atomic_load_explicit(&cost->packed, memory_order_relaxed));
}

/* Updates the estimate: n commands of this kind took took_ns one after the other. */
void clv_cost_learn(uint64_t key, uint64_t took_ns, uint64_t n);

/* While no other lease waits for what is in flight: if commands of this kind took far
 * longer than expected, the estimate follows later ones at once, not only after two
 * seconds. */
void clv_cost_calm(uint64_t key);

/* Raises the estimate to at least this: a command of this kind took that long alone, and
 * what was learned before may be the mean of commands of several kinds. */
void clv_cost_raise(uint64_t key, uint64_t least_ns);

/* Gives the kind a second key that lives longer: the estimate of lasting_key is copied to
 * key, and clv_cost_learn(key) updates both from now on. */
void clv_cost_seed(uint64_t key, uint64_t lasting_key);

/* Drops all estimates, after they turned out to be far off. */
void clv_cost_forget(void);
