/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Wraps calls behind which a stream may be blocked (blocked-stream.h).  Any thread. */

struct clv_queue;

/* Around a call by which a stream waits.  end returns result. */
struct clv_blocked_waiting {
	struct clv_queue *queue; /* NULL: the wait is not tracked */
	void *before;
	bool is_for_event;
};
struct clv_blocked_waiting clv_blocked_waiting_begin(
	void *stream, bool is_per_thread, bool is_for_event);
int clv_blocked_waiting_end(const struct clv_blocked_waiting *waiting, int result);

/* Whether one of the operations is such a wait.  They are laid out as
 * CUstreamBatchMemOpParams and hipStreamBatchMemOpParams. */
bool clv_blocked_has_wait(const void *operations, uint32_t n);

/* A function of the program was submitted to the stream: returns the argument of
 * clv_blocked_function_begin(), all zero if it is not tracked. */
struct clv_blocked_function clv_blocked_function_submitted(
	void *stream, bool is_per_thread);
