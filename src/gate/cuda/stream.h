/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queues.h"

/* Streams as the gate's queues.  A default stream has no handle of its own: a context's
 * legacy one is known by the context, a thread's by a record of that thread and context.
 */

extern const struct clv_queue_ops clv_cuda_queue_ops
	__attribute__((visibility("hidden")));

/* How many captures are going on: while there are any, each submission asks the driver
 * whether it is part of one. */
extern _Atomic uint32_t clv_cuda_n_captures __attribute__((visibility("hidden")));

/* What no queue has. */
#define CLV_CUDA_NO_QUEUE ((const void *)-1)

/* By what the gate knows a stream that has a handle; calls nothing. */
CLV_HOT const void *clv_cuda_stream_handle(const void *stream)
{
	return (uintptr_t)stream > 2 && atomic_load_explicit(&clv_cuda_n_captures,
						memory_order_relaxed) == 0
		       ? stream
		       : CLV_CUDA_NO_QUEUE;
}

/* By what it knows a default stream, which has none. */
const void *clv_cuda_default_handle(const void *stream, bool is_per_thread);

/* By what it knows any. */
const void *clv_cuda_queue_handle(const void *stream, bool is_per_thread);

/* Whether what is submitted to the stream now becomes part of a graph instead. */
bool clv_cuda_is_capturing(void *stream, bool is_per_thread);

void *clv_cuda_current_context(void);

/* The program is about to destroy it. */
void clv_cuda_stream_end(void *stream);

/* A context is about to go: everything of it is complete and booked afterwards, and its
 * streams are forgotten.  NULL: all contexts. */
void clv_cuda_streams_drain(const void *context);
