/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many captures are going on: while there are any, each submission asks the driver
 * whether it is part of one. */
extern _Atomic uint32_t clv_n_captures __attribute__((visibility("hidden")));

/* Whether what is submitted to the stream now becomes part of a graph instead. */
bool clv_stream_is_capturing(void *stream, bool is_per_thread);

/* Whether one of them keeps the legacy stream from being touched, where the driver cannot
 * be asked that. */
bool clv_captures_shut_legacy(void);

/* Before the driver's call, and after it: what the first is for, and the call's result,
 * which is returned.  If the first is no success the program gets that, and no call is
 * made. */
int clv_capture_begin(void *stream, bool is_per_thread, const void **ret_handle);
int clv_capture_begun(const void *handle, int result);

/* Around the calls that end one; a capture that went wrong ends too, with an error. */
int clv_capture_end(int (*end)(void *stream, void *ret_graph), bool is_per_thread,
	void *stream, void *ret_graph);

/* Between these no call of this thread is part of a capture, or disturbs one, as far as
 * the driver lets it. */
struct clv_relaxation {
	int mode; /* of the thread's own */
	bool is_on;
};
void clv_relax_begin(struct clv_relaxation *relaxation);
void clv_relax_end(struct clv_relaxation *relaxation);

/* The stream is about to go; the context has gone. */
void clv_capture_forget(const void *handle);
void clv_captures_end_with(const void *context);
void clv_captures_forget_parent(void);
