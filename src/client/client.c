/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of libcleave: each builds a path and a body, and hands back what the agent
 * answered.  Nothing is checked here that the agent checks: its sentences say why. */
#include "client/error.h"
#include "client/locate.h"
#include "client/start.h"
#include "client/transport.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALL_TIMEOUT_MS 10000u
#define PATH_BYTES 512
#define START_ATTEMPTS 20
#define START_PAUSE_NS 50000000
#define PPM 1e6

struct clv_client {
	struct clv_transport *transport;
	char *socket_path;
	bool may_start_agent;
	int interrupt_fd;
};

static void clv_json_decref(json_t *value)
{
	json_decref(value);
}
CLV_DEFINE_CLEANUP(json_t *, clv_json_decref)
#define _cleanup_json_ CLV_CLEANUP(clv_json_decrefp)
CLV_DEFINE_CLEANUP(struct clv_client *, clv_client_free)

static int parse_body(
	const struct clv_response *response, json_t **ret, struct clv_client_error *err)
{
	json_t *value = json_loadb(response->body, response->n_bytes, 0, NULL);

	if (!value)
		return clv_client_fail(err, -EBADMSG, "bad_reply",
			"the agent's answer is not JSON: is this socket an agent's?");

	*ret = value;
	return 0;
}

/* body and ret may be NULL. */
static int call(struct clv_client *client, const char *method, const char *path,
	const json_t *body, uint32_t wait_ms, json_t **ret, struct clv_client_error *err)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct clv_response response = {};
	int r;

	if (body && !text)
		return clv_client_fail(err, -EINVAL, "bad_request",
			"the request holds text that is not UTF-8");
	r = clv_transport_request(client->transport, method, path, text,
		CALL_TIMEOUT_MS + wait_ms, &response, err);
	if (r < 0)
		return r;
	if (response.status < 200 || response.status > 299)
		r = clv_client_fail_problem(err, response.status, response.body);
	else if (ret)
		r = parse_body(&response, ret, err);
	free(response.body);
	return r;
}

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

/* "/v1/leases/NAME", with the name percent-encoded. */
static int lease_path(
	const char *name, char ret[PATH_BYTES], struct clv_client_error *err)
{
	static const char base[] = "/v1/leases/";
	size_t n = sizeof(base) - 1;

	memcpy(ret, base, n);
	for (const char *p = name; *p; p++) {
		if (n + 4 >= PATH_BYTES / 2)
			return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
				"'%.40s...' is too long for the name of a lease", name);
		if (is_unreserved(*p))
			ret[n++] = *p;
		else
			n += (size_t)sprintf(ret + n, "%%%02X", (unsigned char)*p);
	}
	ret[n] = '\0';
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return clv_client_fail(err, -EINVAL, "bad_request",
			"'%s' is not the name of a lease: see cleave ps", name);

	return 0;
}

static int check_version(struct clv_client *client, struct clv_client_error *err)
{
	_cleanup_json_ json_t *version = NULL;
	int r = clv_client_version(client, &version, err);
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
		client->socket_path, text ? text : "unknown", api, CLV_VERSION,
		CLEAVE_API_VERSION);
}

static int fail_none(const struct clv_locate *where, struct clv_client_error *err)
{
	if (where->is_chosen)
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
		int r = clv_locate_probe(where->paths[i], err);

		if (r < 0)
			return r;
		if (r > 0)
			return (int)i;
	}
	return fail_none(where, err);
}

/* Connects to the agent that listens now, if any. */
static int connect_once(const struct clv_client_options *options,
	const struct clv_locate *where, struct clv_client **ret,
	struct clv_client_error *err)
{
	CLV_CLEANUP(clv_client_freep) struct clv_client *client = NULL;
	int r, found = find_socket(where, err);

	if (found < 0)
		return found;
	client = calloc(1, sizeof(*client));
	if (!client || !(client->socket_path = strdup(where->paths[found])))
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	client->may_start_agent = options->start_agent && !where->is_chosen;
	client->interrupt_fd = options->interrupt_fd;
	r = clv_transport_new(
		client->socket_path, options->interrupt_fd, &client->transport, err);
	if (r < 0)
		return r;
	r = check_version(client, err);
	if (r < 0)
		return r;

	*ret = CLV_TAKE(client);
	return 0;
}

int clv_client_new(const struct clv_client_options *options, struct clv_client **ret,
	struct clv_client_error *err)
{
	static const struct clv_client_options defaults;
	const struct timespec pause = {.tv_nsec = START_PAUSE_NS};
	_cleanup_free_ struct clv_locate *where = malloc(sizeof(*where));
	int r;

	if (!where)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	if (!options)
		options = &defaults;
	r = clv_locate_list(options->socket_path, where, err);
	if (r < 0)
		return r;

	/* An agent that has been idle may be leaving while we come: then its successor
	 * has to wait for its locks, and we for the successor. */
	r = connect_once(options, where, ret, err);
	for (int i = 0; i < START_ATTEMPTS; i++) {
		if (!options->start_agent || where->is_chosen ||
			(r != -ECONNREFUSED && r != -ECONNRESET))
			break;
		if (i > 0)
			nanosleep(&pause, NULL);
		r = clv_start_agent(where, options->interrupt_fd, err);
		if (r < 0)
			break;
		r = connect_once(options, where, ret, err);
	}
	return r;
}

struct clv_client *clv_client_free(struct clv_client *client)
{
	if (!client)
		return NULL;

	clv_transport_free(client->transport);
	free(client->socket_path);
	free(client);
	return NULL;
}

const char *clv_client_get_socket(const struct clv_client *client)
{
	return client->socket_path;
}

int clv_client_version(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return call(client, "GET", "/v1/version", NULL, 0, ret, err);
}

int clv_client_devices(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return call(client, "GET", "/v1/devices", NULL, 0, ret, err);
}

int clv_client_leases(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return call(client, "GET", "/v1/leases", NULL, 0, ret, err);
}

int clv_client_lease(struct clv_client *client, const char *id_or_name, json_t **ret,
	struct clv_client_error *err)
{
	char path[PATH_BYTES];
	int r = lease_path(id_or_name, path, err);

	return r < 0 ? r : call(client, "GET", path, NULL, 0, ret, err);
}

/* The agent left between two calls, for it was idle: finds or starts the next one. */
static int reconnect(struct clv_client *client, struct clv_client_error *err)
{
	struct clv_client_options options = {
		.start_agent = true, .interrupt_fd = client->interrupt_fd};
	struct clv_client *next, old = *client;
	int r = clv_client_new(&options, &next, err);

	if (r < 0)
		return r;
	*client = *next;
	*next = old;
	clv_client_free(next);
	return 0;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void set_fraction(json_t *object, const char *key, uint32_t ppm)
{
	if (ppm)
		json_object_set_new(object, key, json_real(ppm / PPM));
}

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
	if (bytes)
		json_object_set_new(object, key, json_integer((json_int_t)bytes));
}

int clv_client_lease_create(struct clv_client *client,
	const struct clv_client_lease_request *request, json_t **ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_object();
	int r;

	set_text(body, "name", request->name);
	set_text(body, "device", request->device);
	set_text(body, "profile", request->profile);
	set_text(body, "in", request->in);
	set_text(body, "isolation", request->isolation);
	set_text(body, "class", request->class_name);
	set_text(body, "command", request->command);
	set_fraction(body, "share", request->share_ppm);
	set_fraction(body, "cap", request->cap_ppm);
	set_bytes(body, "memory_bytes", request->memory_bytes);
	if (request->wait)
		json_object_set_new(body, "wait", json_true());
	if (request->overcommit)
		json_object_set_new(body, "overcommit", json_true());
	r = call(client, "POST", "/v1/leases", body, 0, ret, err);
	/* Refused is: never sent.  What was sent is not sent again. */
	if (r == -ECONNREFUSED && client->may_start_agent && reconnect(client, err) == 0)
		r = call(client, "POST", "/v1/leases", body, 0, ret, err);
	return r;
}

int clv_client_lease_wait(struct clv_client *client, const char *id_or_name,
	uint32_t wait_ms, json_t **ret, struct clv_client_error *err)
{
	char path[PATH_BYTES];
	size_t used;
	int r = lease_path(id_or_name, path, err);

	if (r < 0)
		return r;
	used = strlen(path);
	snprintf(path + used, sizeof(path) - used, "?wait_ms=%u&while=queued", wait_ms);
	return call(client, "GET", path, NULL, wait_ms, ret, err);
}

int clv_client_lease_update(struct clv_client *client, const char *id_or_name,
	const struct clv_client_lease_change *change, json_t **ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_object();
	char path[PATH_BYTES];
	int r = lease_path(id_or_name, path, err);

	if (r < 0)
		return r;
	set_text(body, "class", change->class_name);
	set_fraction(body, "share", change->share_ppm);
	set_fraction(body, "cap", change->cap_ppm);
	if (change->remove_cap)
		json_object_set_new(body, "cap", json_null());
	set_bytes(body, "memory_bytes", change->memory_bytes);
	return call(client, "PATCH", path, body, 0, ret, err);
}

int clv_client_lease_release(struct clv_client *client, const char *id_or_name,
	bool force, struct clv_client_error *err)
{
	char path[PATH_BYTES];
	int r = lease_path(id_or_name, path, err);

	if (r < 0)
		return r;
	if (force)
		strcat(path, "?force=true");
	return call(client, "DELETE", path, NULL, 0, NULL, err);
}

int clv_client_events(struct clv_client *client, uint64_t after_id, uint32_t wait_ms,
	uint32_t limit, json_t **ret, struct clv_client_error *err)
{
	char path[PATH_BYTES];
	int used = snprintf(path, sizeof(path), "/v1/events?after=%llu&wait_ms=%u",
		(unsigned long long)after_id, wait_ms);

	if (limit)
		snprintf(path + used, sizeof(path) - (size_t)used, "&limit=%u", limit);
	return call(client, "GET", path, NULL, wait_ms, ret, err);
}
