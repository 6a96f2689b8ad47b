/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/hot.h"
#include "gate/process/state.h"

#include <stdbool.h>
#include <stddef.h>

/* By what the gate knows a stream.  A default stream has no handle of its own: a
 * context's legacy one is known by the context, a thread's by a record of that thread and
 * context. */

#define CLV_STREAM_PER_THREAD ((void *)2) /* a thread's own default stream */

/* What no queue has. */
#define CLV_STREAM_NO_QUEUE ((const void *)-1)

/* By what the gate knows a stream, as far as it is known without a call.  The special
 * handles 1 and 2 are no queue's. */
CLV_HOT const void *clv_stream_handle(const void *stream, bool is_per_thread)
{
	if (CLV_LIKELY(stream))
		return stream;
	return is_per_thread ? clv_gate_thread.own_default_handle
			     : clv_gate_thread.default_handle;
}

/* Another context is, or may be, current on this thread. */
static inline void clv_stream_forget_context(void)
{
	clv_gate_thread.default_handle = NULL;
	clv_gate_thread.own_default_handle = NULL;
}

/* By what it knows any.  An error: it cannot be known now. */
int clv_stream_queue_handle(const void *stream, bool is_per_thread, const void **ret);

/* The calling thread's own default stream. */
static inline bool clv_stream_is_own_default(const void *stream, bool is_per_thread)
{
	return stream == CLV_STREAM_PER_THREAD || (!stream && is_per_thread);
}

/* Whether this is by what the gate knows one of the calling thread's; of which context.
 */
bool clv_stream_is_of_thread(const void *handle, void **ret_context);
