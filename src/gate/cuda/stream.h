/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda/capture.h"
#include "gate/cuda/stand.h"
#include "gate/queues.h"

/* Streams as the gate's queues.  A default stream has no handle of its own: a context's
 * legacy one is known by the context, a thread's by a record of that thread and context.
 */

extern const struct clv_queue_ops clv_cuda_queue_ops
	__attribute__((visibility("hidden")));

/* What no queue has. */
#define CLV_CUDA_NO_QUEUE ((const void *)-1)

/* By what the gate knows a stream, as far as it is known without a call.  The special
 * handles 1 and 2 are no queue's. */
CLV_HOT const void *clv_cuda_stream_handle(const void *stream, bool is_per_thread)
{
	if (CLV_LIKELY(stream))
		return stream;
	return is_per_thread ? clv_gate_thread.own_default_handle
			     : clv_gate_thread.default_handle;
}

/* Another context is, or may be, current on this thread. */
static inline void clv_cuda_forget_context(void)
{
	clv_gate_thread.default_handle = NULL;
	clv_gate_thread.own_default_handle = NULL;
}

/* By what it knows any. */
const void *clv_cuda_queue_handle(const void *stream, bool is_per_thread);

/* Whether what is submitted to the stream now becomes part of a graph instead. */
bool clv_cuda_is_capturing(void *stream, bool is_per_thread);

void *clv_cuda_current_context(void);

struct clv_cuda_stand *clv_cuda_stand_of(struct clv_queue *queue);

/* The program is about to destroy it. */
void clv_cuda_stream_end(void *stream);

/* A context is about to go: everything of it is complete and booked afterwards. */
void clv_cuda_streams_drain(const void *context);

/* It has gone, and its streams with it. */
void clv_cuda_streams_forget(const void *context);
