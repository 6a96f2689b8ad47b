/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to the agent, or starts it, and connects again after it went away.  After its
 * first connection a client uses one socket only, so that it never mixes the answers of
 * agents with different nodes. */
#include "client/call.h"
#include "client/connection.h"
#include "client/error.h"
#include "client/locate.h"
#include "client/start.h"
#include "client/transport.h"
#include "client/unresponsive.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define START_ATTEMPTS 20
#define START_PAUSE_NS 50000000

CLV_DEFINE_CLEANUP(struct clv_client *, clv_client_free)

/* Timeouts of the attempts to get the version; the sum is the default of a call. */
static const uint32_t version_timeouts_ms[] = {1000, 1000, 8000};

/* Asks for the version.  Between the attempts it checks whether the agent is stopped or
 * hangs. */
static int ask_version(struct clv_client *client, const char *socket_path, bool may_end,
	json_t **ret, struct clv_client_error *err)
{
	_cleanup_unresponsive_ struct clv_unresponsive silent = {
		.socket_path = socket_path,
		.may_end = may_end,
		.interrupt_fd = client->interrupt_fd,
		.pidfd = -1};
	int r = -ETIMEDOUT;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(version_timeouts_ms) && r == -ETIMEDOUT;
		i++) {
		struct clv_call call = {
			.method = "GET", .timeout_ms = version_timeouts_ms[i]};

		if (i > 0 && (r = clv_unresponsive_check(&silent, err)) < 0)
			break;
		clv_url_path(&call.url, "/v1/version");
		r = clv_call(client, &call, ret, err);
	}
	if (r == -ETIMEDOUT) {
		int verdict = clv_unresponsive_check_last(&silent, err);

		r = verdict < 0 ? verdict : r;
	}
	return r;
}

static int check_version(struct clv_client *client, const char *socket_path, bool may_end,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *version = NULL;
	int r = ask_version(client, socket_path, may_end, &version, err);
	json_int_t api;
	const char *text;

	if (r < 0)
		return r;
	api = json_integer_value(json_object_get(version, "api"));
	text = json_string_value(json_object_get(version, "version"));
	if (api == CLEAVE_API_VERSION)
		return 0;

	return clv_client_fail(err, -EPROTO, "other_version",
		"the agent on %s (version %.32s) speaks API version %" JSON_INTEGER_FORMAT
		", this program (%s) speaks version %d: install the same release of both "
		"and restart cleaved",
		socket_path, text ? text : "unknown", api, CLV_VERSION,
		CLEAVE_API_VERSION);
}

static int fail_none(const struct clv_locate *where, struct clv_client_error *err)
{
	if (where->n_paths == 1)
		return clv_client_fail(err, -ECONNREFUSED, "unreachable",
			"no agent listens on %s: start cleaved there, or name another "
			"socket",
			where->paths[0]);
	return clv_client_fail(err, -ECONNREFUSED, "unreachable",
		"no agent runs (looked at %s and %s): cleave run starts one, or start "
		"cleaved by hand",
		where->paths[0], where->paths[1]);
}

/* Returns the index of the first socket with a listener, or an error. */
static int find_socket(const struct clv_locate *where, struct clv_client_error *err)
{
	for (unsigned int i = 0; i < where->n_paths; i++) {
		int r = clv_locate_probe(where->paths[i], CLV_LOCATE_WAIT_MS, err);

		if (r < 0)
			return r;
		if (r > 0)
			return (int)i;
	}
	return fail_none(where, err);
}

/* Keeps the client to one socket.  Only the agent of the last socket is the user's own,
 * which the client may start. */
static void keep_socket(struct clv_client *client, unsigned int found)
{
	struct clv_locate *where = client->where;

	client->may_start = client->may_start && found + 1 == where->n_paths;
	if (found > 0)
		memmove(where->paths[0], where->paths[found], sizeof(where->paths[0]));
	where->n_paths = 1;
	client->is_ready = true;
}

/* Connects to the agent that listens now, if any. */
static int connect_once(struct clv_client *client, struct clv_client_error *err)
{
	struct clv_locate *where = client->where;
	int r = 0, found = find_socket(where, err);
	const char *socket_path;

	if (found < 0)
		return found;
	socket_path = where->paths[found];
	if (!client->transport)
		r = clv_transport_new(
			socket_path, client->interrupt_fd, &client->transport, err);
	/* Only the user's own agent, whose socket is the last, may be ended. */
	if (r >= 0)
		r = check_version(client, socket_path,
			client->may_start && (unsigned int)found + 1 == where->n_paths,
			err);
	if (r >= 0)
		keep_socket(client, (unsigned int)found);
	else if (where->n_paths > 1)
		client->transport = clv_transport_free(client->transport);
	return r;
}

/* An idle agent may exit while this client connects: then its successor waits for its
 * locks, and this client for the successor. */
static int connect_or_start(struct clv_client *client, struct clv_client_error *err)
{
	const struct timespec pause = {.tv_nsec = START_PAUSE_NS};
	int r;

	client->is_ready = false;
	r = connect_once(client, err);
	for (int i = 0; i < START_ATTEMPTS; i++) {
		if (!client->may_start || (r != -ECONNREFUSED && r != -ECONNRESET))
			break;
		if (i > 0)
			nanosleep(&pause, NULL);
		r = clv_start_agent(client->where, client->interrupt_fd, err);
		if (r < 0)
			break;
		r = connect_once(client, err);
	}
	return r;
}

int clv_client_new(const struct clv_client_options *options, struct clv_client **ret,
	struct clv_client_error *err)
{
	static const struct clv_client_options defaults;
	CLV_CLEANUP(clv_client_freep) struct clv_client *client = NULL;
	int r;

	if (!options)
		options = &defaults;
	client = calloc(1, sizeof(*client));
	if (!client || !(client->where = malloc(sizeof(*client->where))))
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	r = clv_locate_list(options, client->where, err);
	if (r < 0)
		return r;

	client->reconnect = connect_or_start;
	client->interrupt_fd = options->interrupt_fd;
	client->may_start =
		(options->start_agent || options->sim_path) && !client->where->is_chosen;
	r = connect_or_start(client, err);
	if (r < 0)
		return r;

	*ret = CLV_TAKE(client);
	return 0;
}

int clv_client_reconnect(struct clv_client *client, struct clv_client_error *err)
{
	return connect_or_start(client, err);
}

struct clv_client *clv_client_free(struct clv_client *client)
{
	if (!client)
		return NULL;

	clv_transport_free(client->transport);
	free(client->where);
	free(client);
	return NULL;
}

const char *clv_client_get_socket(const struct clv_client *client)
{
	return client->where->paths[0];
}

int clv_client_ready(struct clv_client *client, struct clv_client_error *err)
{
	return clv_call_get(client, "/readyz", 0, NULL, err);
}

int clv_client_version(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/version", 0, ret, err);
}
