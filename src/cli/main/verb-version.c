/* SPDX-License-Identifier: Apache-2.0 */
/* cleave version: prints the versions of this program and of the agent, if one runs.  It
 * starts no agent. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>

static void cell_program(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "version"));
}

static void cell_api(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f", clv_json_number(row, "api"));
}

static void cell_agent(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *agent = json_object_get(row, "agent");

	if (json_is_object(agent))
		snprintf(ret, CLV_CELL_MAX, "%s, API %.0f, pid %.0f",
			clv_json_text(agent, "version"), clv_json_number(agent, "api"),
			clv_json_number(agent, "pid"));
	else
		snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "agent_error"));
}

static const struct clv_column columns[] = {
	{"CLEAVE", cell_program, false, WHOLE, 0},
	{"API", cell_api, true, WHOLE, 0},
	{"AGENT", cell_agent, false, WHOLE, 0},
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "version",
};

struct settings {
	struct clv_common common;
	bool ready;
};

static int run_version(const void *userdata, int argc, char **argv)
{
	const struct settings *settings = userdata;
	struct clv_client_options client_options =
		clv_cli_options(&settings->common, false);
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *about = json_object();
	struct clv_client_error err;
	json_t *agent = NULL;

	if (settings->ready && (clv_client_new(&client_options, &client, &err) < 0 ||
				       clv_client_ready(client, &err) < 0))
		return clv_cli_fail_client(&err);
	client = clv_client_free(client);
	json_object_set_new(about, "version", json_string(CLV_VERSION));
	json_object_set_new(about, "api", json_integer(CLEAVE_API_VERSION));
	if (clv_client_new(&client_options, &client, &err) < 0 ||
		clv_client_version(client, &agent, &err) < 0) {
		json_object_set_new(about, "agent", json_null());
		json_object_set_new(about, "agent_error", json_string(err.msg));
	} else {
		json_object_set_new(about, "agent", agent);
	}
	if (clv_output_object(&listing, settings->common.output, about) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the version: %m");

	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
	{.name = "ready",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct settings, ready),
		.help = "Fail unless an agent answers that can grant leases"},
};

const struct clv_verb clv_verb_version = {
	.name = "version",
	.summary = "show the versions of this program and of the agent",
	.settings_bytes = sizeof(struct settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_version,
};
