/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda/abi.h"
#include "gate/cuda/stream.h"
#include "gate/queues.h"

/* One call that gives a stream work: begin, the driver's call, end. */
struct clv_cuda_submission {
	struct clv_view *view; /* NULL: the call just passes */
	struct clv_queue *queue;
	struct clv_custody custody;
	uint64_t packed;
	uint64_t kind;
	bool is_blocking; /* complete when the call returns */
};

/* Waits for the turn.  CLV_CUDA_SUCCESS, or the error that the program gets in place of
 * its call.  stream is the program's own. */
int clv_cuda_submission_begin(struct clv_cuda_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking);

/* Books the outcome and returns it. */
int clv_cuda_submission_end(struct clv_cuda_submission *submission, int result);

/* What a program's descriptions say, if it gave any.  Inline, for the quick way. */
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
