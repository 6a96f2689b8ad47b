/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of actions: what users ask of the supervisors that publish projects. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request-object.h"
#include "agent/publish/actions.h"
#include "agent/publish/published.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What each action needs, and the number of its other fields. */
static const struct {
	const char *name;
	const char *needs[2]; /* fields */
	const char *may;
} deeds[] = {
	{"scale", {"service", "replicas"}, NULL},
	{"logs", {"replica"}, "lines"},
};

static int check_needs(const json_t *asked, size_t at, struct clv_error *err)
{
	size_t n_known = 1 + (json_object_get(asked, "expires_in") != NULL);

	if (deeds[at].may && json_object_get(asked, deeds[at].may))
		n_known++;
	for (size_t i = 0; i < 2 && deeds[at].needs[i]; i++) {
		if (!json_object_get(asked, deeds[at].needs[i]))
			return clv_error_set(err, -EINVAL, "%s needs the field %s",
				deeds[at].name, deeds[at].needs[i]);
		n_known++;
	}
	if (json_object_size(asked) != n_known)
		return clv_error_set(err, -EINVAL,
			"a field of another action than %s is given: leave it out",
			deeds[at].name);
	return 0;
}

static int check_number(const json_t *asked, const char *field, json_int_t least,
	json_int_t most, struct clv_error *err)
{
	const json_t *value = json_object_get(asked, field);

	if (!value ||
		(json_integer_value(value) >= least && json_integer_value(value) <= most))
		return 0;
	return clv_error_set(
		err, -ERANGE, "%s must be from %d to %d", field, (int)least, (int)most);
}

/* The fields are those of the schema already. */
static int check(const json_t *asked, struct clv_error *err)
{
	const char *what = json_string_value(json_object_get(asked, "do"));
	size_t at = 0;
	int r;

	while (at < CLV_ARRAY_SIZE(deeds) - 1 && strcmp(deeds[at].name, what) != 0)
		at++;
	r = check_needs(asked, at, err);
	if (r >= 0)
		r = check_number(asked, "lines", 1, CLV_ACTION_LINES_MAX, err);
	if (r >= 0)
		r = check_number(asked, "expires_in", 1, CLV_ACTION_EXPIRES_MAX_S, err);
	return r;
}

json_t *clv_api_show_action(const struct clv_action *action)
{
	char asked_at[32], expires_at[32];
	json_t *made;

	clv_clock_format_rfc3339(action->asked_real_ns, asked_at);
	clv_clock_format_rfc3339(action->expires_real_ns, expires_at);
	made = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:b}", "id", action->id,
		"project", action->project, "tenant", action->tenant, "by", action->by,
		"asked_at", asked_at, "expires_at", expires_at, "state",
		clv_action_state_to_string(action->state), "why", action->why, "output",
		action->output ? json_incref(action->output) : json_array(), "cut",
		action->is_cut);
	json_object_update(made, action->asked);
	return made;
}

static void describe(const json_t *asked, char *ret, size_t room)
{
	const char *service = json_string_value(json_object_get(asked, "service"));
	const char *replica = json_string_value(json_object_get(asked, "replica"));

	if (service)
		snprintf(ret, room, "scale %.120s to %" JSON_INTEGER_FORMAT, service,
			json_integer_value(json_object_get(asked, "replicas")));
	else
		snprintf(ret, room, "logs of %.120s", replica);
}

int clv_api_post_action(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const struct clv_published *published = request->agent->published;
	const struct clv_published_project *project = clv_published_find(published,
		&request->caller, clv_request_argument(request, "tenant"), argument, err);
	const struct clv_action *action;
	struct clv_actions_to to;
	json_t *asked = NULL, *expires;
	int r = project ? clv_request_parse_object("ActionRequest", request->body,
				  request->n_body_bytes, &asked, err)
			: err->code;

	if (r >= 0)
		r = check(asked, err);
	if (r < 0) {
		json_decref(asked);
		return r;
	}
	describe(asked, request->detail, sizeof(request->detail));
	expires = json_incref(json_object_get(asked, "expires_in"));
	json_object_del(asked, "expires_in");
	to = (struct clv_actions_to){project->number, project->owner, project->is_admins,
		project->tenant, project->name};
	r = clv_actions_add(clv_published_get_actions(published), &to, &request->caller,
		asked,
		expires ? (uint64_t)json_integer_value(expires) : CLV_ACTION_EXPIRES_S,
		&action, err);
	json_decref(expires);
	if (r < 0)
		return r;
	request->status = 202;
	request->answer = clv_api_show_action(action);
	clv_notify_changed(request->agent->notify, CLV_TOPIC_ACTIONS);
	return 0;
}

int clv_api_get_action(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const struct clv_action *action =
		clv_actions_find(clv_published_get_actions(request->agent->published),
			&request->caller, argument, err);
	uint64_t wait_ms = 0;
	int r = action ? clv_api_get_wait(request, &wait_ms, err) : err->code;

	if (r < 0)
		return r;
	if (wait_ms > 0 && !request->is_late && !clv_action_has_ended(action))
		return clv_request_wait(request, CLV_TOPIC_ACTIONS, wait_ms);
	request->status = 200;
	request->answer = clv_api_show_action(action);
	return 0;
}
