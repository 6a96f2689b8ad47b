/* SPDX-License-Identifier: Apache-2.0 */
/* cleave up: runs the services of a compose file, or prints them as manifests. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/yaml-out.h"
#include "cli/services/compose-file.h"
#include "cli/services/follow-up.h"
#include "cli/services/projects.h"
#include "service/kubernetes/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

struct up_settings {
	struct clv_common common;
	const char *project;
	const char *to;
};

static const char *const targets[] = {"kubernetes", NULL};

/* --- Manifests --- */

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

/* --- Running --- */

/* One `up` of a project at a time: the descriptor, or minus an exit code. */
static int lock_project(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];
	struct clv_error err;
	int fd;

	if (clv_path_make(project->folder, 0700, &err) < 0)
		return -clv_cli_fail(CLV_EXIT_NOT_PERMITTED, "%s", err.msg);
	clv_project_path(project, "up.lock", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd < 0 || errno != EWOULDBLOCK)
		return -clv_cli_fail(CLV_EXIT_FAILED, "cannot lock %s: %m", path);
	close(fd);
	return -clv_cli_fail(CLV_EXIT_NO_FIT,
		"another cleave up of %s is in progress: wait for its end",
		project->name);
}

static int bring_up(const struct up_settings *settings, struct clv_project *project)
{
	bool is_running = clv_projects_is_running(project);
	json_int_t after = is_running ? clv_last_event(project) : 0;
	struct clv_error err;
	int r;

	if (clv_project_keep(project, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (is_running)
		r = clv_projects_ask(project, json_pack("{s:s}", "do", "reload"), NULL);
	else
		r = clv_projects_start(project, settings->common.socket, "--fresh");
	return r ? r : clv_follow_up(project, after);
}

static int run_services(const struct up_settings *settings, struct clv_compose_file *file)
{
	struct clv_project *project = &file->project;
	_cleanup_close_ int lock = -1;
	struct clv_error err;

	if (clv_project_find(file->services.project, project, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	lock = lock_project(project);
	return lock < 0 ? -lock : bring_up(settings, project);
}

static int run_up(const void *userdata, int argc, char **argv)
{
	const struct up_settings *settings = userdata;
	_cleanup_compose_ struct clv_compose_file file;
	int r = clv_compose_file_read(
		argc ? argv[0] : "compose.yaml", settings->project, &file);

	if (r)
		return r;
	return settings->to ? print_manifests(&file) : run_services(settings, &file);
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
		.help = "Print manifests for this engine instead of running the services",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_up = {
	.name = "up",
	.arguments = "[FILE]",
	.summary = "run the services of a compose file in slices of devices",
	.about = "Starts the services, or changes those that run to what FILE says, and "
		 "returns when they are ready. FILE is by default compose.yaml.",
	.settings_bytes = sizeof(struct up_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_up,
};
