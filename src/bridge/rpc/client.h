/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/status.h"

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct clv_error;

/* gRPC calls to a server on a Unix socket: one request, one answer.  Loop thread only. */
struct clv_rpc_client;

#define CLV_RPC_ANSWER_MAX_BYTES (16u << 20)

/* data is the answer where the status is OK, borrowed.  The client may be freed here. */
typedef void (*clv_rpc_on_answer)(const struct clv_rpc_status *status,
	const uint8_t *data, size_t n_bytes, void *userdata);

/* Connects; -ECONNREFUSED or -ENOENT: nobody is there. */
int clv_rpc_client_new(sd_event *event, const char *path, struct clv_rpc_client **ret,
	struct clv_error *err);
/* Calls that are under way are forgotten and never answered.  Accepts NULL; returns NULL.
 */
struct clv_rpc_client *clv_rpc_client_free(struct clv_rpc_client *client);
CLV_DEFINE_CLEANUP(struct clv_rpc_client *, clv_rpc_client_free)

/* The request is copied.  on_answer is told once, never from inside this call: at the
 * latest after timeout_ms, and at once when the connection ends. */
int clv_rpc_client_call(struct clv_rpc_client *client, const char *path,
	const uint8_t *data, size_t n_bytes, uint32_t timeout_ms,
	clv_rpc_on_answer on_answer, void *userdata);
