/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: connections, bodies, waiting, answers.  What a request means is in the
 * table of api.c.  libmicrohttpd runs without threads of its own. */
#include "agent/http.h"

#include "agent/agent.h"
#include "agent/api.h"
#include "agent/idle.h"
#include "agent/problem.h"
#include "agent/quota.h"
#include "agent/request.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096u
#define MAX_CONNECTIONS_PER_USER 1024u
#define READ_ALL_THE_SAME_BYTES (1u << 20)
#define SILENT_CONNECTION_S 60u
#define REAL_DIGITS 12

/* A request with what only the server knows of it. */
struct exchange {
	TAILQ_ENTRY(exchange) entry; /* while suspended */
	struct clv_http *http;
	struct clv_request request;
	char *body;
	size_t room;
	bool is_too_large;
	bool is_suspended;
	bool has_run;
	bool is_gone;            /* the client hung up during a wait */
	sd_event_source *hangup; /* while suspended */
	unsigned int topics;
	uint64_t deadline_ns; /* of the wait; 0: has not waited */
};

struct clv_http {
	struct clv_agent *agent;
	struct MHD_Daemon *daemon;
	sd_event_source *io, *timer;
	TAILQ_HEAD(, exchange) waiting;
	size_t n_waiting;
	int listen_fd; /* the server's */
	struct clv_quota *quota;
	bool is_stopping;
};

const char *clv_request_argument(const struct clv_request *request, const char *name)
{
	return MHD_lookup_connection_value(
		request->connection, MHD_GET_ARGUMENT_KIND, name);
}

static struct exchange *exchange_of(struct clv_request *request)
{
	return (struct exchange *)((char *)request - offsetof(struct exchange, request));
}

int clv_request_wait(struct clv_request *request, unsigned int topics, uint64_t wait_ms)
{
	struct exchange *exchange = exchange_of(request);

	if (exchange->deadline_ns == 0)
		exchange->deadline_ns = clv_clock_ns() + wait_ms * CLV_NS_PER_MS;
	exchange->topics = topics;
	return -EINPROGRESS;
}

/* When the loop must look at the server again: its own time-outs and the waits'. */
static void arm_timer(struct clv_http *http)
{
	uint64_t now_ns = clv_clock_ns(), next_ns = UINT64_MAX;
	const struct exchange *exchange;
	MHD_UNSIGNED_LONG_LONG left_ms;

	if (MHD_get_timeout(http->daemon, &left_ms) == MHD_YES)
		next_ns = now_ns + left_ms * CLV_NS_PER_MS;
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

static void resume(struct exchange *exchange)
{
	struct clv_http *http = exchange->http;

	TAILQ_REMOVE(&http->waiting, exchange, entry);
	http->n_waiting--;
	exchange->is_suspended = false;
	exchange->hangup = sd_event_source_disable_unref(exchange->hangup);
	MHD_resume_connection(exchange->request.connection);
	/* Nothing becomes readable by this: the timer has the server run. */
	sd_event_source_set_time(http->timer, 0);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

static void run(struct clv_http *http)
{
	MHD_run(http->daemon);
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
	struct exchange *exchange = TAILQ_FIRST(&http->waiting);
	uint64_t now_ns = clv_clock_ns();

	while (exchange) {
		struct exchange *next = TAILQ_NEXT(exchange, entry);

		if (exchange->deadline_ns <= now_ns)
			resume(exchange);
		exchange = next;
	}
	run(http);
	return 0;
}

void clv_http_wake(struct clv_http *http, unsigned int topics)
{
	struct exchange *exchange = TAILQ_FIRST(&http->waiting);

	while (exchange) {
		struct exchange *next = TAILQ_NEXT(exchange, entry);

		if (exchange->topics & topics)
			resume(exchange);
		exchange = next;
	}
}

/* The server does not look at a suspended connection, so a client that dies would leave
 * its request waiting. */
static int on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct exchange *exchange = userdata;

	exchange->is_gone = true;
	resume(exchange);
	return 0;
}

static void suspend(struct exchange *exchange)
{
	struct clv_http *http = exchange->http;

	TAILQ_INSERT_TAIL(&http->waiting, exchange, entry);
	http->n_waiting++;
	exchange->is_suspended = true;
	/* No event asked for: errors and hang-ups are always told. */
	sd_event_add_io(http->agent->event, &exchange->hangup, exchange->request.fd, 0,
		on_hangup, exchange);
	MHD_suspend_connection(exchange->request.connection);
}

static enum MHD_Result answer(struct clv_request *request, const char *type)
{
	char *text = request->answer
			     ? json_dumps(request->answer,
				       JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS))
			     : NULL;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		text ? strlen(text) : 0, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	if (text)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	result = MHD_queue_response(request->connection, request->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct clv_request *request, const struct clv_error *err)
{
	json_decref(request->answer);
	request->answer = clv_problem_to_json(err, &request->status);
	return answer(request, "application/problem+json");
}

/* A user's own agent serves that user (and root); the system's serves all. */
static int check_peer(const struct clv_request *request, struct clv_error *err)
{
	if (request->agent->config.is_system || request->peer.uid == 0 ||
		request->peer.uid == geteuid())
		return 0;
	return clv_error_set(err, -EPERM,
		"this agent belongs to user %u and you are user %u: use your own agent "
		"or the system's",
		geteuid(), request->peer.uid);
}

static enum MHD_Result handle(struct exchange *exchange)
{
	struct clv_request *request = &exchange->request;
	struct clv_error err = {0};
	int r;

	if (exchange->is_gone)
		return MHD_NO;
	request->is_first_run = !exchange->has_run;
	request->is_late =
		exchange->deadline_ns > 0 &&
		(exchange->deadline_ns <= clv_clock_ns() || exchange->http->is_stopping);
	exchange->has_run = true;
	request->body = exchange->body ? exchange->body : "";
	r = check_peer(request, &err);
	if (r >= 0 && exchange->is_too_large)
		r = clv_error_set(&err, -EMSGSIZE,
			"the body is over %u bytes: a request needs far less",
			CLV_REQUEST_MAX_BYTES);
	if (r >= 0)
		r = clv_api_handle(request, &err);

	if (r == -EINPROGRESS && !exchange->http->is_stopping) {
		suspend(exchange);
		return MHD_YES;
	}
	if (r == -EINPROGRESS)
		clv_error_set(&err, -ECANCELED, "the agent is ending: try again");
	return r < 0 ? refuse(request, &err) : answer(request, "application/json");
}

static void take_body(struct exchange *exchange, const char *data, size_t n_bytes)
{
	struct clv_request *request = &exchange->request;
	size_t wanted = request->n_body_bytes + n_bytes;
	char *body;

	if (exchange->is_too_large || wanted > CLV_REQUEST_MAX_BYTES) {
		exchange->is_too_large = true;
		return;
	}
	if (wanted > exchange->room) {
		body = realloc(exchange->body, CLV_REQUEST_MAX_BYTES);
		if (!body) {
			exchange->is_too_large = true;
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

	return text && strtoull(text, NULL, 10) > READ_ALL_THE_SAME_BYTES;
}

static struct exchange *begin(struct clv_http *http, struct MHD_Connection *connection,
	const char *url, const char *method)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct exchange *exchange = info ? calloc(1, sizeof(*exchange)) : NULL;
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (!exchange)
		return NULL;
	if (getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) <
		0) {
		free(exchange);
		return NULL;
	}
	exchange->http = http;
	exchange->request = (struct clv_request){
		.agent = http->agent,
		.connection = connection,
		.fd = info->connect_fd,
		.method = method,
		.path = url,
		.peer = {.id.pid = credentials.pid,
			.uid = credentials.uid,
			.gid = credentials.gid},
	};
	return exchange;
}

static enum MHD_Result on_access(void *userdata, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version, const char *upload,
	size_t *upload_bytes, void **state)
{
	struct clv_http *http = userdata;
	struct exchange *exchange = *state;

	if (!exchange) {
		exchange = begin(http, connection, url, method);
		if (!exchange)
			return MHD_NO;
		*state = exchange;
		/* An answer before the end of the body breaks the connection: only what
		 * would never end gets one. */
		if (announces_too_much(connection)) {
			exchange->is_too_large = true;
			return handle(exchange);
		}
		return MHD_YES;
	}
	if (*upload_bytes > 0) {
		take_body(exchange, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	/* libmicrohttpd may look in again while the connection is suspended. */
	if (exchange->is_suspended)
		return MHD_YES;
	return handle(exchange);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **state,
	enum MHD_RequestTerminationCode code)
{
	struct exchange *exchange = *state;

	*state = NULL;
	if (!exchange)
		return;
	if (exchange->is_suspended) {
		TAILQ_REMOVE(&exchange->http->waiting, exchange, entry);
		exchange->http->n_waiting--;
	}
	sd_event_source_disable_unref(exchange->hangup);
	json_decref(exchange->request.answer);
	free(exchange->body);
	clv_idle_touch(exchange->http->agent->idle);
	free(exchange);
}

/* Connections by user.  One too many is shut at once, and the server then finds it at its
 * end; *state says whether it was counted. */
static void on_connection(void *userdata, struct MHD_Connection *connection, void **state,
	enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct clv_http *http = userdata;
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &credentials,
			     &length) < 0)
		return;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*state)
			clv_quota_give_back(http->quota, credentials.uid);
		return;
	}
	/* Its request is on the way: not the time to end for idleness. */
	clv_idle_touch(http->agent->idle);
	if (clv_quota_take(http->quota, credentials.uid))
		*state = http;
	else
		shutdown(info->connect_fd, SHUT_RDWR);
}

static int watch_server(struct clv_http *http, struct clv_error *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r = info ? sd_event_add_io(http->agent->event, &http->io, info->epoll_fd,
			       EPOLLIN, on_io, http)
		     : -ENOTSUP;

	if (r >= 0)
		r = sd_event_add_time(http->agent->event, &http->timer, CLOCK_MONOTONIC,
			UINT64_MAX, 1, on_timer, http);
	return r < 0 ? clv_error_errno(err, -r, "cannot watch the API's socket") : 0;
}

int clv_http_new(struct clv_agent *agent, int listen_fd, struct clv_http **ret,
	struct clv_error *err)
{
	struct clv_http *http = calloc(1, sizeof(*http));
	int r;

	if (http)
		http->quota = clv_quota_new(MAX_CONNECTIONS_PER_USER);
	if (!http || !http->quota) {
		close(listen_fd);
		free(http);
		return clv_error_errno(err, ENOMEM, "cannot serve the API");
	}
	http->agent = agent;
	http->listen_fd = listen_fd;
	TAILQ_INIT(&http->waiting);
	http->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
		NULL, on_access, http, MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, SILENT_CONNECTION_S, MHD_OPTION_END);
	if (!http->daemon) {
		close(listen_fd);
		clv_quota_free(http->quota);
		free(http);
		return clv_error_set(err, -EIO, "cannot serve the API: no HTTP server");
	}
	r = watch_server(http, err);
	if (r < 0) {
		clv_http_free(http);
		return r;
	}
	*ret = http;
	return 0;
}

struct clv_http *clv_http_free(struct clv_http *http)
{
	if (!http)
		return NULL;
	/* Those who wait get an answer; a suspended connection cannot be closed. */
	http->is_stopping = true;
	clv_http_wake(http, ~0u);
	MHD_run(http->daemon);
	sd_event_source_disable_unref(http->io);
	sd_event_source_disable_unref(http->timer);
	MHD_stop_daemon(http->daemon);
	clv_quota_free(http->quota);
	free(http);
	return NULL;
}

size_t clv_http_count_waiting(const struct clv_http *http)
{
	return http->n_waiting;
}

int clv_http_listen_fd(const struct clv_http *http)
{
	return http->listen_fd;
}
