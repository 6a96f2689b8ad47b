/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The lease's compute units, where it has a limit in space (gate/attach/sm.h).  What a
 * program sees is a GPU that has so many, and unit 0 is the first of them. */

/* Before HSA is begun: it reads the environment then. */
void clv_hsa_units_begin(void);

/* A queue was made on a GPU. */
void clv_hsa_units_keep(const void *queue);

/* How many the GPU has, in place of what HSA says. */
void clv_hsa_units_show(uint32_t *n_units);
