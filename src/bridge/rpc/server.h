/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/service.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A gRPC server on a Unix socket, for clients of the same user and of root.  Loop thread
 * only. */
struct clv_rpc_server;

#define CLV_RPC_CONNECTIONS_MAX 64u

/* Creates the socket (mode 0600); an existing one is replaced.  service is copied.  path
 * "" is for tests: no socket is created. */
int clv_rpc_server_new(sd_event *event, const char *path,
	const struct clv_rpc_service *service, struct clv_rpc_server **ret,
	struct clv_error *err);
/* Ends all calls and removes the socket unless another process has replaced it.  Accepts
 * NULL; returns NULL. */
struct clv_rpc_server *clv_rpc_server_free(struct clv_rpc_server *server);
CLV_DEFINE_CLEANUP(struct clv_rpc_server *, clv_rpc_server_free)

/* Serves an existing connection; takes ownership of fd. */
int clv_rpc_server_adopt(struct clv_rpc_server *server, int fd);

/* Whether the server's socket still exists at its path. */
bool clv_rpc_server_socket_exists(const struct clv_rpc_server *server);
