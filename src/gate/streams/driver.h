/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the streams of CUDA and of HIP have in common, by the API's own calls: each gate
 * has one of these and says so when it begins.  Handles are void pointers, and a context
 * is what streams belong to: one of CUDA's, or a device of HIP's.  Results are the API's.
 */

enum { /* the same in both */
	CLV_STREAM_SUCCESS = 0,
	CLV_STREAM_OUT_OF_MEMORY = 2,
	CLV_STREAM_NO_DEVICE = 100,
	CLV_STREAM_NOT_READY = 600,
	CLV_STREAM_NOT_SUPPORTED = 801,
	CLV_STREAM_CAPTURE_FIRST = 900, /* of what has to do with captures */
	CLV_STREAM_CAPTURE_LAST = 908,
};

#define CLV_STREAM_EVENT_BLOCKING_SYNC 1u
#define CLV_STREAM_EVENT_DISABLE_TIMING 2u

#define CLV_STREAM_CAPTURE_RELAXED 2
#define CLV_STREAM_CAPTURE_NONE 0

/* Graphs; what the calls have in common begins alike. */
struct clv_stream_graphs {
	int wait_type;      /* of a node that waits for semaphores */
	size_t value_bytes; /* of what is said of each semaphore */
	int (*nodes)(void *graph, void *ret, void *ret_n); /* NULL: this is not done */
	int (*edges)(void *graph, void *ret_from, void *ret_to, void *ret_n);
	int (*type)(void *node, void *ret);
	int (*wait_params)(void *node, void *ret);
	int (*wait)(void *semaphores, void *values, uint32_t n, void *stream);
};

struct clv_stream_driver {
	void *legacy; /* by which calls name a context's default stream */
	/* What a call inside a callback gets; CLV_STREAM_SUCCESS: it is made. */
	int in_callback;
	int (*get_context)(void **ret); /* NULL: none is current; never odd */
	int (*set_context)(void *context);
	int (*wait_for_context)(void); /* for all of the current one */
	/* Of a stream that has a handle.  NULL: the driver does not say. */
	void *(*context_of)(void *stream);
	/* Whether kernels in the stream keep to the lease's limit in space
	 * (gate/attach/sm.h), and one of a stream that does not.  NULL: all do. */
	bool (*is_within)(void *stream);
	void (*goes_past)(void *stream);
	int (*capture_status)(void *stream, int *ret);
	/* Whether the stream and the legacy stream wait for each other.  While such a
	 * stream is captured the legacy stream may not be touched. */
	bool (*is_blocking)(void *stream);
	/* A new stream of the current context, which waits for the legacy stream. */
	int (*make_blocking)(void **ret);
	int (*exchange_capture_mode)(int *mode);
	/* Whether a copy between these addresses is one between the host and a device
	 * that no multiprocessor does.  NULL: that cannot be told. */
	bool (*is_across)(uint64_t to, uint64_t from);
	int (*make_event)(void **ret, unsigned int flags);
	int (*record)(void *event, void *stream);
	/* Behind all that the context has been given until now.  NULL, or
	 * CLV_STREAM_NOT_SUPPORTED: the driver has no such call. */
	int (*record_context)(void *event, void *context);
	int (*query)(void *event);
	int (*wait)(void *event);
	void (*destroy)(void *event);
	struct clv_stream_graphs graphs;
};

/* The gate's own, before any other function of streams/ is called. */
void clv_streams_begin(const struct clv_stream_driver *driver);

extern const struct clv_stream_driver *clv_stream_driver
	__attribute__((visibility("hidden")));
