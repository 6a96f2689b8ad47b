/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Returns the same sequence in every run (xorshift64). */
static inline uint64_t bench_random(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline uint32_t bench_random_below(uint32_t limit)
{
	return (uint32_t)((bench_random() >> 32) % limit);
}
