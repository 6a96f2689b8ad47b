/* SPDX-License-Identifier: Apache-2.0 */
/* cleave up: prints the services of a compose file as manifests. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/yaml-out.h"
#include "cli/services/compose-file.h"
#include "service/kubernetes/objects.h"

#include <stdio.h>

struct up_settings {
	struct clv_common common;
	const char *project;
	const char *to;
};

static const char *const targets[] = {"kubernetes", NULL};

static int print_manifests(struct clv_compose_file *file)
{
	size_t n_remarks = file->services.n_remarks, i;
	_cleanup_json_ json_t *objects = NULL;
	struct clv_error err;
	json_t *object;

	if (clv_service_kubernetes(&file->services, &objects, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	clv_compose_file_print_remarks(file, n_remarks);
	json_array_foreach (objects, i, object) {
		if (clv_yaml_write(object, true, stdout) < 0)
			return clv_cli_fail(
				CLV_EXIT_FAILED, "cannot write the manifests: %m");
	}
	return CLV_EXIT_OK;
}

static int run_up(const void *userdata, int argc, char **argv)
{
	const struct up_settings *settings = userdata;
	_cleanup_compose_ struct clv_compose_file file;
	int r = clv_compose_file_read(
		argc ? argv[0] : "compose.yaml", settings->project, &file);

	if (!r && !settings->to)
		r = clv_cli_fail(CLV_EXIT_USAGE, "add --to kubernetes");
	return r ? r : print_manifests(&file);
}

static const struct clv_opt options[] = {
	{
		.name = "project",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct up_settings, project),
		.argument = "NAME",
		.help = "The name of the project; by default that in the file, or that "
			"of the file's folder",
	},
	{
		.name = "to",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct up_settings, to),
		.argument = "ENGINE",
		.choices = targets,
		.help = "Print manifests for this engine",
	},
	CLV_OPT_HELP,
};

const struct clv_verb clv_verb_up = {
	.name = "up",
	.arguments = "[FILE]",
	.summary = "print the services of a compose file as manifests",
	.about = "FILE is by default compose.yaml.",
	.settings_bytes = sizeof(struct up_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_up,
};
