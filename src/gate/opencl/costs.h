/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

/* How long commands take, by kind: kernels by handle and global size, the rest by
 * operation and magnitude.  A direct-mapped table of atomics; a collision only makes a
 * command unknown again, and an unknown command goes one at a time.  Keys are never 0. */
#define CLV_COST_MIXED UINT64_MAX /* a batch of several kinds teaches nothing */

/* Operations of one table row each with clv_cost_key_bytes(). */
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

static inline uint64_t clv_cost_key_kernel(
	cl_kernel kernel, cl_uint n_dimensions, const size_t *global_size)
{
	uint64_t key = (uint64_t)(uintptr_t)kernel;

	for (cl_uint i = 0; global_size && i < n_dimensions && i < 3; i++)
		key = (key ^ global_size[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return key | 1;
}

static inline uint64_t clv_cost_key_bytes(
	enum clv_cost_operation operation, size_t n_bytes)
{
	uint64_t magnitude = n_bytes ? 64 - (uint64_t)__builtin_clzll(n_bytes) : 0;

	return ((uint64_t)operation << 8 | magnitude) << 1 | 1;
}

/* Nanoseconds, at least 1; 0: not known. */
uint64_t clv_cost_estimate(uint64_t key);

/* One command of this kind took about this long. */
void clv_cost_learn(uint64_t key, uint64_t took_ns);

/* Estimates turned out to be far off: learn anew. */
void clv_cost_forget(void);
