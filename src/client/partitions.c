/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions, layouts, and the operations that carry them out. */
#include "client/call.h"
#include "client/error.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

int clv_client_node(struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/node", CLV_CALL_SURVEY_MS, ret, err);
}

static int send_layout(struct clv_client *client, const char *path,
	const struct clv_client_layout *layout, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call = {
		.method = "POST",
		.text = layout->text,
		.n_bytes = layout->n_bytes,
		.wait_ms = CLV_CALL_SURVEY_MS,
	};

	clv_url_path(&call.url, path);
	clv_url_query(&call.url, "name", layout->name);
	clv_url_query(&call.url, "on_busy", layout->on_busy);
	clv_url_query(&call.url, "only", layout->only ? "true" : NULL);
	return clv_call(client, &call, ret, err);
}

int clv_client_plan(struct clv_client *client, const struct clv_client_layout *layout,
	json_t **ret, struct clv_client_error *err)
{
	struct clv_client_layout asked = *layout;

	asked.on_busy = NULL;
	asked.only = false;
	return send_layout(client, "/v1/plan", &asked, ret, err);
}

int clv_client_apply(struct clv_client *client, const struct clv_client_layout *layout,
	json_t **ret, struct clv_client_error *err)
{
	return send_layout(client, "/v1/apply", layout, ret, err);
}

int clv_client_layout_get(struct clv_client *client, bool wanted, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call = {.method = "GET", .wait_ms = CLV_CALL_SURVEY_MS};

	clv_url_path(&call.url, "/v1/layout");
	clv_url_query(&call.url, "of", wanted ? "wanted" : NULL);
	return clv_call(client, &call, ret, err);
}

int clv_client_shares(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/shares", 0, ret, err);
}

int clv_client_profiles(struct clv_client *client, const char *device, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call = {.method = "GET", .wait_ms = CLV_CALL_SURVEY_MS};

	clv_url_path(&call.url, "/v1/profiles");
	clv_url_query(&call.url, "device", device);
	return clv_call(client, &call, ret, err);
}

static int post_partition(struct clv_client *client,
	const struct clv_client_partition_request *request, const char *dry_run,
	json_t **ret, struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_object();
	struct clv_call call = {
		.method = "POST", .body = body, .wait_ms = CLV_CALL_SURVEY_MS};

	clv_url_path(&call.url, "/v1/partitions");
	clv_url_query(&call.url, "dry_run", dry_run);
	clv_call_set_text(body, "device", request->device);
	clv_call_set_text(body, "profile", request->profile);
	if (request->has_start)
		json_object_set_new(body, "start", json_integer(request->start));
	clv_call_set_number(body, "count", request->count);
	return clv_call(client, &call, ret, err);
}

int clv_client_partition_plan(struct clv_client *client,
	const struct clv_client_partition_request *request, json_t **ret,
	struct clv_client_error *err)
{
	return post_partition(client, request, "true", ret, err);
}

int clv_client_partition_create(struct clv_client *client,
	const struct clv_client_partition_request *request, json_t **ret,
	struct clv_client_error *err)
{
	return post_partition(client, request, NULL, ret, err);
}

int clv_client_partition_destroy(struct clv_client *client, const char *name,
	json_t **ret, struct clv_client_error *err)
{
	struct clv_call call = {.method = "DELETE", .wait_ms = CLV_CALL_SURVEY_MS};

	clv_url_path(&call.url, "/v1/partitions");
	clv_url_query(&call.url, "name", name);
	return clv_call(client, &call, ret, err);
}

int clv_client_operations(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/operations", 0, ret, err);
}

/* Begins a call about one operation. */
static int begin(struct clv_call *call, const char *method, const char *id,
	struct clv_client_error *err)
{
	if (id[0] == '\0' || strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
		return clv_client_fail(err, -EINVAL, "bad_request",
			"'%s' is not the id of an operation", id);

	*call = (struct clv_call){.method = method};
	clv_url_path(&call->url, "/v1/operations/");
	clv_url_segment(&call->url, id);
	return 0;
}

int clv_client_operation(struct clv_client *client, const char *id, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call;
	int r = begin(&call, "GET", id, err);

	return r < 0 ? r : clv_call(client, &call, ret, err);
}

int clv_client_operation_wait(struct clv_client *client, const char *id,
	uint64_t after_revision, uint32_t wait_ms, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call;
	int r = begin(&call, "GET", id, err);

	if (r < 0)
		return r;
	clv_url_query_number(&call.url, "wait_ms", wait_ms);
	clv_url_query_number(&call.url, "after", after_revision);
	call.wait_ms = wait_ms;
	/* A new agent may count revisions from 0. */
	call.no_resend = true;
	return clv_call(client, &call, ret, err);
}

int clv_client_operation_end(
	struct clv_client *client, const char *id, struct clv_client_error *err)
{
	struct clv_call call;
	int r = begin(&call, "DELETE", id, err);

	return r < 0 ? r : clv_call(client, &call, NULL, err);
}
