/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The driver calls that the common stream code needs: the gates of CUDA and HIP each
 * supply one such table.  Handles are void pointers.  A context is what streams belong
 * to: one of CUDA's, or a device of HIP's.  Results are the API's. */

enum { /* the same in both */
	CLV_STREAM_SUCCESS = 0,
	CLV_STREAM_OUT_OF_MEMORY = 2,
	CLV_STREAM_NO_DEVICE = 100,
	CLV_STREAM_NOT_READY = 600,
	CLV_STREAM_NOT_SUPPORTED = 801,
	CLV_STREAM_CAPTURE_FIRST = 900, /* range of errors about captures */
	CLV_STREAM_CAPTURE_LAST = 908,
};

#define CLV_STREAM_EVENT_BLOCKING_SYNC 1u
#define CLV_STREAM_EVENT_DISABLE_TIMING 2u

#define CLV_STREAM_CAPTURE_RELAXED 2
#define CLV_STREAM_CAPTURE_NONE 0

/* Graphs.  The structures that both APIs share begin alike. */
struct clv_stream_graphs {
	int wait_type;      /* type of a node that waits for semaphores */
	size_t value_bytes; /* size of the parameters per semaphore */
	/* NULL: graphs are not analysed. */
	int (*nodes)(void *graph, void *ret, void *ret_n);
	int (*edges)(void *graph, void *ret_from, void *ret_to, void *ret_n);
	int (*type)(void *node, void *ret);
	int (*wait_params)(void *node, void *ret);
	int (*wait)(void *semaphores, void *values, uint32_t n, void *stream);
};

/* What may end before a context, with its streams: one of CUDA's green contexts.  It is a
 * context with default streams of its own, and another one has its events. */
struct clv_stream_subcontext {
	void *context, *whole;
};

struct clv_stream_driver {
	void *legacy; /* the handle of a context's default stream */
	/* The result of a call inside a callback; CLV_STREAM_SUCCESS: the call is
	 * made. */
	int in_callback;
	int (*get_context)(void **ret); /* NULL: none is current; never odd */
	int (*set_context)(void *context);
	int (*wait_for_context)(void); /* for all work of the current context */
	/* The context of a stream that has a handle.  NULL: the driver does not tell. */
	void *(*context_of)(void *stream);
	/* Finds the subcontext of a stream that has a handle, or which is this context.
	 * False: it is in none.  NULL: the API has none. */
	bool (*subcontext_of)(
		void *stream, void *context, struct clv_stream_subcontext *ret);
	/* is_within: whether kernels in the stream keep to the lease's limit in space
	 * (gate/attach/sm.h); NULL: all do.  report_unlimited: reports a stream whose
	 * kernels do not. */
	bool (*is_within)(void *stream);
	void (*report_unlimited)(void *stream);
	int (*capture_status)(void *stream, int *ret);
	/* Whether the stream and the legacy stream wait for each other.  While such a
	 * stream is captured the legacy stream must not be used. */
	bool (*is_blocking)(void *stream);
	/* Creates a stream of the current context that waits for the legacy stream. */
	int (*make_blocking)(void **ret);
	int (*exchange_capture_mode)(int *mode);
	/* Whether a copy between these addresses is between the host and a device and
	 * needs no multiprocessor.  NULL: that cannot be determined. */
	bool (*is_host_device)(uint64_t to, uint64_t from);
	int (*make_event)(void **ret, unsigned int flags);
	int (*record)(void *event, void *stream);
	/* Records an event behind everything submitted to the context so far.  NULL, or
	 * CLV_STREAM_NOT_SUPPORTED: the driver has no such call. */
	int (*record_context)(void *event, void *context);
	int (*query)(void *event);
	/* Whether the stream has nothing left to do.  NULL: not known. */
	int (*query_stream)(void *stream);
	int (*wait)(void *event);
	void (*destroy)(void *event);
	struct clv_stream_graphs graphs;
};

/* Sets the gate's table; call before any other function of streams/. */
void clv_streams_begin(const struct clv_stream_driver *driver);

extern const struct clv_stream_driver *clv_stream_driver
	__attribute__((visibility("hidden")));
