/* SPDX-License-Identifier: Apache-2.0 */
/* The API over TCP, as the settings say. */
#include "agent/main/network.h"

#include "agent/config/config.h"
#include "agent/http/http.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 1024
#define DEFER_S 3

/* is_deferred: connections are shown when their first data have come. */
static int bind_to(const struct addrinfo *address, bool is_deferred)
{
	int on = 1, defer_s = DEFER_S;
	int fd = socket(address->ai_family,
		address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (is_deferred)
		setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer_s, sizeof(defer_s));
	if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 ||
		listen(fd, BACKLOG) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int open_socket(
	const struct clv_config *settings, bool is_deferred, struct clv_error *err)
{
	struct addrinfo wanted = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found = NULL;
	char port[8];
	int r;

	snprintf(port, sizeof(port), "%u", settings->port);
	r = getaddrinfo(settings->address, port, &wanted, &found);
	if (r != 0)
		return clv_error_set(err, -EINVAL,
			"cannot listen on %s: %s: give a numeric address",
			settings->address, gai_strerror(r));
	r = bind_to(found, is_deferred);
	freeaddrinfo(found);
	return r < 0 ? clv_error_errno(err, -r,
			       "cannot listen on %s port %s: choose another one in the "
			       "settings",
			       settings->address, port)
		     : r;
}

int clv_network_serve(struct clv_agent *agent, struct clv_error *err)
{
	const struct clv_config *settings = agent->settings;
	_cleanup_free_ char *certificate = NULL, *key = NULL;
	struct clv_http_listener listener = {.fd = -1};
	int r = 0;

	if (settings->port == 0)
		return 0;
	r = clv_config_read_tls(settings, &certificate, &key, err);
	if (r >= 0)
		r = clv_http_set_certificate(certificate, key, err);
	if (r < 0)
		return r;
	listener.certificate = certificate;
	listener.key = key;
	listener.fd = open_socket(settings, certificate != NULL, err);
	if (listener.fd < 0)
		return listener.fd;
	r = clv_http_listen(agent->http, &listener, err);
	if (r >= 0)
		clv_log_info("listening on %s port %u, %s", settings->address,
			settings->port, certificate ? "with TLS" : "without TLS");
	return r;
}
