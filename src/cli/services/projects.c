/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, starts and asks supervisors of projects. */
#include "cli/services/projects.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bridge/services/project/control.h"
#include "cli/frame/cli.h"
#include "cli/launch/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SUPERVISOR "cleave-services"
#define POLL_MS 50
#define START_NS (60 * CLV_NS_PER_S)

static int fail_control(const struct clv_project *project, int r, struct clv_error *err)
{
	if (r == -ECONNREFUSED)
		return clv_cli_fail(CLV_EXIT_UNREACHABLE,
			"no supervisor of %s runs: cleave up starts it", project->name);
	return clv_cli_fail(CLV_EXIT_FAILED, "%s: %s", project->name, err->msg);
}

int clv_projects_ask(const struct clv_project *project, json_t *request, json_t **ret)
{
	struct clv_error err;
	int r = clv_control_ask(project, request, ret, &err);

	return r < 0 ? fail_control(project, r, &err) : 0;
}

pid_t clv_projects_pid(const struct clv_project *project)
{
	_cleanup_json_ json_t *status = NULL;

	if (clv_control_ask(project, json_pack("{s:s}", "do", "status"), &status, NULL) <
		0)
		return 0;
	return (pid_t)json_integer_value(json_object_get(status, "pid"));
}

bool clv_projects_is_running(const struct clv_project *project)
{
	return clv_projects_pid(project) > 0;
}

/* --- Starting --- */

/* Beside this program, or in a build tree; else in PATH. */
static void find_supervisor(char ret[CLV_PATH_MAX])
{
	static const char *const places[] = {"", "../bridge/services/"};
	char self[CLV_PATH_MAX / 2];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(places) && slash; i++) {
		snprintf(ret, CLV_PATH_MAX, "%s%s" SUPERVISOR, self, places[i]);
		if (access(ret, X_OK) == 0)
			return;
	}
	strcpy(ret, SUPERVISOR);
}

/* Containers get the gates that this program would use. */
static void set_gates(void)
{
	char gate[CLV_PATH_MAX], *slash;

	if (getenv("CLEAVE_GATE_DIR") ||
		clv_program_find_gate(gate, sizeof(gate), NULL) < 0)
		return;
	slash = strrchr(gate, '/');
	if (slash)
		*slash = '\0';
	setenv("CLEAVE_GATE_DIR", gate, 1);
}

static void make_absolute(const char *variable)
{
	const char *value = getenv(variable);
	char path[PATH_MAX];

	if (value && realpath(value, path))
		setenv(variable, path, 1);
}

/* In the child: leaves the caller's session, terminal, folder and descriptors, which may
 * be locks and pipes that others wait for. */
static void become(
	const struct clv_project *project, const char *socket, const char *option)
{
	char program[CLV_PATH_MAX], log[CLV_PATH_MAX], of[CLV_PATH_MAX + 16];
	char *argv[6] = {program}, path[PATH_MAX];
	int n = 1, fd;

	find_supervisor(program);
	set_gates();
	clv_project_path(project, "supervisor.log", log);
	setsid();
	fd = open("/dev/null", O_RDONLY);
	if (fd > 0)
		dup2(fd, 0);
	fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd > 0) {
		dup2(fd, 1);
		dup2(fd, 2);
	}
	close_range(3, ~0U, 0);
	make_absolute(CLV_PROJECT_ENV);
	make_absolute("CLEAVE_SOCKET");
	if (socket && realpath(socket, path))
		socket = path;
	if (chdir("/") < 0)
		dprintf(2, "cannot leave the folder: %s\n", strerror(errno));
	if (socket) {
		snprintf(of, sizeof(of), "--socket=%s", socket);
		argv[n++] = of;
	}
	argv[n++] = (char *)option;
	argv[n] = (char *)project->name;
	execvp(program, argv);
	dprintf(2, "cannot start %s: %s\n", program, strerror(errno));
	_exit(CLV_EXIT_NOT_FOUND);
}

int clv_projects_fail(const struct clv_project *project, const char *what)
{
	char path[CLV_PATH_MAX], line[512] = "", next[512];
	FILE *log;

	clv_project_path(project, "supervisor.log", path);
	log = fopen(path, "re");
	while (log && fgets(next, sizeof(next), log))
		strcpy(line, next);
	if (log)
		fclose(log);
	line[strcspn(line, "\n")] = '\0';
	return clv_cli_fail(CLV_EXIT_FAILED, "%s %s: %s", project->name, what,
		line[0] ? line : "its supervisor wrote nothing");
}

static bool is_locked(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];
	_cleanup_close_ int fd = -1;

	clv_project_path(project, "lock", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* One that another command or the unit started may have read what was kept before. */
static int tell_other(const struct clv_project *project, const char *option)
{
	const char *what = strcmp(option, "--down") == 0 ? "down" : "reload";

	return clv_projects_ask(project, json_pack("{s:s}", "do", what), NULL);
}

int clv_projects_start(
	const struct clv_project *project, const char *socket, const char *option)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
	uint64_t until_ns = clv_clock_ns() + START_NS;
	pid_t pid = fork(), ended = 0, running;

	if (pid < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot start a program: %m");
	if (pid == 0)
		become(project, socket, option);
	do {
		running = clv_projects_pid(project);
		if (running == pid)
			return 0;
		if (running > 0)
			return tell_other(project, option);
		nanosleep(&pause, NULL);
		ended = ended ? ended : waitpid(pid, NULL, WNOHANG);
		/* The other one, whose lock ended it, may still be starting. */
	} while (clv_clock_ns() < until_ns &&
		 (ended == 0 ||
			 (access(project->folder, F_OK) == 0 && is_locked(project))));
	/* One that ends a project may have done so. */
	return access(project->folder, F_OK) < 0
		       ? 0
		       : clv_projects_fail(project, "has no supervisor");
}

/* --- Choosing --- */

int clv_projects_list(struct clv_project **ret, size_t *ret_n)
{
	struct clv_error err;

	if (clv_projects_read(ret, ret_n, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

static int fail_choice(const struct clv_project *projects, size_t n)
{
	char names[256] = "";

	if (n == 0)
		return clv_cli_fail(CLV_EXIT_NO_INPUT,
			"there is no project: cleave up FILE starts one");
	for (size_t i = 0; i < n; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			i ? ", " : "", projects[i].name);
	return clv_cli_fail(
		CLV_EXIT_USAGE, "there are several projects: name one of %s", names);
}

int clv_projects_choose(const char *name, struct clv_project *ret)
{
	_cleanup_free_ struct clv_project *projects = NULL;
	struct clv_error err;
	size_t n = 0;
	int r;

	if (name) {
		if (clv_project_find(name, ret, &err) < 0)
			return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
		if (access(ret->folder, F_OK) == 0)
			return 0;
		return clv_cli_fail(CLV_EXIT_NO_INPUT,
			"there is no project %s: cleave services lists them", name);
	}
	r = clv_projects_list(&projects, &n);
	if (r)
		return r;
	if (n != 1)
		return fail_choice(projects, n);
	*ret = projects[0];
	return 0;
}

int clv_projects_of_service(
	const char *text, struct clv_project *ret, const char **ret_service)
{
	const char *slash = strchr(text, '/');
	char name[CLV_SERVICE_NAME_MAX];

	*ret_service = slash ? slash + 1 : text;
	if (!slash)
		return clv_projects_choose(NULL, ret);
	snprintf(name, sizeof(name), "%.*s", (int)(slash - text), text);
	return clv_projects_choose(name, ret);
}
