/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/status.h"

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A client for unary gRPC calls on a Unix socket.  Loop thread only. */
struct clv_rpc_client;

#define CLV_RPC_ANSWER_MAX_BYTES (16u << 20)

/* data is the answer, borrowed, if the status is CLV_RPC_OK.  The callback may free the
 * client. */
typedef void (*clv_rpc_on_answer)(const struct clv_rpc_status *status,
	const uint8_t *data, size_t n_bytes, void *userdata);

/* Connects.  -ECONNREFUSED or -ENOENT: there is no server. */
int clv_rpc_client_new(sd_event *event, const char *path, struct clv_rpc_client **ret,
	struct clv_error *err);
/* Drops pending calls without calling back.  Accepts NULL; returns NULL. */
struct clv_rpc_client *clv_rpc_client_free(struct clv_rpc_client *client);
CLV_DEFINE_CLEANUP(struct clv_rpc_client *, clv_rpc_client_free)

/* Sends a request, which is copied.  on_answer is called exactly once, and never before
 * this function has returned: with the answer, after timeout_ms, or when the connection
 * ends. -ENOMEM: on_answer is not called. */
int clv_rpc_client_call(struct clv_rpc_client *client, const char *path,
	const uint8_t *data, size_t n_bytes, uint32_t timeout_ms,
	clv_rpc_on_answer on_answer, void *userdata);
