/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whose memory is in a pool, or in a region, as pools were called at first: a GPU's is
 * held to the quota, and the host's is not.  Where HSA does not say, it is a GPU's. */
bool clv_hsa_pool_is_gpus(uint64_t pool);

/* Whether it is, or HSA does not say. */
bool clv_hsa_agent_is_gpu(uint64_t agent);

/* What the driver takes for so much from the pool, or may take. */
uint64_t clv_hsa_taken_bytes(uint64_t pool, uint64_t n_bytes);
