/* SPDX-License-Identifier: Apache-2.0 */
/* The web console over HTTP: its files, and the list of agents whose nodes it shows. */
#include "agent/api/console/api-page.h"

#include "agent/api/console/api-console.h"
#include "agent/api/console/console-files.h"
#include "agent/api/handler/api.h"
#include "agent/config/config.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool clv_api_is_page(const char *path)
{
	return strcmp(path, "/") == 0 || strcmp(path, "/console") == 0 ||
	       strncmp(path, "/console/", 9) == 0;
}

/* The origins that the page may connect to besides its own agent, or NULL. */
static char *list_origins(const struct clv_config *settings)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < settings->n_nodes; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", settings->nodes[i].url);
	return out && fclose(out) == 0 ? text : NULL;
}

int clv_api_get_nodes(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const struct clv_config *settings = request->agent->settings;
	json_t *items = json_array();

	for (size_t i = 0; i < settings->n_nodes; i++)
		json_array_append_new(
			items, json_pack("{s:s,s:s}", "name", settings->nodes[i].name,
				       "url", settings->nodes[i].url));
	request->status = 200;
	request->answer = clv_api_list(items, 0);
	return 0;
}

int clv_api_serve_page(struct clv_request *request, struct clv_error *err)
{
	_cleanup_free_ char *origins = list_origins(request->agent->settings);
	struct clv_console_request wanted = {
		.method = request->method,
		.path = request->path,
		.if_none_match = clv_request_header(request, "If-None-Match"),
		.connect = origins,
	};
	struct clv_console_answer answer;
	int r = clv_console_answer(
		clv_console_files, clv_console_n_files, &wanted, &answer, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < answer.n_headers; i++)
		clv_request_set_header(
			request, answer.headers[i].name, "%s", answer.headers[i].value);
	request->status = answer.status;
	request->file = answer.body;
	request->n_bytes = answer.n_bytes;
	return 0;
}
