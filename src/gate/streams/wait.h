/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queue/custody.h"

#include <stdbool.h>
#include <stdint.h>

/* Waits and callbacks: calls that submit no work.  None of them is ever made to wait.
 * What the program waits for itself needs no marker of the gate's. */

/* Around a wait of the program's: for a stream (the legacy one, where it is for a whole
 * context, since that mostly has the work), or for something else.  The second returns
 * the wait's result. */
struct clv_custody clv_stream_wait_begin(void *stream, bool is_per_thread);
struct clv_custody clv_stream_wait_begin_other(void);
int clv_stream_wait_end(const struct clv_custody *custody, int result);

/* A function of the program's that a stream is going to call. */
int clv_stream_host_function(int (*submit)(void *stream, void *function, void *userdata),
	bool is_per_thread, void *stream, void *function, void *userdata);
int clv_stream_callback(
	int (*submit)(void *stream, void *function, void *userdata, uint32_t flags),
	bool is_per_thread, void *stream, void *function, void *userdata, uint32_t flags);
