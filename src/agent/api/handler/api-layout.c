/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of partitions: the node, plans, layouts, profiles, operations and shares. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request.h"
#include "agent/api/show/render.h"
#include "agent/apply/apply-edit.h"
#include "agent/apply/apply.h"
#include "agent/device/hardware.h"
#include "agent/driver/node-json.h"
#include "agent/driver/plan-json.h"
#include "agent/http/problem.h"
#include "agent/layout/profiles.h"
#include "agent/layout/reapply.h"
#include "agent/layout/standing-view.h"
#include "agent/ledger/holders.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/os/digest.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A little more than the worker's own timeout. */
#define SURVEY_WAIT_MS 65000u
#define TAG_MAX 40

/* Gets the node as of a survey that began after the request, or -EINPROGRESS. */
static int get_node(
	struct clv_request *request, struct clv_node **ret, struct clv_error *err)
{
	struct clv_agent *agent = request->agent;

	/* During an operation a survey may wait long for a step that reloads a driver:
	 * the last survey is used, if there is one.  A new agent is busy with the former
	 * layout and has none. */
	if (request->is_first_run) {
		request->number = clv_hardware_last_survey(agent->hardware);
		if (!clv_apply_is_busy(agent->apply) || request->number == 0)
			request->number = clv_hardware_survey(agent->hardware);
	}
	if (clv_hardware_last_survey(agent->hardware) < request->number &&
		!request->is_late)
		return clv_request_wait(request, CLV_TOPIC_HARDWARE, SURVEY_WAIT_MS);
	*ret = clv_holders_node(agent);
	return 0;
}

static int answer(struct clv_request *request, unsigned int status, json_t *json)
{
	request->status = status;
	request->answer = json;
	return 0;
}

int clv_api_get_node(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_node *node;
	int r = get_node(request, &node, err);

	return r < 0 ? r : answer(request, 200, clv_node_to_json(node));
}

/* Whether the text is one line of UTF-8: messages, events and the journal quote it. */
static bool is_plain(const char *text)
{
	json_t *string = json_string(text);
	bool is_text = string != NULL;

	json_decref(string);
	for (const char *p = text; *p; p++)
		is_text = is_text && (unsigned char)*p >= 0x20 && *p != 0x7f;
	return is_text;
}

static const char *layout_name(const struct clv_request *request)
{
	const char *name = clv_request_argument(request, "name");

	return name && name[0] && strlen(name) < 100 && is_plain(name) ? name : "layout";
}

/* A layout that the node cannot follow is an invalid layout, for any reason. */
static int fail_layout(int r, struct clv_error *err)
{
	if (r != -ENOMEM)
		err->code = -EBADMSG;
	return err->code;
}

int clv_api_post_plan(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	struct clv_node *node;
	json_t *json;
	int r = get_node(request, &node, err);

	if (r < 0)
		return r;
	r = clv_layout_parse(
		request->body, request->n_body_bytes, layout_name(request), &layout, err);
	if (r >= 0)
		r = clv_plan_make(node, &layout, &plan, err);
	if (r >= 0)
		r = clv_standing_check(node, &plan, layout.name, err);
	if (r >= 0)
		r = clv_standing_add_obstacles(request->agent, &plan, err);
	if (r < 0) {
		clv_node_add_problems(node, err);
		clv_plan_clear(&plan);
		clv_layout_clear(&layout);
		return fail_layout(r, err);
	}
	json = clv_plan_to_json(&plan, node);
	json_object_set_new(json, "share_changes",
		clv_standing_changes_to_json(request->agent, node, &plan));
	json_object_set_new(
		json, "on_busy", json_string(clv_on_busy_to_string(layout.on_busy)));
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	return answer(request, 200, json);
}

static int start(struct clv_request *request, const struct clv_apply_request *wanted,
	struct clv_error *err)
{
	struct clv_apply *apply = request->agent->apply;
	struct clv_operation *op;
	int r;

	/* A new agent asks the drivers, and then applies the kept layout. */
	if ((clv_hardware_last_survey(request->agent->hardware) <
			    request->agent->first_survey ||
		    clv_reapply_delays(request->agent->reapply, wanted)) &&
		!request->is_late)
		return clv_request_wait(request, CLV_TOPIC_HARDWARE, SURVEY_WAIT_MS);
	r = clv_apply_start(apply, wanted, &op, err);
	if (r < 0)
		return r;
	snprintf(request->object, sizeof(request->object), "%s", clv_operation_id(op));
	snprintf(request->detail, sizeof(request->detail), "%s", wanted->what);
	return answer(request, 202, clv_operation_to_json(op));
}

static int read_on_busy(const struct clv_request *request,
	struct clv_apply_request *wanted, struct clv_error *err)
{
	const char *text = clv_request_argument(request, "on_busy");

	for (int i = 0; text && i < _CLV_ON_BUSY_MAX; i++) {
		if (strcmp(text, clv_on_busy_to_string((enum clv_on_busy)i)) == 0) {
			wanted->on_busy = (enum clv_on_busy)i;
			wanted->has_on_busy = true;
		}
	}
	if (text && !wanted->has_on_busy)
		return clv_error_set(err, -EINVAL, "on_busy must be fail, wait or list");
	return 0;
}

static int read_flag(const struct clv_request *request, const char *name, bool *ret,
	struct clv_error *err)
{
	const char *text = clv_request_argument(request, name);

	*ret = text && strcmp(text, "true") == 0;
	if (text && !*ret && strcmp(text, "false") != 0)
		return clv_error_set(err, -EINVAL, "%s must be true or false", name);
	return 0;
}

static int apply(struct clv_request *request, struct clv_error *err)
{
	struct clv_apply_request wanted = {
		.uid = request->caller.uid,
		.layout_name = layout_name(request),
		.keeps_layout = true,
		.is_acknowledged = true,
	};
	char *text;
	int r = read_on_busy(request, &wanted, err);

	if (r >= 0)
		r = read_flag(request, "only", &wanted.forgets_others, err);

	if (r < 0)
		return r;
	text = strndup(request->body, request->n_body_bytes);
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot apply");
	wanted.layout = text;
	snprintf(wanted.what, sizeof(wanted.what), "apply %s", wanted.layout_name);
	r = start(request, &wanted, err);
	free(text);
	return r == -EINVAL || r == -ERANGE || r == -E2BIG ? fail_layout(r, err) : r;
}

int clv_api_post_apply(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	return apply(request, err);
}

/* Writes the node as a layout, to be freed, and its ETag. */
static int write_node(const struct clv_agent *agent, const struct clv_node *node,
	char **ret, char tag[TAG_MAX], struct clv_error *err)
{
	struct clv_layout layout;
	char digest[CLV_DIGEST_MAX];
	int r = clv_layout_of_node(node, &layout, err);

	if (r < 0)
		return r;
	r = clv_standing_add_to_layout(agent, node, &layout);
	r = r < 0 ? clv_error_errno(err, -r, "cannot export the node")
		  : clv_layout_write(&layout, ret, err);
	clv_layout_clear(&layout);
	if (r < 0)
		return r;
	clv_digest(*ret, strlen(*ret), digest);
	snprintf(tag, TAG_MAX, "\"%.32s\"", digest);
	return 0;
}

/* Whether the value of If-Match names the tag.  A weak tag never fits (RFC 9110, 13.1.1).
 */
static bool does_match(const char *wanted, const char *tag)
{
	if (strcmp(wanted, "*") == 0)
		return true;
	for (const char *at = strstr(wanted, tag); at; at = strstr(at + 1, tag)) {
		if (at == wanted || at[-1] != '/')
			return true;
	}
	return false;
}

/* Prevents lost updates: with If-Match the node must still be as the caller saw it. */
int clv_api_put_layout(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const char *wanted = clv_request_header(request, "If-Match");
	struct clv_node *node;
	char tag[TAG_MAX], *text;
	int r = get_node(request, &node, err);

	if (r >= 0 && wanted) {
		r = write_node(request->agent, node, &text, tag, err);
		if (r < 0)
			return r;
		free(text);
		if (!does_match(wanted, tag))
			return clv_error_set(err, -CLV_E_CHANGED,
				"the node has changed since the layout was read: get the "
				"layout again and check yours against it");
	}
	return r < 0 ? r : apply(request, err);
}

static int read_number(const json_t *body, const char *key, json_int_t least,
	json_int_t most, json_int_t otherwise, json_int_t *ret, struct clv_error *err)
{
	const json_t *value = json_object_get(body, key);

	*ret = value ? json_integer_value(value) : otherwise;
	if (value && (!json_is_integer(value) || *ret < least || *ret > most))
		return clv_error_set(err, -EINVAL,
			"%s must be a whole number from %lld to %lld", key,
			(long long)least, (long long)most);
	return 0;
}

static int read_text(const json_t *body, const char *key, char *ret, size_t ret_bytes,
	struct clv_error *err)
{
	const char *text = json_string_value(json_object_get(body, key));

	if (!text || text[0] == '\0' || strlen(text) >= ret_bytes || !is_plain(text))
		return clv_error_set(err, -EINVAL,
			"%s must be a text of 1 to %zu bytes on one line", key,
			ret_bytes - 1);
	snprintf(ret, ret_bytes, "%s", text);
	return 0;
}

static int check_keys(const json_t *body, struct clv_error *err)
{
	static const char *const known[] = {"device", "profile", "count", "start"};
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)body, key, value) {
		size_t i = 0;

		while (i < CLV_ARRAY_SIZE(known) && strcmp(known[i], key) != 0)
			i++;
		if (i == CLV_ARRAY_SIZE(known))
			return clv_error_set(err, -EINVAL,
				"unknown field \"%.40s\": known are device, profile, "
				"count and start",
				key);
	}
	return 0;
}

static int read_partition(
	const json_t *body, struct clv_apply_request *wanted, struct clv_error *err)
{
	json_int_t count, start;
	int r = check_keys(body, err);

	if (r >= 0)
		r = read_text(
			body, "device", wanted->device, sizeof(wanted->device), err);
	if (r >= 0)
		r = read_text(
			body, "profile", wanted->profile, sizeof(wanted->profile), err);
	if (r >= 0)
		r = read_number(body, "count", 1, 4096, 1, &count, err);
	if (r >= 0)
		r = read_number(body, "start", 0, 4096, -1, &start, err);
	if (r < 0)
		return r;
	wanted->count = (uint32_t)count;
	wanted->start = (int32_t)start;
	snprintf(wanted->what, sizeof(wanted->what), "create %.36s on %.60s",
		wanted->profile, wanted->device);
	return 0;
}

/* Answers with the plan: creating a partition may reset the device or repartition all of
 * it. */
static int plan_partition(struct clv_request *request,
	const struct clv_apply_request *wanted, struct clv_error *err)
{
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	struct clv_node *node;
	char *text = NULL;
	int r = get_node(request, &node, err);

	if (r < 0)
		return r;
	r = clv_apply_edit(wanted, node, &layout, &text, err);
	if (r >= 0)
		r = clv_plan_make(node, &layout, &plan, err);
	if (r >= 0) {
		answer(request, 200, clv_plan_to_json(&plan, node));
		/* An operation without a layout changes no standing share. */
		json_object_set_new(request->answer, "share_changes", json_array());
		json_object_set_new(request->answer, "on_busy", json_string("fail"));
	} else {
		clv_apply_strip_position(&layout, err);
		clv_error_prefix(err, "%s failed", wanted->what);
		err->code = r == -ENOSPC ? -EBUSY : r;
	}
	free(text);
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	return r < 0 ? err->code : 0;
}

int clv_api_post_partition(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_apply_request wanted = {
		.uid = request->caller.uid, .is_acknowledged = true};
	json_t *body = json_loadb(
		request->body, request->n_body_bytes, JSON_REJECT_DUPLICATES, NULL);
	bool is_dry = false;
	int r = 0;

	if (!json_is_object(body))
		r = clv_error_set(err, -EINVAL, "the body must be a JSON object");
	if (r >= 0)
		r = read_flag(request, "dry_run", &is_dry, err);
	if (r >= 0)
		r = read_partition(body, &wanted, err);
	if (r >= 0)
		r = is_dry ? plan_partition(request, &wanted, err)
			   : start(request, &wanted, err);
	json_decref(body);
	return r;
}

int clv_api_delete_partition(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_apply_request wanted = {
		.uid = request->caller.uid, .is_acknowledged = true};
	const char *name = clv_request_argument(request, "name");

	if (!name || name[0] == '\0' || strlen(name) >= sizeof(wanted.partition) ||
		!is_plain(name))
		return clv_error_set(err, -EINVAL,
			"name must be that of a partition: DELETE "
			"/v1/partitions?name=gpu0/1g.10gb@4");
	snprintf(wanted.partition, sizeof(wanted.partition), "%s", name);
	snprintf(wanted.what, sizeof(wanted.what), "destroy %s", name);
	return start(request, &wanted, err);
}

int clv_api_get_operations(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_apply *apply = request->agent->apply;
	json_t *items = clv_apply_past(apply);
	struct clv_operation *op;

	for (size_t i = 0; (op = clv_apply_at(apply, i)); i++)
		json_array_append_new(items, clv_operation_to_json(op));
	return answer(request, 200, clv_api_list(items, 0));
}

/* Finds an operation that ended before this agent started. */
static json_t *find_past(struct clv_apply *apply, const char *id)
{
	json_t *items = clv_apply_past(apply), *item, *found = NULL;
	size_t i;

	json_array_foreach (items, i, item) {
		if (strcmp(json_string_value(json_object_get(item, "id")), id) == 0)
			found = json_incref(item);
	}
	json_decref(items);
	return found;
}

int clv_api_get_operation(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_operation *op = clv_apply_find(request->agent->apply, argument, err);
	const char *text = clv_request_argument(request, "after");
	json_t *past = op ? NULL : find_past(request->agent->apply, argument);
	uint64_t wait_ms = 0, after = 0;
	int r = op ? clv_api_get_wait(request, &wait_ms, err) : err->code;

	if (past)
		return answer(request, 200, past);
	if (r >= 0 && text)
		r = clv_request_parse_number("after", text, UINT64_MAX, &after, err);
	if (r < 0)
		return r;
	if (wait_ms > 0 && !request->is_late && !clv_operation_has_ended(op) &&
		clv_operation_revision(op) <= after)
		return clv_request_wait(request, CLV_TOPIC_HARDWARE, wait_ms);
	return answer(request, 200, clv_operation_to_json(op));
}

int clv_api_delete_operation(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_operation *op = clv_apply_find(request->agent->apply, argument, err);
	int r = op ? clv_apply_cancel(request->agent->apply, op, err) : err->code;

	return r < 0 ? r : answer(request, 200, clv_operation_to_json(op));
}

static int get_wanted(struct clv_request *request, struct clv_error *err)
{
	struct clv_store *store = clv_state_get_readable(request->agent, err);
	char *text, *resolved;
	struct clv_node *node;
	int r = store ? clv_store_get_layout(store, &text, &resolved, err) : err->code;

	if (r < 0)
		return r;
	r = get_node(request, &node, err);
	if (r >= 0)
		answer(request, 200,
			json_pack("{s:s,s:s,s:o}", "layout", text, "resolved", resolved,
				"devices", clv_reapply_to_json(request->agent->reapply)));
	free(text);
	free(resolved);
	return r;
}

int clv_api_get_layout(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const char *of = clv_request_argument(request, "of");
	struct clv_node *node;
	char tag[TAG_MAX], *text;
	int r;

	if (of && strcmp(of, "wanted") == 0)
		return get_wanted(request, err);
	if (of && strcmp(of, "node") != 0)
		return clv_error_set(err, -EINVAL, "of must be node or wanted");
	r = get_node(request, &node, err);
	if (r >= 0)
		r = write_node(request->agent, node, &text, tag, err);
	if (r < 0)
		return r;
	clv_request_set_header(request, "ETag", "%s", tag);
	answer(request, 200, json_pack("{s:s}", "layout", text));
	free(text);
	return 0;
}

/* Hides the ids of other tenants' leases from a tenant. */
static void hide_lease(const struct clv_request *request, json_t *item)
{
	const char *id = json_string_value(json_object_get(item, "lease"));
	const struct clv_lease *lease =
		id ? clv_ledger_find_id(request->agent->ledger, id) : NULL;

	if (lease && !clv_caller_sees(&request->caller, lease->owner))
		json_object_set_new(item, "lease", json_null());
}

int clv_api_get_shares(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const struct clv_standing_share *share;
	json_t *items = json_array();

	for (size_t i = 0; (share = clv_standing_at(request->agent->standing, i)); i++) {
		json_t *item = clv_render_standing(request->agent, share);

		hide_lease(request, item);
		json_array_append_new(items, item);
	}
	answer(request, 200, clv_api_list(items, 0));
	return 0;
}

int clv_api_get_profiles(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const char *name = clv_request_argument(request, "device");
	const struct clv_node_device *device;
	struct clv_node *node;
	json_t *items;
	int r = get_node(request, &node, err);

	if (r < 0)
		return r;
	if (name && !clv_node_find(node, name))
		return clv_error_set(err, -ENODEV,
			"there is no device '%.60s' that can be divided: see cleave "
			"devices",
			name);
	items = json_array();
	for (size_t i = 0; i < node->n_devices; i++) {
		device = &node->devices[i];
		if (!name || device == clv_node_find(node, name))
			clv_profiles_add(device, items);
	}
	return answer(request, 200, clv_api_list(items, 0));
}
