/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda/context/abi.h"
#include "gate/streams/submit.h"
#include "gate/window/costs.h"

/* Values from a program's description of a launch or copy.  A description that is NULL
 * goes to the driver, which returns its error.  Inline, because the fast path uses them.
 */
static inline void *clv_cuda_launch_stream(const struct clv_cuda_launch *launch)
{
	return launch ? launch->stream : NULL;
}

static inline uint64_t clv_cuda_launch_kind(
	const void *function, const struct clv_cuda_launch *launch)
{
	return launch ? clv_cost_key_kernel(function, launch->grid[0], launch->grid[1],
				launch->grid[2])
		      : 0;
}

static inline size_t clv_cuda_copy_bytes_2d(const struct clv_cuda_copy_2d *copy)
{
	return copy ? copy->width_bytes * copy->height : 0;
}

static inline size_t clv_cuda_copy_bytes_3d(const struct clv_cuda_copy_3d *copy)
{
	return copy ? copy->width_bytes * copy->height * copy->depth : 0;
}
