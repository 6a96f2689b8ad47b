/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing, for programs with a loop of their own: nothing here waits, and no agent is
 * started. */
#include "client/call.h"
#include "client/error.h"
#include "client/exchange.h"
#include "client/locate.h"
#include "client/transport.h"

#include <cleave.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct clv_client_publisher {
	char *socket_path; /* NULL: where an agent is looked for */
	char *project;
	struct sockaddr_un address; /* of the agent, as it was found */
	bool is_found;
	struct clv_exchange exchange;
	char *body;
};

int clv_client_publisher_new(const struct clv_client_options *options,
	const char *project, struct clv_client_publisher **ret,
	struct clv_client_error *err)
{
	struct clv_client_publisher *publisher = calloc(1, sizeof(*publisher));
	const char *path = options ? options->socket_path : NULL;

	if (publisher) {
		publisher->exchange.fd = -1;
		publisher->project = strdup(project);
		publisher->socket_path = path ? strdup(path) : NULL;
	}
	if (!publisher || !publisher->project || (path && !publisher->socket_path)) {
		clv_client_publisher_free(publisher);
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	}
	*ret = publisher;
	return 0;
}

static void give_up(struct clv_client_publisher *publisher)
{
	clv_exchange_done(&publisher->exchange);
	free(publisher->body);
	publisher->body = NULL;
}

struct clv_client_publisher *clv_client_publisher_free(
	struct clv_client_publisher *publisher)
{
	if (!publisher)
		return NULL;
	give_up(publisher);
	free(publisher->socket_path);
	free(publisher->project);
	free(publisher);
	return NULL;
}

/* A queue that is full is an agent that hangs to a caller that does not wait.  The next
 * try looks for an agent again. */
static int fail(
	struct clv_client_publisher *publisher, int error, struct clv_client_error *err)
{
	publisher->is_found = false;
	return clv_transport_fail(
		publisher->address.sun_path, error == -EAGAIN ? -ETIMEDOUT : error, err);
}

/* The first socket with a listener. */
static int find_agent(
	struct clv_client_publisher *publisher, struct clv_client_error *err)
{
	const struct clv_client_options options = {.socket_path = publisher->socket_path};
	_cleanup_free_ struct clv_locate *where = malloc(sizeof(*where));
	int r = where ? clv_locate_list(&options, where, err)
		      : clv_client_fail(err, -ENOMEM, "internal", "out of memory");

	for (unsigned int i = 0; r >= 0 && i < where->n_paths; i++) {
		r = clv_locate_probe(where->paths[i], 0, err);
		if (r <= 0)
			continue;
		publisher->address.sun_family = AF_UNIX;
		strcpy(publisher->address.sun_path, where->paths[i]);
		publisher->is_found = true;
		return 0;
	}
	return r < 0 ? r
		     : clv_client_fail(
			       err, -ECONNREFUSED, "unreachable", "no agent runs");
}

static int set_request(struct clv_client_publisher *publisher, uint32_t wait_ms,
	struct clv_client_error *err)
{
	struct clv_url url = {};
	struct clv_request request = {
		.method = "PUT",
		.path = url.text,
		.body = publisher->body,
		.n_bytes = publisher->body ? strlen(publisher->body) : 0,
		.content_type = "application/json",
		.idempotency_key = "",
	};
	int r;

	clv_url_path(&url, "/v1/projects/");
	clv_url_segment(&url, publisher->project);
	if (wait_ms > 0)
		clv_url_query_number(&url, "wait_ms", wait_ms);
	r = clv_url_check(&url, err);
	if (r < 0)
		return r;
	if (!publisher->body || clv_exchange_set(&publisher->exchange, &request) < 0)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	return 0;
}

int clv_client_publisher_begin(struct clv_client_publisher *publisher,
	const json_t *report, uint32_t wait_ms, struct clv_client_error *err)
{
	int r;

	give_up(publisher);
	publisher->body = json_dumps(report, JSON_COMPACT);
	r = set_request(publisher, wait_ms, err);
	if (r >= 0 && !publisher->is_found)
		r = find_agent(publisher, err);
	if (r < 0)
		return r;
	r = clv_exchange_connect(&publisher->exchange, &publisher->address);
	return r < 0 ? fail(publisher, r, err) : 0;
}

int clv_client_publisher_get_fd(
	const struct clv_client_publisher *publisher, short *ret_events)
{
	*ret_events = clv_exchange_events(&publisher->exchange);
	return publisher->exchange.fd;
}

/* An agent of an earlier version has no answer beside the status. */
static int read_answer(
	const struct clv_response *response, json_t **ret, struct clv_client_error *err)
{
	json_t *answer;

	if (response->status < 200 || response->status > 299)
		return clv_client_fail_problem(err, response->status, response->body);
	answer = response->n_bytes > 0
			 ? json_loadb(response->body, response->n_bytes, 0, NULL)
			 : json_object();
	if (!answer)
		return clv_client_fail(err, -EBADMSG, "bad_reply",
			"the agent's answer is not JSON: is this socket an agent's?");
	*ret = answer;
	return 0;
}

int clv_client_publisher_continue(struct clv_client_publisher *publisher, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_response response = {};
	int r = clv_exchange_step(&publisher->exchange, &publisher->address, &response);

	if (r == -EINPROGRESS)
		return r;
	if (r < 0)
		return fail(publisher, r, err);
	r = read_answer(&response, ret, err);
	free(response.body);
	return r;
}
