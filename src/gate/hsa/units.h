/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The lease's compute units, where it has a limit in space (gate/attach/sm.h).  The
 * program sees a GPU with just these units, numbered from 0. */

/* Sets HSA_CU_MASK.  To be called before the real hsa_init, which reads it. */
void clv_hsa_units_begin(void);

/* For a new queue on a GPU: sets the queue's mask if HSA did not apply the limit, and
 * tells the agent whether the limit is applied. */
void clv_hsa_units_apply(const void *queue);

/* Cuts the GPU's number of units, as HSA reports it, to the limit. */
void clv_hsa_units_limit(uint32_t *n_units);
