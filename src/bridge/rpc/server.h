/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A gRPC server on a Unix socket, for callers of our own user and root's.  Calls have one
 * request; their answers are one message, or, of a stream, the latest of several: a
 * caller that reads slowly misses what was overtaken and never holds us up.  Loop thread
 * only. */
struct clv_rpc_server;
struct clv_rpc_call;

#define CLV_RPC_REQUEST_MAX_BYTES (4u << 20)
/* Of all requests of a connection that are not complete yet. */
#define CLV_RPC_REQUESTS_MAX_BYTES (16u << 20)
#define CLV_RPC_CONNECTIONS_MAX 64u
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

/* The path's socket is made anew (0600); an old one is replaced.  service is copied. */
int clv_rpc_server_new(sd_event *event, const char *path,
	const struct clv_rpc_service *service, struct clv_rpc_server **ret,
	struct clv_error *err);
/* Ends all calls and removes the socket, unless it is another's by now.  Accepts NULL;
 * returns NULL. */
struct clv_rpc_server *clv_rpc_server_free(struct clv_rpc_server *server);
CLV_DEFINE_CLEANUP(struct clv_rpc_server *, clv_rpc_server_free)

/* Serves one connection that is there already; the descriptor is taken.  For tests. */
int clv_rpc_server_adopt(struct clv_rpc_server *server, int fd);

/* Whether the socket at its path is still the one that it made. */
bool clv_rpc_server_is_there(const struct clv_rpc_server *server);

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
