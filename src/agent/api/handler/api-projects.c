/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of projects of services: what their supervisors publish. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request-object.h"
#include "agent/api/show/item-list.h"
#include "agent/publish/actions.h"
#include "agent/publish/published.h"
#include "agent/record/agent.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 16u
/* Of reports: a page is parsed and written while all other callers wait. */
#define PAGE_BYTES (128u << 10)

static json_t *to_json(const struct clv_published_project *project)
{
	json_t *report = json_loads(project->text, 0, NULL);
	json_t *made = json_pack("{s:I,s:s,s:s}", "number", (json_int_t)project->number,
		"name", project->name, "tenant", project->tenant);

	json_object_update(made, report);
	json_decref(report);
	return made;
}

int clv_api_get_projects(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const struct clv_published *published = request->agent->published;
	const struct clv_published_project *project;
	struct clv_item_list items = {0};
	struct clv_page page;
	size_t n_bytes = 0;
	uint64_t last;
	int r = clv_api_get_page(request, PAGE, &page, err);

	if (r < 0)
		return r;
	last = page.after;
	while ((project = clv_published_next(published, &request->caller, last)) &&
		items.n < page.limit && n_bytes < PAGE_BYTES) {
		n_bytes += strlen(project->text);
		last = project->number;
		clv_item_list_add(&items, request, to_json(project));
	}
	return clv_item_list_answer(&items,
		json_pack("{s:o}", "next",
			project ? json_integer((json_int_t)last) : json_null()),
		request, err);
}

static int check_publisher(
	const struct clv_request *request, const char *name, struct clv_error *err)
{
	if (!request->is_local)
		return clv_error_set(err, -EINVAL,
			"a project is published by a process of this node, which keeps "
			"it there: use the agent's socket");
	if (!clv_published_is_name(name))
		return clv_error_set(err, -EINVAL,
			"that is no name of a project: lower-case letters, digits, '_' "
			"and '-', at most %d of them",
			CLV_PUBLISHED_NAME_MAX - 1);
	return 0;
}

/* Lines are kept as objects of their own, each of which is larger than an empty line. */
static int check_results(const json_t *results, struct clv_error *err)
{
	json_t *result;
	size_t i;

	json_array_foreach (results, i, result) {
		if (json_array_size(json_object_get(result, "output")) >
			CLV_ACTION_LINES_MAX)
			return clv_error_set(err, -ERANGE,
				"the output of an action has over %d lines: leave the "
				"first ones out, and set cut",
				CLV_ACTION_LINES_MAX);
	}
	return 0;
}

/* What the report says of actions is for those who have asked for them, and is not kept
 * with it. */
static void take_results(struct clv_request *request, json_t *results)
{
	struct clv_actions *actions =
		clv_published_get_actions(request->agent->published);

	if (clv_actions_settle(actions, request->number, results))
		clv_notify_changed(request->agent->notify, CLV_TOPIC_ACTIONS);
	json_decref(results);
}

static int take_report(
	struct clv_request *request, const char *name, struct clv_error *err)
{
	json_t *report = NULL, *results;
	struct clv_peer peer;
	char *text;
	int pidfd, r = check_publisher(request, name, err);

	if (r >= 0)
		r = clv_request_parse_object("ProjectReport", request->body,
			request->n_body_bytes, &report, err);
	if (r >= 0)
		r = check_results(json_object_get(report, "results"), err);
	if (r < 0) {
		json_decref(report);
		return r;
	}
	results = json_incref(json_object_get(report, "results"));
	json_object_del(report, "results");
	text = json_dumps(report, CLV_ANSWER_FLAGS);
	json_decref(report);
	r = text ? clv_process_of_socket(request->fd, &peer, &pidfd, err)
		 : clv_error_errno(err, ENOMEM, "cannot keep the project");
	if (r >= 0)
		r = clv_published_put(request->agent->published, &request->caller, &peer,
			pidfd, name, text, &request->number, err);
	else
		free(text);
	if (r >= 0)
		take_results(request, results);
	else
		json_decref(results);
	return r;
}

/* A supervisor that has something new to report leaves the connection of the report
 * before, which waits.  That is not known here until the loop has looked at it. */
static bool has_left(const struct clv_request *request)
{
	struct pollfd connection = {.fd = request->fd}; /* a hang-up */

	return poll(&connection, 1, 0) > 0;
}

/* What the supervisor has not taken yet; empty if it has left. */
static json_t *give_actions(const struct clv_request *request)
{
	struct clv_actions *actions =
		clv_published_get_actions(request->agent->published);
	const struct clv_action *action = NULL;
	json_t *items = json_array();

	if (has_left(request))
		return items;
	while ((action = clv_actions_next(actions, request->number, action))) {
		clv_actions_mark_sent(actions, action);
		json_array_append_new(items, clv_api_show_action(action));
	}
	return items;
}

int clv_api_put_project(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_actions *actions =
		clv_published_get_actions(request->agent->published);
	uint64_t wait_ms = 0;
	int r = clv_api_get_wait(request, &wait_ms, err);

	if (r >= 0 && request->is_first_run)
		r = take_report(request, argument, err);
	if (r < 0)
		return r;
	if (wait_ms > 0 && !request->is_late &&
		!clv_actions_next(actions, request->number, NULL))
		return clv_request_wait(request, CLV_TOPIC_ACTIONS, wait_ms);
	request->status = 200;
	request->answer = clv_api_list(give_actions(request), 0);
	return 0;
}
