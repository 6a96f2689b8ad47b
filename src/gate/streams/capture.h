/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number of active captures: while there are any, each submission asks the driver
 * whether it is part of one. */
extern _Atomic uint32_t clv_n_captures __attribute__((visibility("hidden")));

/* Whether work that is submitted to the stream now becomes part of a graph. */
bool clv_stream_is_capturing(void *stream, bool is_per_thread);

/* Whether an active capture forbids use of the legacy stream; for drivers that cannot be
 * asked. */
bool clv_captures_shut_legacy(void);

/* Around the driver's call that begins a capture.  begin returns the handle for begun; if
 * it is not success the program gets that error and the call is not made.  begun takes
 * the call's result and returns it. */
int clv_capture_begin(void *stream, bool is_per_thread, const void **ret_handle);
int clv_capture_begun(const void *handle, int result);

/* Makes the call that ends a capture; an invalidated capture ends too, with an error. */
int clv_capture_end(int (*end)(void *stream, void *ret_graph), bool is_per_thread,
	void *stream, void *ret_graph);

/* Between these two calls no call of this thread is part of a capture, or invalidates
 * one, as far as the driver allows that. */
struct clv_relaxation {
	int mode; /* the thread's own mode */
	bool is_on;
};
void clv_relax_begin(struct clv_relaxation *relaxation);
void clv_relax_end(struct clv_relaxation *relaxation);

/* The stream is about to be destroyed; the context has been destroyed. */
void clv_capture_forget(const void *handle);
void clv_captures_end_with(const void *context);
void clv_captures_forget_parent(void);
