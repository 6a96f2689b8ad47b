/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the caller of a request: by the credentials of the Unix socket's peer, or by
 * its token. */
#include "agent/http/http-internal.h"

#include "agent/auth/tokens.h"
#include "agent/http/problem.h"
#include "agent/record/agent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define UNAUTHENTICATED_LOG_NS (10 * CLV_NS_PER_S)
#define USER_WAIT_MS 10000u

struct counted {
	const char *name;
	unsigned int n;
};

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

void clv_http_note_unauthenticated(
	struct clv_http *http, const char *from, const char *why)
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
	struct clv_http_peer *peer = clv_http_peer_of(request->connection);
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

int clv_exchange_admit(struct clv_exchange *exchange, struct clv_error *err)
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
