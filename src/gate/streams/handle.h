/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/hot.h"
#include "gate/process/state.h"

#include <stdbool.h>
#include <stddef.h>

/* The key by which the gate finds a stream's queue record.  A default stream has no
 * handle of its own: a context's legacy stream is identified by the context, a thread's
 * own by a record of that thread and context. */

#define CLV_STREAM_PER_THREAD ((void *)2) /* a thread's own default stream */

/* The key of no queue. */
#define CLV_STREAM_NO_QUEUE ((const void *)-1)

/* The key of a stream, as far as it is known without a driver call.  The special handles
 * 1 and 2 match no queue. */
CLV_HOT const void *clv_stream_handle(const void *stream, bool is_per_thread)
{
	if (CLV_LIKELY(stream))
		return stream;
	return is_per_thread ? clv_gate_thread.own_default_handle
			     : clv_gate_thread.default_handle;
}

/* Call when another context is, or may be, current on this thread. */
static inline void clv_stream_forget_context(void)
{
	clv_gate_thread.default_handle = NULL;
	clv_gate_thread.own_default_handle = NULL;
}

/* The key of any stream.  Returns an error of the API if it cannot be determined now. */
int clv_stream_queue_handle(const void *stream, bool is_per_thread, const void **ret);

/* Whether this is the calling thread's own default stream. */
static inline bool clv_stream_is_own_default(const void *stream, bool is_per_thread)
{
	return stream == CLV_STREAM_PER_THREAD || (!stream && is_per_thread);
}

/* Whether this is the key of an own default stream of the calling thread; returns its
 * context. */
bool clv_stream_is_of_thread(const void *handle, void **ret_context);
