/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the supervisor whose replica it is, and follows it. */
#include "cli/fleet/move-replica.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/services/project/control.h"
#include "bridge/services/project/project.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define POLL_MS 150

static json_t *ask_status(json_int_t after)
{
	return json_pack("{s:s, s:I}", "do", "status", "after", after);
}

/* The service of a status that has the replica; borrowed.  NULL: none has. */
static const json_t *find_service(const json_t *status, const char *lease)
{
	json_t *service, *replica;
	size_t i, j;

	json_array_foreach (json_object_get(status, "services"), i, service) {
		json_array_foreach (json_object_get(service, "replicas"), j, replica) {
			if (strcmp(clv_json_text(replica, "name"), lease) == 0)
				return service;
		}
	}
	return NULL;
}

/* Fills the project and the service's name.  Returns 0 or an exit code. */
static int find(const char *lease, struct clv_project *ret, char *ret_service,
	struct clv_error *err)
{
	_cleanup_free_ struct clv_project *projects = NULL;
	size_t n = 0;

	if (clv_projects_read(&projects, &n, err) < 0)
		return CLV_EXIT_FAILED;
	for (size_t i = 0; i < n; i++) {
		_cleanup_json_ json_t *status = NULL;
		const json_t *service;

		if (clv_control_ask(&projects[i], ask_status(INT64_MAX), &status, NULL) <
			0)
			continue;
		service = find_service(status, lease);
		if (!service)
			continue;
		*ret = projects[i];
		snprintf(ret_service, CLV_SERVICE_NAME_MAX, "%s",
			clv_json_text(service, "name"));
		return 0;
	}
	clv_error_set(err, -ENOENT,
		"no service has a replica '%.80s': cleave services -o json names them, "
		"and programs of other leases cannot be moved while they run",
		lease);
	return CLV_EXIT_USAGE;
}

/* Prints the new events of the service, and returns the last id. */
static json_int_t print_new(
	const json_t *status, const char *service, json_int_t after, FILE *to)
{
	json_t *event;
	size_t i;

	json_array_foreach (json_object_get(status, "events"), i, event) {
		after = json_integer_value(json_object_get(event, "id"));
		if (strcmp(clv_json_text(event, "service"), service) == 0)
			clv_output_line(to, "%s: %s: %s", service,
				clv_json_text(event, "what"),
				clv_json_text(event, "why"));
	}
	fflush(to);
	return after;
}

/* -1: it goes on. */
static int result_of(const json_t *service, const char *lease)
{
	const json_t *move = json_object_get(service, "move");
	const char *state = clv_json_text(move, "state");

	if (strcmp(clv_json_text(move, "lease"), lease) != 0 ||
		strcmp(state, "none") == 0)
		return clv_cli_fail(CLV_EXIT_FAILED,
			"it is not known whether %s was moved, because its service was "
			"changed: see cleave services --why",
			lease);
	if (strcmp(state, "moving") == 0)
		return -1;
	if (strcmp(state, "moved") == 0)
		return CLV_EXIT_OK;
	return clv_cli_fail(
		strcmp(state, "no room") == 0 ? CLV_EXIT_NO_FIT : CLV_EXIT_FAILED,
		"%s was not moved: %s", lease, clv_json_text(move, "why"));
}

static int follow(const struct clv_project *project, const char *service,
	const char *lease, json_int_t after, FILE *to)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};

	for (;; nanosleep(&pause, NULL)) {
		_cleanup_json_ json_t *status = NULL;
		struct clv_error err;
		int r = clv_control_ask(project, ask_status(after), &status, &err);

		if (r < 0)
			return clv_cli_fail(CLV_EXIT_FAILED,
				"the supervisor of %s %s: cleave services shows what "
				"became of %s",
				project->name,
				r == -ECONNREFUSED ? "ended" : "does not answer", lease);
		after = print_new(status, service, after, to);
		r = result_of(clv_control_service(status, service), lease);
		if (r >= 0)
			return r;
	}
}

int clv_check_move(const char *lease, const char *device, struct clv_error *err)
{
	_cleanup_json_ json_t *answer = NULL;
	char service[CLV_SERVICE_NAME_MAX];
	struct clv_project project = {};

	if (find(lease, &project, service, err))
		return -ENOENT;
	return clv_control_ask(&project,
		json_pack("{s:s, s:s, s:s, s:b}", "do", "move", "lease", lease, "device",
			device, "check", 1),
		&answer, err);
}

int clv_move_replica(const char *lease, const char *device, FILE *to)
{
	_cleanup_json_ json_t *answer = NULL, *status = NULL;
	struct clv_project project = {};
	char service[CLV_SERVICE_NAME_MAX];
	json_int_t after = 0;
	struct clv_error err;
	int r = find(lease, &project, service, &err);

	if (r)
		return clv_cli_fail(r, "%s", err.msg);
	r = clv_control_ask(&project, ask_status(0), &status, &err);
	if (r >= 0) {
		const json_t *events = json_object_get(status, "events");

		after = json_integer_value(json_object_get(
			json_array_get(events, json_array_size(events) - 1), "id"));
		r = clv_control_ask(&project,
			json_pack("{s:s, s:s, s:s}", "do", "move", "lease", lease,
				"device", device),
			&answer, &err);
	}
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return follow(&project, service, lease, after, to);
}
