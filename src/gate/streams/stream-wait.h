/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Calls behind which a stream may stand still (stand.h).  Any thread. */

struct clv_queue;

/* A call by which a stream waits: before it and after it. */
struct clv_stand_waiting {
	struct clv_queue *queue; /* NULL: nothing is noted */
	void *before;
	bool is_for_event;
};
struct clv_stand_waiting clv_stand_waiting_begin(
	void *stream, bool is_per_thread, bool is_for_event);
int clv_stand_waiting_end(const struct clv_stand_waiting *waiting, int result);

/* Whether one of the operations, which are described as CUstreamBatchMemOpParams and
 * hipStreamBatchMemOpParams are, is such a wait. */
bool clv_stand_has_wait(const void *operations, uint32_t n);

/* A function of the program's that the stream is going to call: for
 * clv_stand_function_begin(), or 0. */
struct clv_stand_function clv_stand_function_submitted(void *stream, bool is_per_thread);
