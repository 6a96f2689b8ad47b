/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: connections, bodies, waiting requests, answers.  The handler
 * interprets the requests.  libmicrohttpd runs in the agent's loop, without threads of
 * its own.
 *
 * The loop's time is divided among the users.  A request of a user who has used much of
 * it is suspended, and one at a time is resumed, between which the requests of others are
 * handled.  So no user keeps another waiting for longer than one request takes. */
#include "agent/http/http.h"

#include "agent/auth/tokens.h"
#include "agent/event/counters.h"
#include "agent/http/http-internal.h"
#include "agent/http/problem.h"
#include "agent/os/poll.h"
#include "agent/os/wire.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNAUTHENTICATED_LOG_NS (10 * CLV_NS_PER_S)
#define DISCARD_MAX_BYTES (1u << 20) /* read of a body that is too large */
#define SILENT_CONNECTION_S 60u
#define USER_WAIT_MS 10000u
#define LISTENERS_MAX 2u
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct clv_http {
	struct clv_agent *agent;
	const struct clv_http_handler *handler;
	struct clv_server servers[LISTENERS_MAX];
	size_t n_servers;
	sd_event_source *timer;
	TAILQ_HEAD(, clv_exchange) waiting;
	size_t n_waiting;
	struct clv_fair *fair;
	sd_event_source *turns; /* enabled while requests wait for their turn */
	bool has_run_one;       /* without a turn, since the servers were last called */
	struct clv_http_peers *peers;
	bool is_stopping;
	bool has_resumed; /* a connection that no server has looked at since */
	/* Requests without a valid token since the last line of the log about them. */
	unsigned int n_unauthenticated;
	uint64_t unauthenticated_logged_ns; /* 0: never */
};

struct counted {
	const char *name;
	unsigned int n;
};

bool clv_http_is_stopping(const struct clv_http *http)
{
	return http->is_stopping;
}

static struct clv_exchange *exchange_of(struct clv_request *request)
{
	return (struct clv_exchange *)((char *)request -
				       offsetof(struct clv_exchange, request));
}

int clv_request_wait(struct clv_request *request, unsigned int topics, uint64_t wait_ms)
{
	struct clv_exchange *exchange = exchange_of(request);

	if (exchange->deadline_ns == 0)
		exchange->deadline_ns = clv_clock_ns() + wait_ms * CLV_NS_PER_MS;
	exchange->topics = topics;
	return -EINPROGRESS;
}

/* Sets the timer to the next timeout of a server or of a waiting request. */
static void arm_timer(struct clv_http *http)
{
	uint64_t now_ns = clv_clock_ns(), next_ns = UINT64_MAX;
	const struct clv_exchange *exchange;
	MHD_UNSIGNED_LONG_LONG left_ms;

	/* libmicrohttpd 0.9.75 has no timeout for a connection that was resumed while the
	 * last of the others was closed. */
	if (http->has_resumed)
		next_ns = now_ns;
	for (size_t i = 0; i < http->n_servers; i++) {
		if (MHD_get_timeout(http->servers[i].daemon, &left_ms) == MHD_YES &&
			now_ns + left_ms * CLV_NS_PER_MS < next_ns)
			next_ns = now_ns + left_ms * CLV_NS_PER_MS;
	}
	TAILQ_FOREACH(exchange, &http->waiting, entry)
	{
		if (exchange->deadline_ns < next_ns)
			next_ns = exchange->deadline_ns;
	}
	if (next_ns == UINT64_MAX) {
		sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(http->timer, next_ns / CLV_NS_PER_US + 1);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

/* Takes it out of the list that it is suspended in. */
static void unlist(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;

	exchange->is_suspended = false;
	exchange->hangup = sd_event_source_disable_unref(exchange->hangup);
	if (exchange->turn.account) {
		clv_fair_remove(http->fair, &exchange->turn);
		return;
	}
	TAILQ_REMOVE(&http->waiting, exchange, entry);
	http->n_waiting--;
}

static void resume(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;

	unlist(exchange);
	MHD_resume_connection(exchange->request.connection);
	/* No descriptor becomes readable by this, so the timer runs the server.  The
	 * server may be running now, and sets the timer again afterwards. */
	http->has_resumed = true;
	sd_event_source_set_time(http->timer, 0);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

static void run(struct clv_http *http)
{
	http->has_resumed = false;
	http->has_run_one = false;
	for (size_t i = 0; i < http->n_servers; i++)
		MHD_run(http->servers[i].daemon);
	arm_timer(http);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	run(userdata);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_http *http = userdata;
	struct clv_exchange *exchange = TAILQ_FIRST(&http->waiting);
	uint64_t now_ns = clv_clock_ns();

	while (exchange) {
		struct clv_exchange *next = TAILQ_NEXT(exchange, entry);

		if (exchange->deadline_ns <= now_ns)
			resume(exchange);
		exchange = next;
	}
	run(http);
	return 0;
}

static void resume_next_turn(struct clv_http *http)
{
	struct clv_fair_item *item = clv_fair_first(http->fair);
	struct clv_exchange *exchange =
		item ? (struct clv_exchange *)((char *)item -
					       offsetof(struct clv_exchange, turn))
		     : NULL;

	if (!exchange)
		return;
	exchange->has_turn = true;
	resume(exchange);
}

static int on_turn(sd_event_source *source, void *userdata)
{
	struct clv_http *http = userdata;

	resume_next_turn(http);
	run(http);
	if (clv_fair_count(http->fair) == 0)
		return 0;
	return sd_event_source_set_enabled(http->turns, SD_EVENT_ONESHOT);
}

void clv_http_wake(struct clv_http *http, unsigned int topics)
{
	struct clv_exchange *exchange = TAILQ_FIRST(&http->waiting);

	while (exchange) {
		struct clv_exchange *next = TAILQ_NEXT(exchange, entry);

		if (exchange->topics & topics)
			resume(exchange);
		exchange = next;
	}
}

/* libmicrohttpd does not poll a suspended connection, so the request of a client that
 * hangs up would wait on. */
static int on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_exchange *exchange = userdata;

	exchange->is_gone = true;
	resume(exchange);
	return 0;
}

void clv_exchange_suspend(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;

	TAILQ_INSERT_TAIL(&http->waiting, exchange, entry);
	http->n_waiting++;
	exchange->is_suspended = true;
	/* epoll always reports errors and hang-ups; that a client closes its end of a TCP
	 * connection is only reported with EPOLLRDHUP. */
	sd_event_add_io(http->agent->event, &exchange->hangup, exchange->request.fd,
		exchange->request.is_local ? 0 : EPOLLRDHUP, on_hangup, exchange);
	MHD_suspend_connection(exchange->request.connection);
}

static struct clv_http_peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static uint64_t account_of(const struct clv_exchange *exchange)
{
	return peer_of(exchange->request.connection)->counted_as;
}

void clv_exchange_charge(const struct clv_exchange *exchange, uint64_t since_ns)
{
	uint64_t now_ns = clv_clock_ns();

	clv_fair_charge(
		exchange->http->fair, account_of(exchange), now_ns - since_ns, now_ns);
}

/* Whether a request that is identified, or refused, can be answered now.  False: it is
 * suspended until its turn. */
static bool has_turn(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;
	uint64_t account = account_of(exchange);
	/* A client that sends one request after the other is not slowed down. */
	bool is_only = clv_fair_count(http->fair) == 0 && !http->has_run_one;

	if (exchange->has_turn || http->is_stopping ||
		clv_fair_may_pass(http->fair, account, clv_clock_ns())) {
		exchange->has_turn = false;
		return true;
	}
	if (is_only || clv_fair_add(http->fair, &exchange->turn, account) < 0) {
		http->has_run_one = true;
		return true;
	}
	exchange->is_suspended = true;
	MHD_suspend_connection(exchange->request.connection);
	sd_event_source_set_enabled(http->turns, SD_EVENT_ONESHOT);
	return false;
}

static enum MHD_Result count_one(
	void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct counted *counted = userdata;

	counted->n += strcasecmp(name, counted->name) == 0;
	return MHD_YES;
}

static unsigned int count_headers(const struct clv_request *request, const char *name)
{
	struct counted counted = {.name = name};

	MHD_get_connection_values(
		request->connection, MHD_HEADER_KIND, count_one, &counted);
	return counted.n;
}

int clv_http_check_caller(const struct clv_request *request, struct clv_error *err)
{
	if (request->caller.token[0] == '\0')
		return 0;
	return clv_tokens_check(request->agent->tokens, &request->caller, err);
}

/* Logs callers without a valid token, at most once in UNAUTHENTICATED_LOG_NS. */
static void note_unauthenticated(struct clv_http *http, const char *from, const char *why)
{
	uint64_t now_ns = clv_clock_ns();

	http->n_unauthenticated++;
	if (http->unauthenticated_logged_ns > 0 &&
		now_ns - http->unauthenticated_logged_ns < UNAUTHENTICATED_LOG_NS)
		return;
	clv_log_warning(0,
		"%u requests over the network without a valid token, last from %s: %s",
		http->n_unauthenticated, from, why);
	http->n_unauthenticated = 0;
	http->unauthenticated_logged_ns = now_ns;
}

/* Identifies the caller: on the Unix socket by its credentials, over the network by a
 * token. */
static int identify(struct clv_exchange *exchange, struct clv_error *err)
{
	struct clv_request *request = &exchange->request;
	struct clv_http_peer *peer = peer_of(request->connection);
	int r;

	if (exchange->is_identified)
		return clv_http_check_caller(request, err);
	if (peer->server->is_unix) {
		if (!clv_http_peer_refresh(peer))
			return clv_error_set(err, -CLV_E_IN_USE,
				"the user has too many open connections: close some");
		return clv_caller_of_peer(request->agent, &peer->process,
			peer->cgroup_tenant[0] ? peer->cgroup_tenant : NULL,
			&request->caller, err);
	}
	if (count_headers(request, MHD_HTTP_HEADER_AUTHORIZATION) > 1)
		return clv_error_set(err, -EACCES,
			"the request has several Authorization headers: send one");
	r = clv_tokens_identify(request->agent->tokens,
		clv_request_header(request, MHD_HTTP_HEADER_AUTHORIZATION),
		&request->caller, err);
	snprintf(request->caller.from, sizeof(request->caller.from), "%s", peer->from);
	/* Public routes need no token. */
	if (r == -EACCES && exchange->http->handler->is_public(request))
		return 0;
	if (r >= 0 && !clv_http_peer_trust(peer, request->caller.token))
		return clv_error_set(err, -CLV_E_IN_USE,
			"the token has too many open connections: close some");
	return r;
}

int clv_http_await_user(struct clv_request *request, struct clv_error *err)
{
	if (!request->is_late)
		return clv_request_wait(request, CLV_TOPIC_USERS, USER_WAIT_MS);
	return clv_error_set(err, -CLV_E_UNAVAILABLE,
		"the user database of this machine does not answer: try again, or see "
		"what "
		"getent passwd does");
}

/* Identifies the caller, in the first run or when its user is known. */
static int admit(struct clv_exchange *exchange, struct clv_error *err)
{
	struct clv_request *request = &exchange->request;
	int r = identify(exchange, err);

	if (r == -EINPROGRESS)
		return clv_http_await_user(request, err);
	if (r < 0)
		return r;
	/* The event loop has ended: no process can be watched, no work be started. */
	if (exchange->http->is_stopping && !exchange->has_run &&
		strcmp(request->method, MHD_HTTP_METHOD_GET) != 0)
		return clv_error_set(err, -CLV_E_UNAVAILABLE,
			"the agent is stopping: send the request again");
	/* The time of the wait for the user is not that of the handler's wait. */
	if (!exchange->is_identified) {
		exchange->deadline_ns = 0;
		request->is_late = false;
	}
	exchange->is_identified = true;
	return 0;
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
	clv_http_peer_set_busy(peer_of(request->connection), true);
	request->is_late =
		exchange->deadline_ns > 0 &&
		(exchange->deadline_ns <= began_ns || exchange->http->is_stopping);
	request->body = exchange->body ? exchange->body : "";
	r = admit(exchange, &err);
	if (r != -EINPROGRESS && !has_turn(exchange))
		return MHD_YES;
	if (r == -EACCES)
		note_unauthenticated(
			exchange->http, peer_of(request->connection)->from, err.msg);
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
	struct clv_http_peer *peer = peer_of(connection);

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

static struct clv_exchange *begin(struct clv_http *http,
	struct MHD_Connection *connection, const char *url, const char *method)
{
	const struct clv_http_peer *peer = peer_of(connection);
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
		.path = url,
		.is_local = peer->server->is_unix,
		.route = CLV_REQUEST_NO_ROUTE,
	};
	return exchange;
}

static int check_target(struct MHD_Connection *connection, struct clv_error *err)
{
	if (!peer_of(connection)->has_cut_parameters)
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
				peer_of(connection)->version_at, &err) < 0)
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
	clv_http_peer_set_busy(peer_of(connection), false);
	if (exchange->is_suspended)
		unlist(exchange);
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
	run(server->http);
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
	r = http->peers && http->fair
		    ? sd_event_add_time(agent->event, &http->timer, CLOCK_MONOTONIC,
			      UINT64_MAX, 1, on_timer, http)
		    : -ENOMEM;
	if (r >= 0)
		r = sd_event_add_defer(agent->event, &http->turns, on_turn, http);
	if (r >= 0)
		r = sd_event_source_set_enabled(http->turns, SD_EVENT_OFF);
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
		resume_next_turn(http);
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

size_t clv_http_count_waiting(const struct clv_http *http)
{
	return http->n_waiting + clv_fair_count(http->fair);
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
