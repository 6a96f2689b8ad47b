/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, leases and events. */
#include "client/call.h"
#include "client/error.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

int clv_client_devices(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/devices", CLV_CALL_PROBE_MS, ret, err);
}

/* Reads all pages into one list.  filter has pairs of a name and a value; a pair with a
 * value of NULL is left out. */
static int get_pages(struct clv_client *client, const char *path,
	const char *const filter[4], json_t **ret, struct clv_client_error *err)
{
	_cleanup_json_ json_t *list = NULL;
	json_int_t after = 0;

	do {
		struct clv_call call = {.method = "GET"};
		_cleanup_json_ json_t *page = NULL;
		int r;

		clv_url_path(&call.url, path);
		for (size_t i = 0; i < 4 && filter[i]; i += 2)
			clv_url_query(&call.url, filter[i], filter[i + 1]);
		if (after > 0)
			clv_url_query_number(&call.url, "after", (uint64_t)after);
		r = clv_call(client, &call, &page, err);
		if (r < 0)
			return r;
		after = json_integer_value(json_object_get(page, "next"));
		if (!list)
			list = json_incref(page);
		else
			json_array_extend(json_object_get(list, "items"),
				json_object_get(page, "items"));
	} while (after > 0);
	json_object_set_new(list, "next", json_null());
	*ret = json_incref(list);
	return 0;
}

static int get_leases(struct clv_client *client, const char *device, json_t **ret,
	struct clv_client_error *err)
{
	const char *const filter[4] = {
		"device", device, "state", device ? "active" : NULL};

	return get_pages(client, "/v1/leases", filter, ret, err);
}

int clv_client_leases(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return get_leases(client, NULL, ret, err);
}

int clv_client_leases_on(struct clv_client *client, const char *device, json_t **ret,
	struct clv_client_error *err)
{
	return get_leases(client, device, ret, err);
}

/* Begins a call about one lease. */
static int begin(struct clv_call *call, const char *method, const char *name,
	struct clv_client_error *err)
{
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return clv_client_fail(err, -EINVAL, "bad_request",
			"'%s' is not the name of a lease: see cleave ps", name);

	*call = (struct clv_call){.method = method};
	clv_url_path(&call->url, "/v1/leases/");
	clv_url_segment(&call->url, name);
	if (clv_url_check(&call->url, NULL) < 0)
		return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
			"'%.40s...' is too long for the name of a lease", name);
	return 0;
}

int clv_client_lease(struct clv_client *client, const char *id_or_name, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call;
	int r = begin(&call, "GET", id_or_name, err);

	return r < 0 ? r : clv_call(client, &call, ret, err);
}

static void set_devices(json_t *body, const struct clv_client_lease_request *request)
{
	json_t *devices = json_array();

	for (size_t i = 0; i < request->n_devices; i++)
		json_array_append_new(devices, json_string(request->devices[i]));
	if (request->n_devices > 0)
		json_object_set(body, "devices", devices);
	json_decref(devices);
}

static json_t *body_of(const struct clv_client_lease_request *request)
{
	json_t *body = json_object();

	clv_call_set_text(body, "name", request->name);
	clv_call_set_text(body, "device", request->device);
	clv_call_set_text(body, "profile", request->profile);
	clv_call_set_text(body, "in", request->in);
	clv_call_set_text(body, "isolation", request->isolation);
	clv_call_set_text(body, "class", request->class_name);
	clv_call_set_text(body, "command", request->command);
	clv_call_set_share(body, request->share_ppm, request->share_most_ppm);
	clv_call_set_fraction(body, "cap", request->cap_ppm);
	clv_call_set_number(body, "memory_bytes", request->memory_bytes);
	clv_call_set_number(body, "spill_bytes", request->spill_bytes);
	clv_call_set_flag(body, "wait", request->wait);
	clv_call_set_flag(body, "overcommit", request->overcommit);
	clv_call_set_number(body, "count", request->count);
	clv_call_set_flag(body, "same_device", request->same_device);
	set_devices(body, request);
	clv_call_set_number(body, "time", request->time_s);
	clv_call_set_fraction(body, "sm", request->sm_ppm);
	clv_call_set_flag(body, "keep", request->keep);
	clv_call_set_text(body, "admit", request->admit);
	clv_call_set_text(body, "holder", request->holder);
	if (request->has_user)
		json_object_set_new(body, "user", json_integer(request->user));
	return body;
}

int clv_client_lease_create(struct clv_client *client,
	const struct clv_client_lease_request *request, json_t **ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = body_of(request);
	struct clv_call call = {
		.method = "POST", .body = body, .wait_ms = CLV_CALL_PROBE_MS};

	clv_url_path(&call.url, "/v1/leases");
	return clv_call(client, &call, ret, err);
}

int clv_client_placements(struct clv_client *client,
	const struct clv_client_placement *wanted, size_t n, const char *const *gone,
	size_t n_gone, json_t **ret, struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_pack("{s:[], s:[]}", "leases", "gone");
	json_t *leases = json_object_get(body, "leases");
	struct clv_call call = {
		.method = "POST", .body = body, .wait_ms = CLV_CALL_PROBE_MS};

	for (size_t i = 0; i < n; i++) {
		json_t *item = json_pack("{s:o}", "lease", body_of(&wanted[i].lease));

		clv_call_set_text(item, "instead_of", wanted[i].instead_of);
		clv_call_set_flag(item, "ends_first", wanted[i].ends_first);
		json_array_append_new(leases, item);
	}
	for (size_t i = 0; i < n_gone; i++)
		json_array_append_new(
			json_object_get(body, "gone"), json_string(gone[i]));
	clv_url_path(&call.url, "/v1/placements");
	return clv_call(client, &call, ret, err);
}

int clv_client_lease_join(struct clv_client *client, const char *id_or_name, int pid,
	json_t **ret, struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_pack("{s:i}", "pid", pid);
	struct clv_call call;
	int r = begin(&call, "POST", id_or_name, err);

	if (r < 0)
		return r;
	clv_url_path(&call.url, "/holders");
	call.body = body;
	return clv_call(client, &call, ret, err);
}

int clv_client_lease_wait(struct clv_client *client, const char *id_or_name,
	uint32_t wait_ms, json_t **ret, struct clv_client_error *err)
{
	struct clv_call call;
	int r = begin(&call, "GET", id_or_name, err);

	if (r < 0)
		return r;
	clv_url_query_number(&call.url, "wait_ms", wait_ms);
	clv_url_query(&call.url, "while", "queued");
	call.wait_ms = wait_ms;
	return clv_call(client, &call, ret, err);
}

int clv_client_lease_update(struct clv_client *client, const char *id_or_name,
	const struct clv_client_lease_change *change, json_t **ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_object();
	struct clv_call call;
	int r = begin(&call, "PATCH", id_or_name, err);

	if (r < 0)
		return r;
	clv_call_set_text(body, "class", change->class_name);
	clv_call_set_share(body, change->share_ppm, change->share_most_ppm);
	clv_call_set_fraction(body, "cap", change->cap_ppm);
	if (change->remove_cap)
		json_object_set_new(body, "cap", json_null());
	clv_call_set_number(body, "memory_bytes", change->memory_bytes);
	clv_call_set_number(body, "spill_bytes", change->spill_bytes);
	if (change->remove_spill)
		json_object_set_new(body, "spill_bytes", json_integer(0));
	call.body = body;
	return clv_call(client, &call, ret, err);
}

int clv_client_lease_release(struct clv_client *client, const char *id_or_name,
	bool force, struct clv_client_error *err)
{
	struct clv_call call;
	int r = begin(&call, "DELETE", id_or_name, err);

	if (r < 0)
		return r;
	clv_url_query(&call.url, "force", force ? "true" : NULL);
	return clv_call(client, &call, NULL, err);
}

int clv_client_events(struct clv_client *client, uint64_t after_id, uint32_t wait_ms,
	uint32_t limit, json_t **ret, struct clv_client_error *err)
{
	struct clv_call call = {.method = "GET", .wait_ms = wait_ms};

	clv_url_path(&call.url, "/v1/events");
	clv_url_query_number(&call.url, "after", after_id);
	clv_url_query_number(&call.url, "wait_ms", wait_ms);
	if (limit)
		clv_url_query_number(&call.url, "limit", limit);
	return clv_call(client, &call, ret, err);
}

int clv_client_advice(struct clv_client *client, const char *id_or_name, json_t **ret,
	struct clv_client_error *err)
{
	const char *const filter[4] = {"lease", id_or_name};

	return get_pages(client, "/v1/advice", filter, ret, err);
}
