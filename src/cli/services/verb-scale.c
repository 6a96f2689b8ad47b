/* SPDX-License-Identifier: Apache-2.0 */
/* cleave scale: sets the number of a service's replicas.  cleave logs: what they write.
 */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "bridge/services/project/control.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/services/follow-up.h"
#include "cli/services/projects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- scale --- */

static int fail_number(const char *text)
{
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.60s' is no number for a service: write SERVICE=NUMBER, or "
		"PROJECT/SERVICE=NUMBER",
		text);
}

static int run_scale(const void *userdata, int argc, char **argv)
{
	const char *equal = strchr(argv[0], '='), *service;
	struct clv_project project = {};
	char name[128];
	json_int_t after;
	char *end = NULL;
	unsigned long n = equal ? strtoul(equal + 1, &end, 10) : 0;
	int r;

	if (!equal || !equal[1] || *end || equal[1] == '-' || n > 4096 ||
		(size_t)(equal - argv[0]) >= sizeof(name))
		return fail_number(argv[0]);
	snprintf(name, sizeof(name), "%.*s", (int)(equal - argv[0]), argv[0]);
	r = clv_projects_of_service(name, &project, &service);
	if (r)
		return r;
	after = clv_last_event(&project);
	r = clv_projects_ask(&project,
		json_pack("{s:s, s:s, s:I}", "do", "scale", "service", service,
			"replicas", (json_int_t)n),
		NULL);
	return r ? r : clv_follow_up(&project, after);
}

static const struct clv_opt scale_options[] = {CLV_OPT_HELP};

const struct clv_verb clv_verb_scale = {
	.name = "scale",
	.arguments = "[PROJECT/]SERVICE=NUMBER",
	.summary = "set the number of replicas of a service",
	.about = "A service that is scaled by its use goes on from this number. With 0 a "
		 "service that requests can start sleeps, another one is off.",
	.settings_bytes = sizeof(struct clv_common),
	.options = scale_options,
	.n_options = CLV_ARRAY_SIZE(scale_options),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_scale,
};

/* --- logs --- */

struct logs_settings {
	struct clv_common common;
	bool follow;
};

/* The names of the replicas' containers; borrowed from status. */
static size_t find_containers(
	const json_t *status, const char *service, const char **ret_names, size_t room)
{
	const json_t *item = clv_control_service(status, service);
	json_t *replica;
	size_t i, n = 0;

	json_array_foreach (json_object_get(item, "replicas"), i, replica) {
		if (n < room)
			ret_names[n++] = clv_json_text(replica, "name");
	}
	return n;
}

static int run_logs(const void *userdata, int argc, char **argv)
{
	const struct logs_settings *settings = userdata;
	_cleanup_json_ json_t *status = NULL;
	struct clv_project project = {};
	const char *service, *words[80] = {"podman", "logs", "--names"};
	size_t n = 3, n_found;
	int r = clv_projects_of_service(argv[0], &project, &service);

	if (!r)
		r = clv_projects_ask(
			&project, json_pack("{s:s}", "do", "status"), &status);
	if (r)
		return r;
	if (settings->follow)
		words[n++] = "--follow";
	n_found = find_containers(
		status, service, words + n, CLV_ARRAY_SIZE(words) - n - 1);
	if (n_found == 0)
		return clv_cli_fail(CLV_EXIT_NO_INPUT,
			"%s has no replica of '%.60s': cleave services lists them",
			project.name, service);
	execvp(words[0], (char *const *)(const void *)words);
	return clv_cli_fail(CLV_EXIT_NOT_FOUND, "cannot run podman: %m");
}

static const struct clv_opt logs_options[] = {
	{
		.name = "follow",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct logs_settings, follow),
		.help = "Go on until the command is ended",
	},
	CLV_OPT_HELP,
};

const struct clv_verb clv_verb_logs = {
	.name = "logs",
	.arguments = "[PROJECT/]SERVICE",
	.summary = "show what the replicas of a service write",
	.about = "Runs podman logs for the containers of the service, so that other "
		 "options "
		 "of it can be used with their names, which cleave services -o json "
		 "shows.",
	.settings_bytes = sizeof(struct logs_settings),
	.options = logs_options,
	.n_options = CLV_ARRAY_SIZE(logs_options),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_logs,
};
