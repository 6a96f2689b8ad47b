/* SPDX-License-Identifier: Apache-2.0 */
/* The API's Unix socket: its path, and its removal without losing a client. */
#include "agent/main/api-socket.h"

#include "agent/http/http.h"
#include "agent/main/service.h"
#include "agent/os/poll.h"
#include "agent/record/agent.h"
#include "base/log.h"
#include "base/socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static void socket_path(const struct clv_agent *agent, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s/api.sock", agent->config.runtime);
}

int clv_api_socket_serve(struct clv_agent *agent, struct clv_error *err)
{
	struct clv_http_listener listener = {.is_unix = true};
	char path[CLV_FOLDER_MAX + 16];

	socket_path(agent, path, sizeof(path));
	listener.fd = clv_service_take_socket(&agent->config);
	if (listener.fd < 0)
		listener.fd = clv_socket_listen(
			path, SOCK_STREAM, agent->config.is_system ? 0666 : 0600, err);
	if (listener.fd < 0)
		return listener.fd;
	/* From Linux 6.16 on no message brings files, which the API has no use for.
	 * serve_events() of loop.c has what they do. */
	setsockopt(listener.fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
	/* With a full backlog connect() fails at once, and a burst of callers must not
	 * fail. */
	if (listen(listener.fd, BACKLOG) < 0)
		clv_log_debug("the backlog of %s stays short", path);
	return clv_http_listen(agent->http, &listener, err);
}

void clv_api_socket_remove(const struct clv_agent *agent)
{
	char path[CLV_FOLDER_MAX + 16];

	if (!agent->http || clv_service_keeps_socket(&agent->config))
		return;
	socket_path(agent, path, sizeof(path));
	unlink(path);
}

bool clv_api_socket_try_remove(struct clv_agent *agent)
{
	struct pollfd waiting = {.fd = clv_http_listen_fd(agent->http), .events = POLLIN};
	char path[CLV_FOLDER_MAX + 16], hidden[CLV_FOLDER_MAX + 32];

	/* The manager starts the next agent for later callers; only those already queued
	 * count. */
	if (clv_service_keeps_socket(&agent->config))
		return clv_poll(&waiting, 0) <= 0;
	socket_path(agent, path, sizeof(path));
	snprintf(hidden, sizeof(hidden), "%s.leaving", path);
	if (rename(path, hidden) < 0)
		return true;
	if (clv_poll(&waiting, 0) > 0) {
		/* No other agent can have bound the name meanwhile, because that takes
		 * the lock. */
		if (rename(hidden, path) < 0)
			clv_log_warning(-errno, "cannot put %s back", path);
		return false;
	}
	unlink(hidden);
	return true;
}
