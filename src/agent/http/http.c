/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: listening sockets, connections, bodies, and the run of the handler,
 * which interprets the requests.  libmicrohttpd runs in the agent's loop, without threads
 * of its own. */
#include "agent/http/http.h"

#include "agent/event/counters.h"
#include "agent/http/http-internal.h"
#include "agent/http/problem.h"
#include "agent/os/poll.h"
#include "agent/os/wire.h"
#include "agent/record/agent.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_MAX_BYTES (1u << 20) /* read of a body that is too large */
#define SILENT_CONNECTION_S 60u
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

bool clv_http_is_stopping(const struct clv_http *http)
{
	return http->is_stopping;
}

struct clv_http_peer *clv_http_peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static int run_handler(struct clv_exchange *exchange, struct clv_error *err)
{
	struct clv_request *request = &exchange->request;

	request->is_first_run = !exchange->has_run;
	exchange->has_run = true;
	return exchange->http->handler->handle(request, err);
}

/* Answers, or waits. */
static enum MHD_Result finish(struct clv_exchange *exchange, int r, struct clv_error *err)
{
	struct clv_request *request = &exchange->request;
	enum MHD_Result result;

	if (r == -EINPROGRESS && !exchange->http->is_stopping) {
		clv_exchange_suspend(exchange);
		return MHD_YES;
	}
	if (r == -EINPROGRESS && exchange->has_run)
		exchange->http->handler->leave(request);
	if (r == -EINPROGRESS)
		clv_error_set(err, -ECANCELED, "the agent is stopping: try again");
	exchange->deadline_ns = 0;
	exchange->is_answered = true;
	result = r < 0 ? clv_exchange_refuse(exchange, err)
		       : clv_exchange_answer(exchange);
	clv_counters_add_request(request->agent->counters, request->route,
		request->status, request->busy_ns);
	return result;
}

static enum MHD_Result handle(struct clv_exchange *exchange)
{
	struct clv_request *request = &exchange->request;
	uint64_t began_ns = clv_clock_ns();
	struct clv_error err = {0};
	enum MHD_Result result;
	int r;

	if (exchange->is_gone)
		return MHD_NO;
	clv_http_peer_set_busy(clv_http_peer_of(request->connection), true);
	request->is_late =
		exchange->deadline_ns > 0 &&
		(exchange->deadline_ns <= began_ns || exchange->http->is_stopping);
	request->body = exchange->body ? exchange->body : "";
	r = clv_exchange_admit(exchange, &err);
	if (r != -EINPROGRESS && !clv_exchange_has_turn(exchange))
		return MHD_YES;
	if (r == -EACCES)
		clv_http_note_unauthenticated(exchange->http,
			clv_http_peer_of(request->connection)->from, err.msg);
	if (r >= 0)
		r = run_handler(exchange, &err);
	result = finish(exchange, r, &err);
	clv_exchange_charge(exchange, began_ns);
	return result;
}

static void take_body(struct clv_exchange *exchange, const char *data, size_t n_bytes)
{
	struct clv_request *request = &exchange->request;
	size_t wanted = request->n_body_bytes + n_bytes;
	char *body;

	if (exchange->request.is_too_large || wanted > CLV_REQUEST_MAX_BYTES) {
		exchange->request.is_too_large = true;
		return;
	}
	if (wanted > exchange->room) {
		body = realloc(exchange->body, CLV_REQUEST_MAX_BYTES);
		if (!body) {
			exchange->request.is_too_large = true;
			return;
		}
		exchange->body = body;
		exchange->room = CLV_REQUEST_MAX_BYTES;
	}
	memcpy(exchange->body + request->n_body_bytes, data, n_bytes);
	request->n_body_bytes = wanted;
}

static bool announces_too_much(struct MHD_Connection *connection)
{
	const char *text = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text && strtoull(text, NULL, 10) > DISCARD_MAX_BYTES;
}

static enum MHD_Result refuse_framing(
	struct clv_exchange *exchange, const struct clv_error *err)
{
	clv_request_set_header(&exchange->request, MHD_HTTP_HEADER_CONNECTION, "close");
	return clv_exchange_refuse(exchange, err);
}

/* Called with the target as it was received; the result would be the exchange. */
static void *on_target(
	void *userdata, const char *target, struct MHD_Connection *connection)
{
	struct clv_http_peer *peer = clv_http_peer_of(connection);

	if (peer) {
		peer->version_at = clv_http_find_version(target);
		peer->has_cut_parameters = clv_http_cut_parameters(target);
	}
	return NULL;
}

/* libmicrohttpd 1.0 returns all information about a connection in the same place, so it
 * is read before the next call. */
static int fd_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* A target may have a scheme and a host (RFC 9112, 3.2.2), which all are the agent's. */
static const char *path_of(const char *target)
{
	const char *path;

	if (strncasecmp(target, "http://", 7) != 0 &&
		strncasecmp(target, "https://", 8) != 0)
		return target;
	path = strchr(strstr(target, "://") + 3, '/');
	return path ? path : "/";
}

static struct clv_exchange *begin(struct clv_http *http,
	struct MHD_Connection *connection, const char *url, const char *method)
{
	const struct clv_http_peer *peer = clv_http_peer_of(connection);
	int fd = fd_of(connection);
	struct clv_exchange *exchange =
		fd >= 0 && peer && peer->is_counted ? calloc(1, sizeof(*exchange)) : NULL;

	if (!exchange)
		return NULL;
	exchange->http = http;
	exchange->request = (struct clv_request){
		.agent = http->agent,
		.connection = connection,
		.fd = fd,
		.method = method,
		.path = path_of(url),
		.is_local = peer->server->is_unix,
		.route = CLV_REQUEST_NO_ROUTE,
	};
	return exchange;
}

static int check_target(struct MHD_Connection *connection, struct clv_error *err)
{
	if (!clv_http_peer_of(connection)->has_cut_parameters)
		return 0;
	return clv_error_set(err, -EINVAL,
		"the target has over %u parameters: no request needs so many",
		CLV_HTTP_PARAMETERS_MAX);
}

static enum MHD_Result on_access(void *userdata, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version, const char *upload,
	size_t *upload_bytes, void **state)
{
	struct clv_server *server = userdata;
	struct clv_http *http = server->http;
	struct clv_exchange *exchange = *state;
	struct clv_error err = {0};

	if (!exchange) {
		exchange = begin(http, connection, url, method);
		if (!exchange)
			return MHD_NO;
		*state = exchange;
		if (check_target(connection, &err) < 0 ||
			clv_http_check_framing(&exchange->request, version,
				clv_http_peer_of(connection)->version_at, &err) < 0)
			return refuse_framing(exchange, &err);
		/* An answer before the end of the body closes the connection, so only
		 * bodies that are not read to their end get one. */
		if (announces_too_much(connection)) {
			exchange->request.is_too_large = true;
			return handle(exchange);
		}
		return MHD_YES;
	}
	if (*upload_bytes > 0) {
		take_body(exchange, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	/* libmicrohttpd may call this while the connection is suspended. */
	if (exchange->is_suspended)
		return MHD_YES;
	return handle(exchange);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **state,
	enum MHD_RequestTerminationCode code)
{
	struct clv_exchange *exchange = *state;

	*state = NULL;
	if (!exchange)
		return;
	clv_http_peer_set_busy(clv_http_peer_of(connection), false);
	if (exchange->is_suspended)
		clv_exchange_unlist(exchange);
	if (exchange->has_run && !exchange->is_answered)
		exchange->http->handler->leave(&exchange->request);
	json_decref(exchange->request.answer);
	for (size_t i = 0; i < exchange->request.n_headers; i++)
		free(exchange->request.headers[i].value);
	free(exchange->request.text);
	free(exchange->body);
	clv_notify(exchange->http->agent->notify, CLV_NOTICE_IN_USE);
	free(exchange);
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **state,
	enum MHD_ConnectionNotificationCode code)
{
	struct clv_server *server = userdata;
	int fd;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		*state = clv_http_peer_free(*state);
		return;
	}
	/* A request will follow: the agent must not exit for idleness now. */
	clv_notify(server->http->agent->notify, CLV_NOTICE_IN_USE);
	fd = fd_of(connection);
	*state = fd >= 0 ? clv_http_peer_new(server->http->peers, server, fd) : NULL;
}

/* A handshake takes milliseconds, and the daemon would accept ten connections in a row.
 * With one in each turn of the loop the requests of others wait for one handshake.  The
 * kernel shows a connection when its first data have come (agent/main/network.c). */
static int on_accept(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_server *server = userdata;
	struct sockaddr_storage from = {0};
	socklen_t n_bytes = sizeof(from);
	int accepted = accept4(
		fd, (struct sockaddr *)&from, &n_bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (accepted < 0)
		return 0;
	MHD_add_connection(server->daemon, accepted, (struct sockaddr *)&from, n_bytes);
	clv_http_run(server->http);
	return 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	clv_http_run(userdata);
	return 0;
}

static int watch_server(struct clv_server *server, struct clv_error *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r = info ? sd_event_add_io(server->http->agent->event, &server->io,
			       info->epoll_fd, EPOLLIN, on_io, server->http)
		     : -ENOTSUP;

	if (r >= 0 && server->has_tls)
		r = sd_event_add_io(server->http->agent->event, &server->accept,
			server->listen_fd, EPOLLIN, on_accept, server);

	return r < 0 ? clv_error_errno(err, -r, "cannot watch the API's socket") : 0;
}

int clv_http_new(struct clv_agent *agent, const struct clv_http_handler *handler,
	struct clv_http **ret, struct clv_error *err)
{
	struct clv_http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return clv_error_errno(err, ENOMEM, "cannot serve the API");
	http->agent = agent;
	http->handler = handler;
	TAILQ_INIT(&http->waiting);
	http->peers = clv_http_peers_new(agent);
	http->fair = clv_fair_new();
	r = http->peers && http->fair ? clv_http_add_sources(http) : -ENOMEM;
	if (r < 0) {
		clv_http_free(http);
		return clv_error_errno(err, -r, "cannot serve the API");
	}
	*ret = http;
	return 0;
}

static size_t unescape(void *userdata, struct MHD_Connection *connection, char *text)
{
	return clv_wire_unescape(text);
}

static struct MHD_Daemon *start_daemon(
	struct clv_server *server, const struct clv_http_listener *listener)
{
	unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem plain[] = {
		{MHD_OPTION_LISTEN_SOCKET, listener->fd, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)listener->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)listener->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_VERSIONS},
		{MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)clv_http_get_certificate},
		{MHD_OPTION_END, 0, NULL},
	};

	if (server->has_tls)
		flags |= MHD_USE_TLS | MHD_USE_NO_LISTEN_SOCKET;
	return MHD_start_daemon(flags, 0, NULL, NULL, on_access, server,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
		MHD_OPTION_CONNECTION_LIMIT, clv_http_peers_limit(server->http->peers),
		MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_URI_LOG_CALLBACK,
		on_target, NULL, MHD_OPTION_CONNECTION_TIMEOUT, SILENT_CONNECTION_S,
		MHD_OPTION_ARRAY, server->has_tls ? tls : plain, MHD_OPTION_END);
}

int clv_http_listen(struct clv_http *http, const struct clv_http_listener *listener,
	struct clv_error *err)
{
	struct clv_server *server = &http->servers[http->n_servers];

	*server = (struct clv_server){.http = http,
		.listen_fd = listener->fd,
		.is_unix = listener->is_unix,
		.has_tls = listener->certificate != NULL};
	server->daemon = start_daemon(server, listener);
	if (!server->daemon) {
		close(listener->fd);
		return clv_error_set(err, -EIO,
			listener->certificate
				? "cannot serve the API with TLS: check that certificate "
				  "and key are PEM files and belong together"
				: "cannot serve the API: the HTTP server does not start");
	}
	http->n_servers++;
	return watch_server(server, err);
}

struct clv_http *clv_http_free(struct clv_http *http)
{
	if (!http)
		return NULL;
	/* Waiting requests get an answer, because a suspended connection cannot be
	 * closed. */
	http->is_stopping = true;
	clv_http_wake(http, ~0u);
	while (clv_fair_count(http->fair) > 0)
		clv_http_resume_next_turn(http);
	for (size_t i = 0; i < http->n_servers; i++) {
		MHD_run(http->servers[i].daemon);
		sd_event_source_disable_unref(http->servers[i].io);
		sd_event_source_disable_unref(http->servers[i].accept);
	}
	sd_event_source_disable_unref(http->timer);
	sd_event_source_disable_unref(http->turns);
	for (size_t i = 0; i < http->n_servers; i++) {
		MHD_stop_daemon(http->servers[i].daemon);
		if (http->servers[i].has_tls)
			close(http->servers[i].listen_fd);
	}
	clv_http_peers_free(http->peers);
	clv_fair_free(http->fair);
	free(http);
	return NULL;
}

bool clv_http_has_input(const struct clv_http *http)
{
	for (size_t i = 0; i < http->n_servers; i++) {
		const union MHD_DaemonInfo *info = MHD_get_daemon_info(
			http->servers[i].daemon, MHD_DAEMON_INFO_EPOLL_FD);
		struct pollfd waiting = {.fd = info->epoll_fd, .events = POLLIN};

		if (clv_poll(&waiting, 0) > 0)
			return true;
	}
	return false;
}

int clv_http_listen_fd(const struct clv_http *http)
{
	for (size_t i = 0; i < http->n_servers; i++) {
		if (http->servers[i].is_unix)
			return http->servers[i].listen_fd;
	}
	return -1;
}
