/* SPDX-License-Identifier: Apache-2.0 */
/* cleave services: lists services, and says why they are as they are. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "bridge/services/project/control.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/services/follow-up.h"
#include "cli/services/projects.h"

#include <stdio.h>
#include <string.h>

struct services_settings {
	struct clv_common common;
	bool why;
};

static void show_name(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s/%s", clv_json_text(row, "project"),
		clv_json_text(row, "name"));
}

static void show_replicas(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%d/%d", (int)clv_json_number(row, "ready"),
		(int)clv_json_number(row, "wanted"));
}

static void show_use(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_percent(clv_json_number(row, "use"), ret);
}

static void show_ports(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(json_object_get(row, "ports"), ", ", ret);
}

static void show_reason(const json_t *row, char ret[CLV_CELL_MAX])
{
	const char *state = clv_json_text(row, "state");
	bool is_failure = strcmp(state, "failing") == 0 || strcmp(state, "failed") == 0 ||
			  strcmp(state, "no room") == 0;

	snprintf(ret, CLV_CELL_MAX, "%s",
		clv_json_text(row, is_failure ? "failure" : "why"));
}

static const struct clv_column columns[] = {
	{.header = "SERVICE", .format = show_name},
	{.header = "STATE", .key = "state"},
	{.header = "REPLICAS", .format = show_replicas},
	{.header = "USE", .format = show_use, .is_right = true, .rank = 2},
	{.header = "IN FLIGHT", .key = "in_flight", .is_right = true, .rank = 3},
	{.header = "PORTS", .format = show_ports, .rank = 1},
	{.header = "WHY", .format = show_reason, .fit = CUT, .rank = 4},
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no services: cleave up starts those of a compose file",
};

/* A project whose supervisor does not run has no rows, but a line. */
static void add_rows(const struct clv_project *project, bool with_events, json_t *rows)
{
	_cleanup_json_ json_t *status = NULL;
	json_t *service;
	size_t i;

	if (clv_control_ask(project, json_pack("{s:s}", "do", "status"), &status, NULL) <
		0) {
		clv_output_line(stderr,
			"cleave: no supervisor of %s runs: cleave up starts it again",
			project->name);
		return;
	}
	if (with_events)
		clv_print_events(json_object_get(status, "events"));
	json_array_foreach (json_object_get(status, "services"), i, service) {
		json_object_set_new(service, "project", json_string(project->name));
		json_array_append(rows, service);
	}
}

static int run_services(const void *userdata, int argc, char **argv)
{
	const struct services_settings *settings = userdata;
	_cleanup_free_ struct clv_project *projects = NULL;
	_cleanup_json_ json_t *list = json_pack("{s:[]}", "items");
	struct clv_project only = {};
	size_t n = 1;
	int r = argc ? clv_projects_choose(argv[0], &only)
		     : clv_projects_list(&projects, &n);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		add_rows(argc ? &only : &projects[i], settings->why,
			json_object_get(list, "items"));
	if (settings->why)
		return CLV_EXIT_OK;
	return clv_output_list(&listing, settings->common.output, list) < 0
		       ? clv_cli_fail(CLV_EXIT_FAILED, "cannot write: %m")
		       : CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	{
		.name = "why",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct services_settings, why),
		.help = "Print the last decisions and their reasons instead",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
};

const struct clv_verb clv_verb_services = {
	.name = "services",
	.arguments = "[PROJECT]",
	.summary = "list services: state, replicas, use, requests",
	.about = "REPLICAS are those that are ready and those that are wanted, USE the "
		 "part "
		 "of their promised compute that they held in the last second.",
	.settings_bytes = sizeof(struct services_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.run = run_services,
};
