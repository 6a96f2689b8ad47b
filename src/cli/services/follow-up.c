/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a supervisor until what was asked for is there. */
#include "cli/services/follow-up.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bridge/services/project/control.h"
#include "bridge/services/project/outcome.h"
#include "bridge/services/project/project.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/services/projects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 150
/* A service that fails, or that has no room, is looked at for so many times: the next try
 * may do. */
#define LOOKS_MAX 20u
/* For a supervisor that does not answer. */
#define PATIENCE_NS (120 * CLV_NS_PER_S)

static void pause_briefly(void)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};

	nanosleep(&pause, NULL);
}

void clv_print_events(const json_t *events)
{
	json_t *event;
	size_t i;

	json_array_foreach (events, i, event) {
		const char *service = clv_json_text(event, "service");

		clv_output_line(stdout, "%s%s%s: %s", service, *service ? ": " : "",
			clv_json_text(event, "what"), clv_json_text(event, "why"));
	}
	fflush(stdout);
}

/* Prints the new events of a status and returns the last id. */
static json_int_t print_new(const json_t *status, json_int_t after)
{
	const json_t *events = json_object_get(status, "events");
	const json_t *last = json_array_get(events, json_array_size(events) - 1);

	clv_print_events(events);
	return last ? json_integer_value(json_object_get(last, "id")) : after;
}

static json_t *ask_status(json_int_t after)
{
	return json_pack("{s:s, s:I}", "do", "status", "after", after);
}

json_int_t clv_last_event(const struct clv_project *project)
{
	_cleanup_json_ json_t *status = NULL;
	const json_t *events;

	if (clv_control_ask(project, ask_status(0), &status, NULL) < 0)
		return 0;
	events = json_object_get(status, "events");
	return json_integer_value(json_object_get(
		json_array_get(events, json_array_size(events) - 1), "id"));
}

/* What all services together are: the worst of them. */
static enum clv_outcome worst(const json_t *status)
{
	enum clv_outcome found = CLV_OUTCOME_DONE;
	json_t *service;
	size_t i;

	json_array_foreach (json_object_get(status, "services"), i, service) {
		enum clv_outcome its = clv_outcome_of(service);

		if (its > found)
			found = its;
	}
	return found;
}

static int report(const struct clv_project *project, const json_t *status, int code)
{
	json_t *service;
	size_t i;

	json_array_foreach (json_object_get(status, "services"), i, service) {
		bool is_undone = clv_json_flag(service, "undone");

		if (!is_undone && clv_outcome_of(service) == CLV_OUTCOME_DONE)
			continue;
		code = clv_cli_fail(code ? code : CLV_EXIT_FAILED, "%s: %s: %s",
			clv_json_text(service, "name"),
			is_undone ? "the update was undone"
				  : clv_json_text(service, "state"),
			clv_json_text(service, "failure"));
	}
	return code;
}

int clv_follow_up(const struct clv_project *project, json_int_t after)
{
	unsigned n_bad = 0;

	for (;; pause_briefly()) {
		_cleanup_json_ json_t *status = NULL;
		struct clv_error err;
		enum clv_outcome outcome;

		int r = clv_control_ask(project, ask_status(after), &status, &err);

		if (r < 0)
			return clv_cli_fail(CLV_EXIT_FAILED,
				"the supervisor of %s %s: see supervisor.log in %s",
				project->name,
				r == -ECONNREFUSED ? "ended" : "does not answer",
				project->folder);
		after = print_new(status, after);
		outcome = worst(status);
		n_bad = clv_outcome_is_bad(status, outcome) ? n_bad + 1 : 0;
		if (outcome == CLV_OUTCOME_DONE)
			return report(project, status, CLV_EXIT_OK);
		if (outcome == CLV_OUTCOME_FAILED || n_bad > LOOKS_MAX)
			return report(project, status,
				outcome == CLV_OUTCOME_NO_ROOM ? CLV_EXIT_NO_FIT
							       : CLV_EXIT_FAILED);
	}
}

/* Whether the folder is gone; a project that was started since has another one. */
static bool is_gone(const struct clv_project *project, int folder)
{
	struct stat before, now;

	return folder < 0 || stat(project->folder, &now) < 0 ||
	       fstat(folder, &before) < 0 || now.st_ino != before.st_ino ||
	       now.st_dev != before.st_dev;
}

/* Nothing is left, or its supervisor has ended, and its lock with it. */
static bool is_over(const struct clv_project *project, int folder)
{
	char path[CLV_PATH_MAX];
	_cleanup_close_ int fd = -1;

	if (is_gone(project, folder))
		return true;
	clv_project_path(project, "lock", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

int clv_follow_down(const struct clv_project *project, json_int_t after)
{
	_cleanup_close_ int folder =
		open(project->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	uint64_t answered_ns = clv_clock_ns();
	json_int_t pid = clv_projects_pid(project);
	char process[32] = "";

	if (pid > 0)
		snprintf(process, sizeof(process), " (process %d)", (int)pid);
	for (; !is_over(project, folder); pause_briefly()) {
		_cleanup_json_ json_t *status = NULL;

		if (clv_control_ask(project, ask_status(after), &status, NULL) >= 0) {
			after = print_new(status, after);
			answered_ns = clv_clock_ns();
		} else if (clv_clock_ns() - answered_ns > PATIENCE_NS) {
			/* One that removes the folder may wait for a `cleave up`. */
			return clv_cli_fail(CLV_EXIT_FAILED,
				"%s is not down: its supervisor%s does not answer: let a "
				"'cleave up' of it end, or kill the supervisor, and try "
				"again",
				project->name, process);
		}
	}
	return is_gone(project, folder) ? CLV_EXIT_OK
					: clv_projects_fail(project, "is not down");
}
