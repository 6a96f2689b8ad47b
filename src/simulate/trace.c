/* SPDX-License-Identifier: Apache-2.0 */
/* The two kinds of file as tables of columns.  The names of columns are those of openb's
 * trace; what it lacks (memory of devices, classes, groups, other times) has additional
 * columns. */
#include "simulate/trace.h"

#include "simulate/names.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/fleet/fleet.h"

#include <errno.h>
#include <string.h>

struct node_row {
	const char *name, *model;
	uint32_t cpu_milli, memory_mib, n_devices, device_mib, n_numa;
};

#define AT(member) offsetof(struct node_row, member)
/* clang-format off */
static const struct clv_csv_column node_columns[] = {
	{"sn",         clv_csv_read_text, AT(name),       true},
	{"cpu_milli",  clv_csv_read_u32,  AT(cpu_milli),  true},
	{"memory_mib", clv_csv_read_u32,  AT(memory_mib), true},
	{"gpu",        clv_csv_read_u32,  AT(n_devices),  true},
	{"model",      clv_csv_read_text, AT(model),      false},
	{"gpu_mib",    clv_csv_read_u32,  AT(device_mib), false},
	{"numa",       clv_csv_read_u32,  AT(n_numa),     false},
};
/* clang-format on */
#undef AT

struct pod_row {
	const char *name, *models, *class, *rule;
	uint32_t cpu_milli, memory_mib, n_devices, milli, device_mib, group, gang;
	uint64_t created_s, deleted_s, arrives_s, stays_s;
};

#define UNSET UINT64_MAX
#define AT(member) offsetof(struct pod_row, member)
/* clang-format off */
static const struct clv_csv_column pod_columns[] = {
	{"name",          clv_csv_read_text, AT(name),       true},
	{"cpu_milli",     clv_csv_read_u32,  AT(cpu_milli),  true},
	{"memory_mib",    clv_csv_read_u32,  AT(memory_mib), true},
	{"num_gpu",       clv_csv_read_u32,  AT(n_devices),  true},
	{"gpu_milli",     clv_csv_read_u32,  AT(milli),      true},
	{"gpu_spec",      clv_csv_read_text, AT(models),     false},
	{"gpu_mib",       clv_csv_read_u32,  AT(device_mib), false},
	{"class",         clv_csv_read_text, AT(class),      false},
	{"group",         clv_csv_read_u32,  AT(group),      false},
	{"rule",          clv_csv_read_text, AT(rule),       false},
	{"gang",          clv_csv_read_u32,  AT(gang),       false},
	{"creation_time", clv_csv_read_u64,  AT(created_s),  false},
	{"deletion_time", clv_csv_read_u64,  AT(deleted_s),  false},
	{"arrives_s",     clv_csv_read_u64,  AT(arrives_s),  false},
	{"stays_s",       clv_csv_read_u64,  AT(stays_s),    false},
};
/* clang-format on */
#undef AT

static const char *const rules[_CLV_PLACE_RULE_MAX] = {
	[CLV_PLACE_FREE] = "free",
	[CLV_PLACE_TOGETHER] = "together",
	[CLV_PLACE_APART] = "apart",
	[CLV_PLACE_SPREAD] = "spread",
};

/* The column of a value in the current row, for messages. */
static unsigned column_of(
	const struct clv_csv *csv, const struct clv_csv_map *map, const char *name)
{
	for (unsigned i = 0; i < map->n_columns; i++) {
		if (map->at[i] >= 0 && strcmp(map->columns[i].name, name) == 0)
			return csv->fields[map->at[i]].column;
	}
	return 1;
}

static int fail_name(const struct clv_csv *csv, const struct clv_csv_map *map,
	const char *name, struct clv_error *err)
{
	return clv_csv_fail(csv, column_of(csv, map, map->columns[0].name), err, -EINVAL,
		"the name '%.60s' appears twice", name);
}

static int check_name(const struct clv_csv *csv, struct clv_names *names,
	const struct clv_csv_map *map, const char *name, struct clv_error *err)
{
	int r = clv_names_add(names, name);

	if (r < 0)
		return clv_error_errno(err, -r, "%.200s", csv->name);
	return r == 0 ? fail_name(csv, map, name, err) : 0;
}

static int add_node(const struct clv_csv *csv, const struct clv_csv_map *map,
	const struct node_row *row, struct clv_fleet *fleet, struct clv_error *err)
{
	struct clv_fleet_node_spec spec = {
		.model = row->model ? row->model : "",
		.cpu_milli = row->cpu_milli,
		.memory_mib = row->memory_mib,
		.device_mib = row->device_mib,
		.n_devices = (uint8_t)row->n_devices,
		.n_numa = (uint8_t)row->n_numa,
	};
	struct clv_error why = {0};
	int r;

	if (row->n_devices > CLV_PLACE_DEVICES_MAX || row->n_numa > CLV_PLACE_DEVICES_MAX)
		return clv_csv_fail(csv, column_of(csv, map, "gpu"), err, -EINVAL,
			"a node has at most %d devices", CLV_PLACE_DEVICES_MAX);
	r = clv_fleet_add_node(fleet, &spec, &why);
	if (r < 0)
		return clv_csv_fail(
			csv, column_of(csv, map, "model"), err, r, "%.300s", why.msg);
	return 0;
}

static int read_header(struct clv_csv *csv, const struct clv_csv_column *columns,
	unsigned n_columns, struct clv_csv_map *ret, struct clv_error *err)
{
	int r = clv_csv_next(csv, err);

	if (r == 0)
		return clv_csv_fail(csv, 1, err, -EINVAL, "the file is empty");
	return r < 0 ? r : clv_csv_map(csv, columns, n_columns, ret, err);
}

int clv_trace_read_fleet(
	FILE *file, const char *name, struct clv_fleet *fleet, struct clv_error *err)
{
	struct clv_names names = {0};
	struct clv_csv_map map;
	struct clv_csv csv;
	int r;

	clv_csv_init(&csv, file, name);
	r = read_header(&csv, node_columns, CLV_ARRAY_SIZE(node_columns), &map, err);
	while (r >= 0) {
		struct node_row row = {0};

		r = clv_csv_next(&csv, err);
		if (r <= 0)
			break;
		r = clv_csv_read(&csv, &map, &row, err);
		if (r == 0)
			r = check_name(&csv, &names, &map, row.name, err);
		if (r == 0)
			r = add_node(&csv, &map, &row, fleet, err);
	}
	clv_names_done(&names);
	if (r == 0 && fleet->n_nodes == 0)
		return clv_csv_fail(&csv, 1, err, -EINVAL, "the fleet has no nodes");
	return r;
}

int clv_trace_begin(struct clv_trace *trace, FILE *file, const char *name,
	const struct clv_fleet *fleet, struct clv_error *err)
{
	clv_csv_init(&trace->csv, file, name);
	trace->repeats = (struct clv_repeats){0};
	trace->fleet = fleet;
	trace->latest_s = 0;
	trace->gang = trace->n_in_gang = 0;
	trace->is_timed = false;
	trace->was_read = false;
	return read_header(
		&trace->csv, pod_columns, CLV_ARRAY_SIZE(pod_columns), &trace->map, err);
}

/* Reads a list "A|B" of models into a bitmap of those that the fleet has.  Returns false
 * if it has none. */
static bool read_models(const struct clv_fleet *fleet, const char *text, uint64_t *ret)
{
	char name[32];

	*ret = CLV_PLACE_ANY_MODEL;
	while (*text) {
		size_t length = strcspn(text, "|");
		int model;

		if (length > 0 && length < sizeof(name)) {
			memcpy(name, text, length);
			name[length] = '\0';
			model = clv_fleet_find_model(fleet, name);
			if (model >= 0)
				*ret |= UINT64_C(1) << model;
		}
		text += length + (text[length] == '|');
	}
	return *ret != CLV_PLACE_ANY_MODEL;
}

static int read_words(const struct clv_trace *trace, const struct pod_row *row,
	struct clv_place_request *request, struct clv_error *err)
{
	request->class = CLV_CLASS_NORMAL;
	if (row->class) {
		enum clv_class class = clv_class_from_string(row->class);

		if (class < 0)
			return clv_csv_fail(&trace->csv,
				column_of(&trace->csv, &trace->map, "class"), err,
				-EINVAL, "'%.40s' is no class: latency, normal or batch",
				row->class);
		request->class = class;
	}
	for (unsigned i = 0; row->rule; i++) {
		if (i == _CLV_PLACE_RULE_MAX)
			return clv_csv_fail(&trace->csv,
				column_of(&trace->csv, &trace->map, "rule"), err, -EINVAL,
				"'%.40s' is no rule: free, together, apart or spread",
				row->rule);
		request->rule = (enum clv_place_rule)i;
		if (strcmp(row->rule, rules[i]) == 0)
			break;
	}
	return 0;
}

/* In openb, tasks of several devices use whole ones, and some tasks of one device state
 * more than a whole one. */
static int make_request(const struct clv_trace *trace, const struct pod_row *row,
	struct clv_place_request *request, struct clv_error *err)
{
	uint32_t milli = row->milli < CLV_PLACE_WHOLE ? row->milli : CLV_PLACE_WHOLE;
	struct clv_error why = {0};
	int r;

	if (row->n_devices > CLV_PLACE_DEVICES_MAX)
		return clv_csv_fail(&trace->csv,
			column_of(&trace->csv, &trace->map, "num_gpu"), err, -EINVAL,
			"%u devices: a node has at most %d", row->n_devices,
			CLV_PLACE_DEVICES_MAX);
	request->cpu_milli = row->cpu_milli;
	request->memory_mib = row->memory_mib;
	request->device_mib = row->device_mib;
	request->n_devices = (uint8_t)row->n_devices;
	request->milli = row->n_devices ? (uint16_t)milli : 0;
	request->group = row->group;
	r = clv_fleet_check(trace->fleet, request, &why);
	if (r < 0)
		return clv_csv_fail(&trace->csv,
			column_of(&trace->csv, &trace->map, "num_gpu"), err, r, "%.300s",
			why.msg);
	return read_words(trace, row, request, err);
}

/* arrives_s and stays_s take precedence over the times of openb. */
static int read_times(struct clv_trace *trace, const struct pod_row *row,
	struct clv_trace_item *item, struct clv_error *err)
{
	bool is_ours = row->arrives_s != UNSET;
	uint64_t arrives_s = is_ours                   ? row->arrives_s
			     : row->created_s != UNSET ? row->created_s
						       : 0;

	item->arrives_s = (int64_t)arrives_s;
	item->stays_s = CLV_TRACE_FOREVER;
	if (row->stays_s != UNSET)
		item->stays_s = (int64_t)row->stays_s;
	else if (!is_ours && row->deleted_s != UNSET && row->deleted_s >= arrives_s)
		item->stays_s = (int64_t)(row->deleted_s - arrives_s);
	else if (!is_ours && row->deleted_s != UNSET)
		return clv_csv_fail(&trace->csv,
			column_of(&trace->csv, &trace->map, "deletion_time"), err,
			-EINVAL, "it ends before it begins");
	if (trace->is_timed && item->arrives_s < trace->latest_s)
		return clv_csv_fail(&trace->csv,
			column_of(&trace->csv, &trace->map,
				is_ours ? "arrives_s" : "creation_time"),
			err, -EINVAL,
			"it arrives before the one above: sort the file by arrival");
	trace->latest_s = item->arrives_s;
	return 0;
}

static int next_row(struct clv_trace *trace, struct pod_row *ret, struct clv_error *err)
{
	int r = clv_csv_next(&trace->csv, err);

	*ret = (struct pod_row){
		.created_s = UNSET,
		.deleted_s = UNSET,
		.arrives_s = UNSET,
		.stays_s = UNSET,
	};
	if (r <= 0)
		return r;
	r = clv_csv_read(&trace->csv, &trace->map, ret, err);
	return r < 0 ? r : 1;
}

/* Reads the rows again to confirm names that may appear twice. */
static int confirm_names(struct clv_trace *trace, struct clv_error *err)
{
	struct clv_csv *csv = &trace->csv;
	struct pod_row row;
	int r;

	if (fseeko(csv->file, 0, SEEK_SET) < 0)
		return clv_error_set(err, -EINVAL,
			"%.200s: the names must be read twice, so it must be a file",
			csv->name);
	clv_csv_init(csv, csv->file, csv->name);
	r = read_header(csv, pod_columns, CLV_ARRAY_SIZE(pod_columns), &trace->map, err);
	while (r >= 0 && (r = next_row(trace, &row, err)) > 0) {
		r = clv_repeats_check_again(&trace->repeats, row.name);
		if (r < 0)
			return clv_error_errno(err, -r, "%.200s", csv->name);
		if (r > 0)
			return fail_name(csv, &trace->map, row.name, err);
	}
	return r;
}

static int end_of_rows(struct clv_trace *trace, struct clv_error *err)
{
	int r = clv_repeats_end_first_pass(&trace->repeats);

	if (r < 0)
		clv_error_errno(err, -r, "%.200s", trace->csv.name);
	if (r > 0)
		r = confirm_names(trace, err);
	trace->was_read = true;
	return r;
}

/* Adjacent rows with the same number are one gang. */
static int count_gang(struct clv_trace *trace, uint32_t gang, struct clv_error *err)
{
	trace->n_in_gang = gang && gang == trace->gang ? trace->n_in_gang + 1 : 1;
	trace->gang = gang;
	if (trace->n_in_gang <= CLV_TRACE_GANG_MAX)
		return 0;
	return clv_csv_fail(&trace->csv, column_of(&trace->csv, &trace->map, "gang"), err,
		-EINVAL, "a gang has at most %d requests", CLV_TRACE_GANG_MAX);
}

static int keep_name(struct clv_trace *trace, const char *name, struct clv_error *err)
{
	int r = trace->was_read ? 0 : clv_repeats_add(&trace->repeats, name);

	return r < 0 ? clv_error_errno(err, -r, "%.200s", trace->csv.name) : 0;
}

int clv_trace_next(
	struct clv_trace *trace, struct clv_trace_item *ret, struct clv_error *err)
{
	struct pod_row row;
	struct clv_trace_item item = {0};
	int r = next_row(trace, &row, err);

	if (r == 0)
		return end_of_rows(trace, err);
	if (r > 0)
		r = keep_name(trace, row.name, err);
	if (r == 0)
		r = count_gang(trace, row.gang, err);
	if (r == 0)
		r = make_request(trace, &row, &item.request, err);
	if (r == 0)
		r = read_times(trace, &row, &item, err);
	if (r < 0)
		return r;
	if (row.models)
		item.is_of_no_model =
			!read_models(trace->fleet, row.models, &item.request.models);
	item.gang = row.gang;
	*ret = item;
	return 1;
}

void clv_trace_end(struct clv_trace *trace)
{
	clv_repeats_done(&trace->repeats);
}
