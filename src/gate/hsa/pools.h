/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a pool, or a region (HSA's older form of pools), is memory of a GPU, to which
 * the quota applies.  True also if HSA does not tell. */
bool clv_hsa_pool_is_gpus(uint64_t pool);

/* Whether the agent is a GPU.  True also if HSA does not tell. */
bool clv_hsa_agent_is_gpu(uint64_t agent);

/* The size that the driver takes from the pool for n_bytes, or an upper bound of it. */
uint64_t clv_hsa_rounded_bytes(uint64_t pool, uint64_t n_bytes);

/* In a forked child: no thread has the lock. */
void clv_hsa_pools_forget_parent(void);
