/* SPDX-License-Identifier: Apache-2.0 */
/* cleave down: ends the services of a project. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/services/project/control.h"
#include "cli/frame/cli.h"
#include "cli/services/compose-file.h"
#include "cli/services/follow-up.h"
#include "cli/services/projects.h"

#include <string.h>
#include <unistd.h>

/* A path of a compose file, and no name of a project. */
static bool is_file(const char *text)
{
	return strchr(text, '/') || strchr(text, '.');
}

static int choose(const char *text, struct clv_project *ret)
{
	_cleanup_compose_ struct clv_compose_file file = {};
	int r;

	if (text && !is_file(text))
		return clv_projects_choose(text, ret);
	if (!text && access("compose.yaml", R_OK) < 0)
		return clv_projects_choose(NULL, ret);
	r = clv_compose_file_read(text ? text : "compose.yaml", NULL, &file);
	return r ? r : clv_projects_choose(file.services.project, ret);
}

static int run_down(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	struct clv_project project = {};
	json_int_t after;
	int r = choose(argc ? argv[0] : NULL, &project);

	if (r)
		return r;
	/* One that starts finds what runs, also without the file. */
	if (!clv_projects_is_running(&project)) {
		r = clv_projects_start(&project, settings->socket, "--down");
		return r ? r : clv_follow_down(&project, 0);
	}
	after = clv_last_event(&project);
	r = clv_projects_ask(&project, json_pack("{s:s}", "do", "down"), NULL);
	return r ? r : clv_follow_down(&project, after);
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_down = {
	.name = "down",
	.arguments = "[PROJECT|FILE]",
	.summary = "end the services of a project",
	.about =
		"Ends the containers in their time, releases their leases and closes the "
		"ports. Named volumes stay. Without an argument the project is that of "
		"compose.yaml, or the only one.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_down,
};
