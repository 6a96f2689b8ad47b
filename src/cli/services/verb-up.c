/* SPDX-License-Identifier: Apache-2.0 */
/* cleave up: runs the services of a compose file, or prints them as manifests. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/yaml-out.h"
#include "cli/services/compose-file.h"
#include "cli/services/follow-up.h"
#include "cli/services/plan.h"
#include "cli/services/projects.h"
#include "service/kubernetes/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A project may be ended while it is entered. */
#define ENTRIES_MAX 5u

struct up_settings {
	struct clv_common common;
	const char *project;
	const char *to;
	const char *reports;
	bool plan;
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

/* One `up` of a project at a time: the descriptor, or minus an exit code.  *ret_is_busy:
 * another has it. */
static int lock_project(const struct clv_project *project, bool *ret_is_busy)
{
	char path[CLV_PATH_MAX];
	struct clv_error err;
	int fd;

	if (clv_path_make(project->folder, 0700, &err) < 0)
		return -clv_cli_fail(CLV_EXIT_NOT_PERMITTED, "%s", err.msg);
	clv_project_path(project, CLV_PROJECT_UP_LOCK, path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd < 0 || errno != EWOULDBLOCK)
		return -clv_cli_fail(CLV_EXIT_FAILED, "cannot lock %s: %m", path);
	close(fd);
	*ret_is_busy = true;
	return -CLV_EXIT_NO_FIT;
}

/* The folder may have been removed, and the lock with it. */
static bool has_lock(const struct clv_project *project, int fd)
{
	char path[CLV_PATH_MAX];
	struct stat of_path, of_fd;

	clv_project_path(project, CLV_PROJECT_UP_LOCK, path);
	return stat(path, &of_path) == 0 && fstat(fd, &of_fd) == 0 &&
	       of_path.st_ino == of_fd.st_ino && of_path.st_dev == of_fd.st_dev;
}

/* A `cleave down` that is in progress, or was interrupted, comes first. */
static int finish_down(const struct up_settings *settings, struct clv_project *project)
{
	int r = 0;

	if (!clv_project_is_ending(project))
		return 0;
	clv_output_line(stdout, "the project is being ended: its services start then");
	if (!clv_projects_is_running(project))
		r = clv_projects_start(project, settings->common.socket, "--down");
	return r ? r : clv_follow_down(project, clv_last_event(project));
}

/* The lock of a project that is not being ended, or minus an exit code. */
static int enter_project(const struct up_settings *settings, struct clv_project *project)
{
	for (unsigned n = 0; n < ENTRIES_MAX; n++) {
		bool is_busy = false;
		int r = finish_down(settings, project), fd;

		if (r)
			return -r;
		fd = lock_project(project, &is_busy);
		if (fd >= 0 && has_lock(project, fd) && !clv_project_is_ending(project))
			return fd;
		if (fd >= 0)
			close(fd);
		else if (!is_busy)
			return fd;
		else if (!clv_project_is_ending(project) &&
			 access(project->folder, F_OK) == 0)
			break;
	}
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

/* HAProxy makes its control socket under a longer name first. */
#define SOCKET_MAX_BYTES 95u

static int check_service(
	const struct clv_project *project, const struct clv_service *service)
{
	size_t n_bytes = strlen(project->folder) + strlen("/") + strlen(service->name) +
			 strlen(".sock");

	if (service->n_ports && n_bytes > SOCKET_MAX_BYTES)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%s: the names of project and service are %zu bytes too long for "
			"the path of a socket in %s: shorten one of them",
			service->name, n_bytes - SOCKET_MAX_BYTES, project->folder);
	for (size_t i = 0; i < service->n_volumes; i++) {
		const struct clv_service_volume *volume = &service->volumes[i];

		if (volume->is_path && volume->source && volume->source[0] != '/' &&
			strchr(project->origin, ':'))
			return clv_cli_fail(CLV_EXIT_BAD_FILE,
				"%s: the volume %s is below a folder with ':' in its "
				"name, which podman cannot mount: move the file from %s",
				service->name, volume->source, project->origin);
	}
	return 0;
}

static int check_services(const struct clv_compose_file *file)
{
	int r = 0;

	if (strpbrk(file->project.folder, CLV_PROJECT_PATH_REFUSED))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"podman cannot read files in %s, whose name has ',' or '\"': "
			"set " CLV_PROJECT_ENV " to another folder",
			file->project.folder);
	for (size_t i = 0; i < file->services.n && !r; i++)
		r = check_service(&file->project, &file->services.items[i]);
	return r;
}

static int run_services(const struct up_settings *settings, struct clv_compose_file *file)
{
	struct clv_project *project = &file->project;
	_cleanup_close_ int lock = -1;
	struct clv_error err;
	int r;

	if (clv_project_find(file->services.project, project, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	r = check_services(file);
	if (r || settings->plan)
		return r ? r
			 : clv_services_plan(&settings->common, file, settings->reports);
	lock = enter_project(settings, project);
	return lock < 0 ? -lock : bring_up(settings, project);
}

static int check_options(const struct up_settings *settings)
{
	if (settings->to && settings->plan)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--plan is about services that run here: leave out --to");
	if ((settings->reports || settings->common.output) && !settings->plan)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--%s is about a plan: add --plan, or leave it out",
			settings->reports ? "reports" : "output");
	return 0;
}

static int run_up(const void *userdata, int argc, char **argv)
{
	const struct up_settings *settings = userdata;
	_cleanup_compose_ struct clv_compose_file file;
	int r = clv_compose_file_read(
		argc ? argv[0] : "compose.yaml", settings->project, &file);

	if (!r)
		r = check_options(settings);
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
	{
		.name = "plan",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct up_settings, plan),
		.help = "Print what would be done with each service and where its "
			"replicas would be, and change nothing",
	},
	{
		.name = "reports",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct up_settings, reports),
		.argument = "FOLDER",
		.completes = CLV_COMPLETE_FILE,
		.help = "With --plan: predict slowdowns from the files SERVICE.json that "
			"cleave profile --report wrote there",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
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
