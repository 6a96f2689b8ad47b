/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/rpc/status.h"

#include <stddef.h>
#include <stdint.h>

/* The methods of a server, and how their handlers answer calls.  A call has one request.
 * Its answer is one message or a stream, of which only the latest message is kept: a
 * client that reads slowly misses older messages and never blocks the server.  Loop
 * thread only. */
struct clv_rpc_call;

#define CLV_RPC_REQUEST_MAX_BYTES (4u << 20)
/* Memory of all incomplete requests of a connection. */
#define CLV_RPC_REQUESTS_MAX_BYTES (16u << 20)
#define CLV_RPC_STREAMS_MAX 128u
#define CLV_RPC_HEADERS_MAX_BYTES (16u << 10)

struct clv_rpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	/* Handles a call; data is the request, borrowed.  The call may be answered later.
	 * It must be finished exactly once, unless on_end was called before. */
	void (*handle)(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes,
		void *userdata);
};

struct clv_rpc_service {
	const struct clv_rpc_method *methods; /* static */
	size_t n_methods;
	void *userdata;
};

/* Sends a message of a stream, which is copied.  An earlier message of which nothing was
 * sent yet is dropped.  -ENOMEM. */
int clv_rpc_send(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes);
/* Finishes the call after its messages are sent.  The handler must not use it then. */
void clv_rpc_finish(struct clv_rpc_call *call, const struct clv_rpc_status *status);
/* Sends one message and finishes the call with CLV_RPC_OK. */
void clv_rpc_answer(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes);
void clv_rpc_fail(struct clv_rpc_call *call, enum clv_rpc_code code, const char *format,
	...) __attribute__((format(printf, 3, 4)));

/* Sets a callback for a call that ends before it is finished, because the client
 * cancelled it or its deadline passed.  The handler must not use the call then. */
void clv_rpc_on_end(
	struct clv_rpc_call *call, void (*on_end)(void *userdata), void *userdata);
