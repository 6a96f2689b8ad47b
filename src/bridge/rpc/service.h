/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/rpc/status.h"

#include <stddef.h>
#include <stdint.h>

/* What a server serves: its methods, and how a method's handler answers a call.  Calls
 * have one request; their answers are one message, or, of a stream, the latest of
 * several: a caller that reads slowly misses what was overtaken and never delays the
 * server.  Loop thread only. */
struct clv_rpc_call;

#define CLV_RPC_REQUEST_MAX_BYTES (4u << 20)
/* Of all requests of a connection that are not complete yet. */
#define CLV_RPC_REQUESTS_MAX_BYTES (16u << 20)
#define CLV_RPC_STREAMS_MAX 128u
#define CLV_RPC_HEADERS_MAX_BYTES (16u << 10)

struct clv_rpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	/* The request is borrowed.  Answers now or later; exactly one clv_rpc_finish()
	 * ends each call, unless its end is told before. */
	void (*handle)(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes,
		void *userdata);
};

struct clv_rpc_service {
	const struct clv_rpc_method *methods; /* static */
	size_t n_methods;
	void *userdata;
};

/* A message of a stream; it is copied.  What was not begun to be sent is dropped. */
int clv_rpc_send(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes);
/* Ends the call, after what was sent.  The call is gone then. */
void clv_rpc_finish(struct clv_rpc_call *call, const struct clv_rpc_status *status);
/* The answer of a call that has one message. */
void clv_rpc_answer(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes);
void clv_rpc_fail(struct clv_rpc_call *call, enum clv_rpc_code code, const char *format,
	...) __attribute__((format(printf, 3, 4)));

/* Told once if the call ends before it is finished: the caller left, or its deadline
 * passed.  The call is gone then. */
void clv_rpc_on_end(
	struct clv_rpc_call *call, void (*on_end)(void *userdata), void *userdata);
