/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of projects of services: what their supervisors publish. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request-project.h"
#include "agent/api/show/item-list.h"
#include "agent/publish/published.h"
#include "agent/record/agent.h"
#include "base/error.h"

#include <errno.h>
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
	if (!clv_request_is_project(name))
		return clv_error_set(err, -EINVAL,
			"that is no name of a project: lower-case letters, digits, '_' "
			"and '-', at most %d of them",
			CLV_PUBLISHED_NAME_MAX - 1);
	return 0;
}

int clv_api_put_project(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	json_t *report = NULL;
	struct clv_peer peer;
	char *text;
	int pidfd, r = check_publisher(request, argument, err);

	if (r >= 0)
		r = clv_request_parse_project(
			request->body, request->n_body_bytes, &report, err);
	if (r < 0)
		return r;
	text = json_dumps(report, CLV_ANSWER_FLAGS);
	json_decref(report);
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot keep the project");
	r = clv_process_of_socket(request->fd, &peer, &pidfd, err);
	if (r < 0) {
		free(text);
		return r;
	}
	request->status = 204;
	return clv_published_put(request->agent->published, &request->caller, &peer,
		pidfd, argument, text, err);
}
