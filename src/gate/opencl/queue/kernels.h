/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/window/costs.h"

#include <CL/cl.h>

/* The key of a launch in the table of costs. */

static inline __attribute__((always_inline)) uint64_t clv_kernel_kind(
	cl_kernel kernel, cl_uint n_dimensions, const size_t *global_size)
{
	uint64_t key = (uint64_t)(uintptr_t)kernel + 1;

	if (!global_size)
		return key * CLV_COST_MULTIPLIER | 1;
	key += global_size[0] * CLV_COST_MULTIPLIER;
	if (n_dimensions > 1)
		key = (key ^ global_size[1]) * CLV_COST_MULTIPLIER;
	if (n_dimensions > 2)
		key = (key ^ global_size[2]) * CLV_COST_MULTIPLIER;
	return key | 1;
}

/* Gives a kernel of unknown duration the known duration of kernels of the same program,
 * name and size.  Otherwise programs that create a kernel object for each launch would
 * never have a known duration. */
void clv_kernel_seed(
	uint64_t kind, cl_kernel kernel, cl_uint n_dimensions, const size_t *global_size);
