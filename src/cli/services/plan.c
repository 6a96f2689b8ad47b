/* SPDX-License-Identifier: Apache-2.0 */
/* cleave up --plan: the file beside the one that is kept, and beside what runs. */
#include "cli/services/plan.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/services/project/control.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/services/placement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

static size_t n_on(const json_t *placement, const char *device)
{
	const json_t *replica;
	size_t i, n = 0;

	json_array_foreach (placement, i, replica)
		n += strcmp(clv_json_text(replica, "device"), device) == 0;
	return n;
}

/* "gpu0 (2), gpu1" */
static void show_devices(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *placement = json_object_get(row, "placement"), *replica;
	_cleanup_json_ json_t *shown = json_object(), *texts = json_array();
	size_t i;

	json_array_foreach (placement, i, replica) {
		const char *device = clv_json_text(replica, "device");
		size_t n = n_on(placement, device);
		char text[128];

		if (!*device || json_object_get(shown, device))
			continue;
		json_object_set_new(shown, device, json_true());
		if (n > 1)
			snprintf(text, sizeof(text), "%.100s (%zu)", device, n);
		else
			snprintf(text, sizeof(text), "%.100s", device);
		json_array_append_new(texts, json_string(text));
	}
	clv_cell_list(texts, ", ", ret);
}

/* "1.20", or the least and the most */
static void show_slowdown(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *placement = json_object_get(row, "placement"), *replica;
	double least = 0, most = 0;
	size_t i;

	ret[0] = '\0';
	json_array_foreach (placement, i, replica) {
		double its = clv_json_number(replica, "slowdown");

		if (!clv_json_text(replica, "device")[0])
			continue;
		if (its <= 0) {
			strcpy(ret, "not known");
			return;
		}
		least = least == 0 || its < least ? its : least;
		most = its > most ? its : most;
	}
	if (most - least >= .005)
		snprintf(ret, CLV_CELL_MAX, "%.2f to %.2f", least, most);
	else if (most > 0)
		snprintf(ret, CLV_CELL_MAX, "%.2f", most);
}

static size_t n_that_fit(const json_t *placement)
{
	const json_t *replica;
	size_t i, n = 0;

	json_array_foreach (placement, i, replica)
		n += json_is_true(json_object_get(replica, "fits"));
	return n;
}

/* The first text of this key in the placement; "": none has one. */
static const char *first_text(const json_t *placement, const char *key)
{
	const json_t *replica;
	size_t i;

	json_array_foreach (placement, i, replica) {
		if (clv_json_text(replica, key)[0])
			return clv_json_text(replica, key);
	}
	return "";
}

static bool has_after_end(const json_t *placement)
{
	const json_t *replica;
	size_t i;

	json_array_foreach (placement, i, replica) {
		if (clv_json_flag(replica, "after_end"))
			return true;
	}
	return false;
}

static void show_note(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *placement = json_object_get(row, "placement");
	const char *why = first_text(placement, "why"),
		   *unknown = first_text(placement, "slowdown_why");

	ret[0] = '\0';
	if (*why)
		snprintf(ret, CLV_CELL_MAX, "%zu of %zu fit: %.400s",
			n_that_fit(placement), json_array_size(placement), why);
	else if (has_after_end(placement))
		strcpy(ret, "the old replica ends before the new one starts");
	else
		snprintf(ret, CLV_CELL_MAX, "%s", unknown);
}

static const struct clv_column columns[] = {
	{.header = "SERVICE", .key = "name"},
	{.header = "ACTION", .key = "action"},
	{.header = "NOW", .format = show_now, .is_right = true},
	{.header = "REPLICAS", .key = "replicas", .is_right = true},
	{.header = "PORTS", .format = show_ports, .rank = 2},
	{.header = "DEVICES", .format = show_devices, .is_rare = true},
	{.header = "SLOWDOWN", .format = show_slowdown, .is_rare = true, .rank = 1},
	{.header = "NOTE", .format = show_note, .fit = WRAP, .is_rare = true},
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
	const json_t *status = clv_control_service(present->status, service->name);

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

static json_t *make_row(const char *name, const char *action, const json_t *status,
	size_t n_replicas, json_t *ports)
{
	json_t *row = json_pack("{s:s, s:s, s:i, s:o, s:[]}", "name", name, "action",
		action, "replicas", (int)n_replicas, "ports", ports, "placement");

	if (status)
		json_object_set_new(row, "now",
			json_integer((json_int_t)json_array_size(
				json_object_get(status, "replicas"))));
	return row;
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

static struct clv_planned plan_of(const struct clv_service *service, const char *name,
	const json_t *status, json_t *row)
{
	return (struct clv_planned){
		.name = name,
		.service = service,
		.is_replaced = strcmp(clv_json_text(row, "action"), "replace") == 0,
		.is_asleep = clv_json_flag(status, "asleep"),
		.n_replicas = (size_t)clv_json_number(row, "replicas"),
		.placement = json_object_get(row, "placement"),
	};
}

/* In the order in which they start.  ret has room for all. */
static size_t make_plan(const struct present *present,
	const struct clv_services *services, json_t *rows, struct clv_planned *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < services->n; i++) {
		const struct clv_service *service = &services->items[services->order[i]];
		const json_t *status =
			clv_control_service(present->status, service->name);
		json_t *row = make_row(service->name, action_of(present, service), status,
			n_wanted(service, status), ports_of(service));

		json_array_append_new(rows, row);
		ret[n++] = plan_of(service, service->name, status, row);
	}
	for (size_t i = 0; i < present->kept.n; i++) {
		const struct clv_service *service = &present->kept.items[i];
		const json_t *status =
			clv_control_service(present->status, service->name);
		json_t *row;

		if (has_service(services, service->name))
			continue;
		row = make_row(service->name, "remove", status, 0, json_array());
		json_array_append_new(rows, row);
		ret[n++] = plan_of(NULL, service->name, status, row);
	}
	return n;
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

/* A replica without room. */
static bool has_refusal(const json_t *rows)
{
	json_t *row, *replica;
	size_t i, k;

	json_array_foreach (rows, i, row) {
		json_array_foreach (json_object_get(row, "placement"), k, replica) {
			if (json_is_false(json_object_get(replica, "fits")))
				return true;
		}
	}
	return false;
}

/* Without an agent the rest of the plan is printed all the same. */
static int print_plan(const struct clv_common *common,
	const struct clv_compose_file *file, const struct present *present,
	const char *reports)
{
	_cleanup_free_ struct clv_planned *items =
		calloc(file->services.n + present->kept.n + 1, sizeof(*items));
	_cleanup_json_ json_t *list = json_pack("{s:[]}", "items");
	json_t *rows = json_object_get(list, "items");
	size_t n;
	int r;

	if (!items)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	n = make_plan(present, &file->services, rows, items);
	r = clv_placement_find(common, &file->project, reports, items, n);
	if (r && r != CLV_EXIT_UNREACHABLE)
		return r;
	if (clv_output_list(&listing, common->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write: %m");
	return !r && has_refusal(rows) ? CLV_EXIT_NO_FIT : r;
}

int clv_services_plan(const struct clv_common *common,
	const struct clv_compose_file *file, const char *reports)
{
	struct present present = {};
	int r = look(&file->project, &present);

	if (!r)
		r = print_plan(common, file, &present, reports);
	json_decref(present.status);
	clv_services_clear(&present.kept);
	return r;
}
