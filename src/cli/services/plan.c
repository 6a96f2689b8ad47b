/* SPDX-License-Identifier: Apache-2.0 */
/* cleave up --plan: the file beside the one that is kept, and beside what runs. */
#include "cli/services/plan.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/services/project/control.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* It is not known without a supervisor. */
static void show_now(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *now = json_object_get(row, "now");

	if (now)
		snprintf(ret, CLV_CELL_MAX, "%d", (int)json_integer_value(now));
	else
		strcpy(ret, "-");
}

static void show_ports(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(json_object_get(row, "ports"), ", ", ret);
}

static const struct clv_column columns[] = {
	{.header = "SERVICE", .key = "name"},
	{.header = "ACTION", .key = "action"},
	{.header = "NOW", .format = show_now, .is_right = true},
	{.header = "REPLICAS", .key = "replicas", .is_right = true},
	{.header = "PORTS", .format = show_ports},
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no services",
};

/* What is there: the kept file, and what its supervisor says, or NULL. */
struct present {
	struct clv_services kept;
	json_t *status;
};

static const struct clv_service *find_kept(
	const struct present *present, const char *name)
{
	for (size_t i = 0; i < present->kept.n; i++) {
		if (strcmp(present->kept.items[i].name, name) == 0)
			return &present->kept.items[i];
	}
	return NULL;
}

static const json_t *find_status(const struct present *present, const char *name)
{
	json_t *service;
	size_t i;

	json_array_foreach (json_object_get(present->status, "services"), i, service) {
		if (strcmp(clv_json_text(service, "name"), name) == 0)
			return service;
	}
	return NULL;
}

/* An update in progress, or one that was undone, has replicas of another generation. */
static bool has_others(const json_t *status, uint64_t generation)
{
	const json_t *replicas = json_object_get(status, "replicas");
	char text[20];
	json_t *replica;
	size_t i;

	snprintf(text, sizeof(text), "%016" PRIx64, generation);
	json_array_foreach (replicas, i, replica) {
		if (strcmp(clv_json_text(replica, "generation"), text) != 0)
			return true;
	}
	return false;
}

/* The number of a service that is scaled by its use stays. */
static size_t n_wanted(const struct clv_service *service, const json_t *status)
{
	return status && service->autoscaling.yaml
		       ? (size_t)clv_json_number(status, "wanted")
		       : service->n_replicas;
}

static const char *action_of(
	const struct present *present, const struct clv_service *service)
{
	const struct clv_service *kept = find_kept(present, service->name);
	const json_t *status = find_status(present, service->name);

	if (!kept)
		return "create";
	if (kept->generation != service->generation ||
		has_others(status, service->generation))
		return "replace";
	/* Without a supervisor that answers, the kept number. */
	return n_wanted(service, status) !=
			       (status ? (size_t)clv_json_number(status, "wanted")
				       : kept->n_replicas)
		       ? "scale"
		       : "keep";
}

static void add_row(json_t *rows, const char *name, const char *action,
	const json_t *status, size_t n_replicas, json_t *ports)
{
	json_t *row = json_pack("{s:s, s:s, s:i, s:o}", "name", name, "action", action,
		"replicas", (int)n_replicas, "ports", ports);

	if (status)
		json_object_set_new(row, "now",
			json_integer((json_int_t)json_array_size(
				json_object_get(status, "replicas"))));
	json_array_append_new(rows, row);
}

static json_t *ports_of(const struct clv_service *service)
{
	json_t *ports = json_array();

	for (size_t i = 0; i < service->n_ports; i++)
		json_array_append_new(ports, json_integer(service->ports[i].published));
	return ports;
}

static bool has_service(const struct clv_services *services, const char *name)
{
	for (size_t i = 0; i < services->n; i++) {
		if (strcmp(services->items[i].name, name) == 0)
			return true;
	}
	return false;
}

static json_t *make_rows(
	const struct present *present, const struct clv_services *services)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < services->n; i++) {
		const struct clv_service *service = &services->items[i];
		const json_t *status = find_status(present, service->name);

		add_row(rows, service->name, action_of(present, service), status,
			n_wanted(service, status), ports_of(service));
	}
	for (size_t i = 0; i < present->kept.n; i++) {
		const struct clv_service *service = &present->kept.items[i];

		if (!has_service(services, service->name))
			add_row(rows, service->name, "remove",
				find_status(present, service->name), 0, json_array());
	}
	return rows;
}

/* A project that is being ended leaves nothing; one that was never started has no file.
 */
static int look(const struct clv_project *project, struct present *ret)
{
	struct clv_project kept = *project;
	struct clv_error err;
	int r;

	if (clv_project_is_ending(project)) {
		fprintf(stderr, "cleave: %s is being ended: its services start then\n",
			project->name);
		return 0;
	}
	kept.text = NULL;
	kept.variables = NULL;
	r = clv_project_load(&kept, &ret->kept, &err);
	clv_project_clear(&kept);
	if (r >= 0)
		clv_control_ask(
			project, json_pack("{s:s}", "do", "status"), &ret->status, NULL);
	return r >= 0 || r == -ENOENT ? 0
				      : clv_cli_fail(CLV_EXIT_BAD_FILE,
						"what runs is not known: %s", err.msg);
}

int clv_services_plan(const struct clv_compose_file *file)
{
	struct present present = {};
	_cleanup_json_ json_t *list = NULL;
	int r;

	r = look(&file->project, &present);
	if (r)
		return r;
	list = json_pack("{s:o}", "items", make_rows(&present, &file->services));
	r = clv_output_list(&listing, NULL, list);
	json_decref(present.status);
	clv_services_clear(&present.kept);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "cannot write: %m") : CLV_EXIT_OK;
}
