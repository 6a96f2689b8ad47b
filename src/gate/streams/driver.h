/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What the streams of CUDA and of HIP have in common, by the API's own calls: each gate
 * has one of these.  Handles are void pointers, and a context is what streams belong to:
 * one of CUDA's, or a device of HIP's.  Results are the API's. */

enum { /* the same in both */
	CLV_STREAM_SUCCESS = 0,
	CLV_STREAM_OUT_OF_MEMORY = 2,
	CLV_STREAM_NO_DEVICE = 100,
	CLV_STREAM_NOT_READY = 600,
};

#define CLV_STREAM_PER_THREAD ((void *)2) /* a thread's own default stream */

#define CLV_STREAM_EVENT_BLOCKING_SYNC 1u
#define CLV_STREAM_EVENT_DISABLE_TIMING 2u

#define CLV_STREAM_CAPTURE_RELAXED 2
#define CLV_STREAM_CAPTURE_NONE 0

struct clv_stream_driver {
	void *legacy; /* by which calls name a context's default stream */
	/* What a call inside a callback gets; CLV_STREAM_SUCCESS: it is made. */
	int in_callback;
	void (*load)(void);
	void *(*get_context)(void); /* NULL: none is current; never odd */
	void (*set_context)(void *context);
	void (*wait_for_context)(void); /* for all of the current one */
	/* Of a stream that has a handle. */
	void *(*context_of)(void *stream);
	/* Whether kernels in the stream keep to the lease's limit in space (gate/sm.h),
	 * and one of a stream that does not.  NULL: all do. */
	bool (*is_within)(void *stream);
	void (*goes_past)(void *stream);
	int (*capture_status)(void *stream, int *ret);
	/* Whether the stream and the legacy stream wait for each other.  While such a
	 * stream is captured the legacy stream may not be touched. */
	bool (*is_blocking)(void *stream);
	void (*exchange_capture_mode)(int *mode);
	/* Whether a copy between these addresses is one between the host and a device
	 * that no multiprocessor does.  NULL: that cannot be told. */
	bool (*is_across)(uint64_t to, uint64_t from);
	int (*make_event)(void **ret, unsigned int flags);
	int (*record)(void *event, void *stream);
	int (*query)(void *event);
	void (*wait)(void *event);
	void (*destroy)(void *event);
};

extern const struct clv_stream_driver clv_stream_driver
	__attribute__((visibility("hidden")));
