/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queue/custody.h"

#include <stdbool.h>
#include <stdint.h>

/* Waits and callbacks: calls that submit no work, and so never wait for a turn.  Work
 * that the program waits for itself needs no marker. */

/* Around a wait of the program: begin for a stream (a wait for a whole context passes the
 * legacy stream, which mostly has the work), begin_other for anything else.  end returns
 * the wait's result. */
struct clv_custody clv_stream_wait_begin(void *stream, bool is_per_thread);
struct clv_custody clv_stream_wait_begin_other(void);
int clv_stream_wait_end(const struct clv_custody *custody, int result);

/* Submits a function of the program to a stream, wrapped so that its run is seen. */
int clv_stream_host_function(int (*submit)(void *stream, void *function, void *userdata),
	bool is_per_thread, void *stream, void *function, void *userdata);
int clv_stream_callback(
	int (*submit)(void *stream, void *function, void *userdata, uint32_t flags),
	bool is_per_thread, void *stream, void *function, void *userdata, uint32_t flags);
