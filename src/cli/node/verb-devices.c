/* SPDX-License-Identifier: Apache-2.0 */
/* cleave devices: lists the devices, their partitions, and how much of each is promised.
 */
#include "cli/frame/verbs.h"

#include "base/text.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/partitions.h"

#include <stdio.h>
#include <string.h>

/* The cell stays empty if the object has no such member. */
static void put_percent(const json_t *row, const char *key, char ret[CLV_CELL_MAX])
{
	if (json_object_get(row, key))
		clv_cell_percent(clv_json_number(row, key), ret);
}

static void put_bytes(const json_t *row, const char *key, char ret[CLV_CELL_MAX])
{
	if (json_object_get(row, key))
		clv_cell_bytes(clv_json_bytes(row, key), ret);
}

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	put_bytes(row, "memory_bytes", ret);
}

static void cell_promised(const json_t *row, char ret[CLV_CELL_MAX])
{
	put_percent(row, "share_promised", ret);
}

static void cell_memory_promised(const json_t *row, char ret[CLV_CELL_MAX])
{
	put_bytes(row, "memory_promised_bytes", ret);
}

static void cell_memory_used(const json_t *row, char ret[CLV_CELL_MAX])
{
	put_bytes(row, "memory_used_bytes", ret);
}

static void cell_executor(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_object_get(row, "executor"))
		snprintf(ret, CLV_CELL_MAX, "%s/%s", clv_json_text(row, "backend"),
			clv_json_text(row, "executor"));
	else
		snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "scheme"));
}

static const char *health_of(const json_t *row)
{
	const char *state = clv_json_text(json_object_get(row, "health"), "state");

	return strcmp(state, "ok") == 0 ? "" : state;
}

/* The GPU has virtual functions, and its driver or firmware does not create them now. */
static bool has_functions_off(const json_t *row)
{
	const json_t *vf = json_object_get(row, "vf");

	return json_is_object(vf) && !clv_json_flag(vf, "capable") &&
	       clv_json_number(vf, "total") > 0;
}

/* The virtual machine that has it, in the agent's words; NULL: none. */
static const char *machine_of(const json_t *row)
{
	json_t *holder;
	size_t i;

	json_array_foreach (json_object_get(row, "holders"), i, holder) {
		const char *text = clv_json_text(holder, "text");

		if (strncmp(text, "virtual machine ", strlen("virtual machine ")) == 0)
			return text;
	}
	return NULL;
}

static void cell_state(const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (machine_of(row))
		clv_text_list(ret, CLV_CELL_MAX, machine_of(row));
	if (health_of(row)[0])
		clv_text_list(ret, CLV_CELL_MAX, health_of(row));
	if (clv_json_flag(row, "cordoned"))
		clv_text_list(ret, CLV_CELL_MAX, "cordoned");
	if (has_functions_off(row))
		clv_text_list(ret, CLV_CELL_MAX, "SR-IOV off");
}

static void cell_power(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_is_number(json_object_get(row, "power_watts")))
		snprintf(
			ret, CLV_CELL_MAX, "%.0f W", clv_json_number(row, "power_watts"));
}

static void cell_temperature(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_is_number(json_object_get(row, "temperature_celsius")))
		snprintf(ret, CLV_CELL_MAX, "%.0f C",
			clv_json_number(row, "temperature_celsius"));
}

static void cell_debt(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_debt(clv_json_number(row, "debt_seconds"), ret);
}

static void cell_hand_over(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_is_number(json_object_get(row, "hand_over_seconds")))
		snprintf(ret, CLV_CELL_MAX, "%.2f ms",
			clv_json_number(row, "hand_over_seconds") * 1e3);
}

static void cell_turn(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_is_number(json_object_get(row, "turn_seconds")))
		snprintf(ret, CLV_CELL_MAX, "%.0f ms",
			clv_json_number(row, "turn_seconds") * 1e3);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header         cell                  right  fit    rank rare   key */
	{ "NAME",         NULL,                 false, WHOLE, 0,   false, "label" },
	{ "TYPE",         NULL,                 false, WHOLE, 3,   false, "type" },
	{ "MODEL",        NULL,                 false, CUT,   2,   false, "model" },
	{ "UNITS",        NULL,                 true,  WHOLE, 4,   false, "compute_units" },
	{ "PROMISED",     cell_promised,        true,  WHOLE, 0,   false, NULL },
	{ "MEMORY",       cell_memory,          true,  WHOLE, 0,   false, NULL },
	{ "MEM-PROMISED", cell_memory_promised, true,  WHOLE, 1,   false, NULL },
	{ "MEM-USED",     cell_memory_used,     true,  WHOLE, 1,   false, NULL },
	{ "LEASES",       NULL,                 true,  WHOLE, 1,   false, "leases" },
	{ "QUEUED",       NULL,                 true,  WHOLE, 4,   false, "queued" },
	{ "IO-DIE",       NULL,                 true,  WHOLE, 6,   true,  "io_die" },
	{ "STATE",        cell_state,           false, WHOLE, 0,   true,  NULL },
	{ "POWER",        cell_power,           true,  WHOLE, 4,   true,  NULL },
	{ "TEMP",         cell_temperature,     true,  WHOLE, 4,   true,  NULL },
	{ "DEBT",         cell_debt,            true,  WHOLE, 5,   true,  NULL },
	{ "TURN",         cell_turn,            true,  WHOLE, 6,   true,  NULL },
	{ "HAND-OVER",    cell_hand_over,       true,  WHOLE, 6,   true,  NULL },
	{ "BY",           cell_executor,        false, WHOLE, 5,   false, NULL },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no device: cleave doctor says what is missing",
};

static json_t *find_device(const json_t *items, const char *name)
{
	json_t *device;
	size_t i;

	json_array_foreach (items, i, device) {
		if (strcmp(clv_json_text(device, "name"), name) == 0)
			return device;
	}
	return NULL;
}

/* Adds the node's partitions and virtual functions to each device.  Devices that can only
 * be divided, and not shared, are only in the node and are added too. */
static void add_partitions(json_t *items, const json_t *node)
{
	static const char *const keys[] = {"scheme", "partitions", "vf", "holders",
		"assignable", "why_not_assignable"};
	json_t *of_node, *device;
	size_t i;

	json_array_foreach (json_object_get(node, "devices"), i, of_node) {
		device = find_device(items, clv_json_text(of_node, "name"));
		if (!device)
			json_array_append(items, of_node);
		for (size_t k = 0; device && k < CLV_ARRAY_SIZE(keys); k++) {
			if (!json_object_get(device, keys[k]))
				json_object_set(device, keys[k],
					json_object_get(of_node, keys[k]));
		}
	}
}

static size_t count_leases(const json_t *partition)
{
	json_t *holder;
	size_t i, n = 0;

	json_array_foreach (json_object_get(partition, "holders"), i, holder)
		n += clv_json_text(holder, "lease")[0] != '\0';
	return n;
}

/* A partition that takes leases is a device as well, whose object has more members than
 * the node's partition. */
static void fill_partition(json_t *row, const json_t *device, const json_t *items)
{
	json_t *known = find_device(items, clv_json_text(row, "name"));

	json_object_set(row, "scheme", json_object_get(device, "scheme"));
	json_object_set_new(row, "leases", json_integer((json_int_t)count_leases(row)));
	json_object_update_missing(row, known);
	if (known)
		json_object_set(row, "leases", json_object_get(known, "leases"));
	json_object_set_new(row, "type", json_string("partition"));
	json_object_set(row, "model", json_object_get(row, "profile"));
}

static void add_rows(json_t *rows, const json_t *device, const json_t *items)
{
	_cleanup_json_ json_t *below = json_array();
	json_t *row = json_copy((json_t *)device);
	size_t i;

	json_object_set(row, "label", json_object_get(device, "name"));
	json_array_append_new(rows, row);
	clv_partitions_flatten(below, json_object_get(device, "partitions"), 2);
	json_array_foreach (below, i, row)
		fill_partition(row, device, items);
	json_array_extend(rows, below);
}

static bool is_listed(const json_t *rows, const char *name)
{
	return find_device(rows, name) != NULL;
}

/* The rows of the table: devices, and indented below each its partitions.  Partitions
 * that the node does not list, or no longer lists, come last. */
static json_t *make_rows(const json_t *items)
{
	json_t *rows = json_array(), *device;
	size_t i;

	json_array_foreach (items, i, device) {
		if (clv_json_text(device, "parent")[0] == '\0')
			add_rows(rows, device, items);
	}
	json_array_foreach (items, i, device) {
		if (!is_listed(rows, clv_json_text(device, "name")))
			add_rows(rows, device, items);
	}
	return rows;
}

/* NULL if the agent gives none; the devices are listed without it. */
static json_t *fetch_node(struct clv_client *client)
{
	struct clv_client_error err;
	json_t *node = NULL;

	if (clv_client_node(client, &node, &err) < 0 &&
		strcmp(err.code, "not_found") != 0 &&
		strcmp(err.code, "no_such_path") != 0)
		clv_cli_fail(0, "the partitions cannot be listed: %s", err.msg);
	return node;
}

static int show(const char *format, json_t *list)
{
	_cleanup_json_ json_t *flat = NULL;

	if (format && strcmp(format, "table") != 0)
		return clv_output_list(&listing, format, list);

	flat = json_object();
	json_object_set_new(flat, "items", make_rows(json_object_get(list, "items")));
	return clv_output_list(&listing, format, flat);
}

/* Prints why devices are missing.  JSON and YAML have it in the API's objects. */
static void print_problems(const char *format, const json_t *node)
{
	json_t *problem;
	size_t i;

	json_array_foreach (json_object_get(node, "problems"), i, problem) {
		if (!format || strcmp(format, "table") == 0)
			clv_output_line(stderr, "%s",
				json_is_string(problem) ? json_string_value(problem)
							: "");
	}
}

/* Prints why devices are not healthy, and what would help. */
static void print_health(const char *format, const json_t *list)
{
	json_t *device, *reason;
	size_t i, k;

	if (format && strcmp(format, "table") != 0)
		return;
	json_array_foreach (json_object_get(list, "items"), i, device) {
		const json_t *health = json_object_get(device, "health");

		if (clv_json_text(device, "parent")[0] != '\0')
			continue;
		json_array_foreach (json_object_get(health, "reasons"), k, reason)
			clv_output_line(stderr, "%s is %s: %s",
				clv_json_text(device, "name"),
				clv_json_text(health, "state"),
				json_string_value(reason));
	}
}

static void print_functions_off(const char *format, const json_t *list)
{
	json_t *device;
	size_t i;

	if (format && strcmp(format, "table") != 0)
		return;
	json_array_foreach (json_object_get(list, "items"), i, device) {
		if (has_functions_off(device))
			clv_output_line(stderr,
				"%s is capable of SR-IOV, which is off: %s",
				clv_json_text(device, "name"),
				clv_json_text(json_object_get(device, "vf"), "why_not"));
	}
}

static int run_devices(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *list = NULL;
	_cleanup_json_ json_t *node = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(settings, true, &client);

	if (r)
		return r;
	node = fetch_node(client);
	if (clv_client_devices(client, &list, &err) < 0)
		return clv_cli_fail_client(&err);
	add_partitions(json_object_get(list, "items"), node);
	print_problems(settings->output, node);
	print_health(settings->output, list);
	print_functions_off(settings->output, list);
	if (show(settings->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the list: %m");

	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_devices = {
	.name = "devices",
	.summary = "list the devices, their partitions, and how much of each is promised",
	.about = "Partitions are below their device. STATE is degraded, lost, cordoned, "
		 "or SR-IOV off: the GPU is capable of virtual functions, and its driver "
		 "or firmware does not create them. Starts the user's agent when none "
		 "runs.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_devices,
};
