/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the partitions of a node, and prints them. */
#include "cli/node/partitions.h"

#include "base/cleanup.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

static void cell_profile(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s%s", clv_json_text(row, "profile"),
		clv_json_flag(row, "half_made") ? " (incomplete)" : "");
}

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_bytes"), ret);
}

static void cell_holders(const json_t *row, char ret[CLV_CELL_MAX])
{
	size_t i, used = 0;
	json_t *holder;

	json_array_foreach (json_object_get(row, "holders"), i, holder) {
		if (used + 100 > CLV_CELL_MAX)
			return;
		used += (size_t)snprintf(ret + used, CLV_CELL_MAX - used, "%s%.80s",
			i ? ", " : "", clv_json_text(holder, "text"));
	}
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell          right  fit    rank rare   key */
	{ "NAME",    NULL,         false, WHOLE, 0,   false, "label" },
	{ "PROFILE", cell_profile, false, WHOLE, 2,   false, NULL },
	{ "MEMORY",  cell_memory,  true,  WHOLE, 1,   false, NULL },
	{ "UNITS",   NULL,         true,  WHOLE, 4,   false, "compute_units" },
	{ "IO-DIE",  NULL,         true,  WHOLE, 5,   true,  "io_die" },
	{ "HELD BY", cell_holders, false, WRAP,  1,   true,  NULL },
	{ "ADDRESS", NULL,         false, WHOLE, 5,   true,  "address" },
	{ "UUID",    NULL,         false, WHOLE, 3,   true,  "uuid" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no partition: cleave profiles lists what can be made",
};

static bool is_device(const json_t *device, const char *name)
{
	return strcmp(clv_json_text(device, "name"), name) == 0 ||
	       strcmp(clv_json_text(device, "uuid"), name) == 0;
}

json_t *clv_partitions_of(const json_t *node, const char *device)
{
	json_t *list = json_object(), *items = json_array(), *each;
	size_t i;

	json_object_set_new(list, "items", items);
	json_array_foreach (json_object_get(node, "devices"), i, each) {
		if (!device || is_device(each, device))
			json_array_extend(items, json_object_get(each, "partitions"));
	}
	return list;
}

bool clv_partitions_has_device(const json_t *node, const char *device)
{
	json_t *each;
	size_t i;

	json_array_foreach (json_object_get(node, "devices"), i, each) {
		if (is_device(each, device))
			return true;
	}
	return false;
}

static json_t *find_in(const json_t *partitions, const char *name)
{
	json_t *partition, *found = NULL;
	size_t i;

	json_array_foreach (partitions, i, partition) {
		if (strcmp(clv_json_text(partition, "name"), name) == 0)
			return partition;
		found = find_in(json_object_get(partition, "parts"), name);
		if (found)
			return found;
	}
	return NULL;
}

json_t *clv_partitions_find(const json_t *node, const char *name)
{
	json_t *device, *found;
	size_t i;

	json_array_foreach (json_object_get(node, "devices"), i, device) {
		found = find_in(json_object_get(device, "partitions"), name);
		if (found)
			return found;
	}
	return NULL;
}

void clv_partitions_flatten(json_t *rows, const json_t *partitions, int indent)
{
	json_t *partition;
	char label[128];
	size_t i;

	json_array_foreach (partitions, i, partition) {
		json_t *row = json_copy(partition);

		snprintf(label, sizeof(label), "%*s%s", indent, "",
			clv_json_text(partition, "name"));
		json_object_set_new(row, "label", json_string(label));
		json_array_append_new(rows, row);
		clv_partitions_flatten(
			rows, json_object_get(partition, "parts"), indent + 2);
	}
}

const char *clv_partitions_unchecked(const json_t *device)
{
	const json_t *model = json_object_get(json_object_get(device, "mig"), "model");

	return json_is_object(model) ? clv_mig_unchecked(clv_json_text(model, "name"))
				     : NULL;
}

int clv_partitions_show(const char *format, const json_t *list)
{
	_cleanup_json_ json_t *flat = json_object();
	json_t *rows = json_array();

	if (clv_output_is_data(format)) {
		json_decref(rows);
		return clv_output_value(format, list);
	}
	json_object_set_new(flat, "items", rows);
	clv_partitions_flatten(rows, json_object_get(list, "items"), 0);
	return clv_output_list(&listing, format, flat);
}
