/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/service.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A gRPC server on a Unix socket, for callers of our own user and root's.  Loop thread
 * only. */
struct clv_rpc_server;

#define CLV_RPC_CONNECTIONS_MAX 64u

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
