/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of files as nodes of a fleet and as requests to it. */
#include "simulate/trace.h"

#include "simulate/files/names.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/fleet/fleet.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int fail_name(const struct clv_csv *csv, const struct clv_csv_map *map,
	const char *name, struct clv_error *err)
{
	return clv_csv_fail(csv, clv_csv_column_of(csv, map, map->columns[0].name), err,
		-EINVAL, "the name '%.60s' appears twice", name);
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
	const struct clv_node_format *format, const struct clv_node_row *row,
	struct clv_fleet *fleet, struct clv_error *err)
{
	struct clv_fleet_node_spec spec = {
		.model = row->model ? row->model : "",
		.rack = row->rack,
		.cpu_milli = row->cpu_milli,
		.memory_mib = row->memory_mib,
		.device_mib = row->device_mib,
		.n_devices = (uint8_t)row->n_devices,
		.n_numa = (uint8_t)row->n_numa,
		.n_linked = (uint8_t)row->n_linked,
		.power = row->power,
	};
	struct clv_error why = {0};
	int r;

	if (row->rack && strlen(row->rack) >= CLV_FLEET_RACK_MAX)
		return clv_csv_fail(csv, clv_csv_column_of(csv, map, "rack"), err,
			-EINVAL, "a rack's name has at most %d characters",
			CLV_FLEET_RACK_MAX - 1);
	if (row->n_devices > CLV_PLACE_DEVICES_MAX ||
		row->n_numa > CLV_PLACE_DEVICES_MAX ||
		row->n_linked > CLV_PLACE_DEVICES_MAX)
		return clv_csv_fail(csv, clv_csv_column_of(csv, map, format->devices),
			err, -EINVAL, "a node has at most %d devices",
			CLV_PLACE_DEVICES_MAX);
	r = clv_fleet_add_node(fleet, &spec, &why);
	if (r < 0)
		return clv_csv_fail(csv, clv_csv_column_of(csv, map, "model"), err, r,
			"%.300s", why.msg);
	return 0;
}

/* Reads a header, from the file itself if it has one; the file is at its first row
 * then. */
static int read_header(
	struct clv_csv *csv, FILE *file, FILE *header, struct clv_error *err)
{
	int r;

	clv_csv_init(csv, header ? header : file, csv->name);
	r = clv_csv_next(csv, err);
	if (r == 0)
		return clv_csv_fail(csv, 1, err, -EINVAL, "the file is empty");
	return r < 0 ? r : 0;
}

/* After the header was read and its columns are known. */
static void begin_rows(struct clv_csv *csv, FILE *file, const FILE *header)
{
	if (header)
		clv_csv_init(csv, file, csv->name);
}

struct nodes {
	struct clv_csv csv;
	struct clv_csv_map map;
	const struct clv_node_format *format;
	struct clv_names names;
};

static int read_node(struct nodes *nodes, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_error *err)
{
	struct clv_node_row row;
	int r = nodes->format->read(&nodes->csv, &nodes->map, &row, err);

	if (r == 0)
		r = check_name(&nodes->csv, &nodes->names, &nodes->map, row.name, err);
	if (r == 0)
		r = add_node(&nodes->csv, &nodes->map, nodes->format, &row, fleet, err);
	return r == 0 && notes ? clv_node_notes_add(notes, row.price, err) : r;
}

int clv_trace_read_nodes(FILE *file, const char *name, FILE *header,
	struct clv_fleet *fleet, struct clv_node_notes *notes, struct clv_error *err)
{
	struct nodes nodes = {.csv.name = name};
	int r = read_header(&nodes.csv, file, header, err);

	nodes.format = clv_node_format_of(&nodes.csv);
	if (r == 0)
		r = clv_csv_map(&nodes.csv, nodes.format->columns,
			nodes.format->n_columns, &nodes.map, err);
	begin_rows(&nodes.csv, file, header);
	while (r == 0) {
		r = clv_csv_next(&nodes.csv, err);
		if (r <= 0)
			break;
		r = read_node(&nodes, fleet, notes, err);
	}
	clv_names_done(&nodes.names);
	if (r == 0 && fleet->n_nodes == 0)
		return clv_csv_fail(
			&nodes.csv, 1, err, -EINVAL, "the fleet has no nodes");
	return r;
}

int clv_trace_read_fleet(
	FILE *file, const char *name, struct clv_fleet *fleet, struct clv_error *err)
{
	return clv_trace_read_nodes(file, name, NULL, fleet, NULL, err);
}

/* Whether a file is Philly's JSON; it is at its beginning again then, or at the bracket
 * after a byte order mark. */
static bool is_json(FILE *file)
{
	int c = getc(file);

	if (c == 0xef) {
		bool is_marked = getc(file) == 0xbb && getc(file) == 0xbf;

		c = getc(file);
		if (!is_marked || c != '[')
			rewind(file);
		else
			ungetc(c, file);
		return is_marked && c == '[';
	}
	if (c != EOF)
		ungetc(c, file);
	return c == '[';
}

static int begin_csv(
	struct clv_trace *trace, FILE *file, FILE *header, struct clv_error *err)
{
	int r = read_header(&trace->csv, file, header, err);

	if (r < 0)
		return r;
	trace->format = clv_row_format_of(&trace->csv);
	r = clv_csv_map(&trace->csv, trace->format->columns, trace->format->n_columns,
		&trace->map, err);
	begin_rows(&trace->csv, file, header);
	return r;
}

int clv_trace_begin_headed(struct clv_trace *trace, FILE *file, const char *name,
	FILE *header, const struct clv_fleet *fleet, struct clv_error *err)
{
	clv_csv_init(&trace->csv, file, name);
	clv_philly_init(&trace->philly, file, name);
	trace->format = NULL;
	trace->repeats = (struct clv_repeats){0};
	trace->fleet = fleet;
	trace->latest_s = 0;
	trace->gang = trace->n_in_gang = 0;
	trace->is_timed = false;
	trace->was_read = false;
	trace->skips = NULL;
	return is_json(file) ? 0 : begin_csv(trace, file, header, err);
}

int clv_trace_begin(struct clv_trace *trace, FILE *file, const char *name,
	const struct clv_fleet *fleet, struct clv_error *err)
{
	return clv_trace_begin_headed(trace, file, name, NULL, fleet, err);
}

bool clv_trace_is_sorted(const struct clv_trace *trace)
{
	return trace->format && trace->format->is_sorted;
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

/* Sets an error at a column of the current row. */
static int fail_at(const struct clv_trace *trace, const char *column,
	struct clv_error *err, const char *text)
{
	const struct clv_philly *philly = &trace->philly;

	if (!trace->format)
		return clv_error_set(err, -EINVAL, "%.200s:%llu:1: %s", philly->name,
			(unsigned long long)philly->job_line, text);
	return clv_csv_fail(&trace->csv,
		clv_csv_column_of(&trace->csv, &trace->map, column), err, -EINVAL, "%s",
		text);
}

static int read_rule(const struct clv_trace *trace, const struct clv_row *row,
	struct clv_place_request *request, struct clv_error *err)
{
	int rule = clv_row_find_rule(row->rule);
	bool is_gang = row->gang > 0 || row->n_alike > 1;
	char text[128];

	snprintf(text, sizeof(text),
		"'%.40s' is no rule: free, together, apart, spread or one-rack",
		row->rule);
	if (rule < 0)
		return fail_at(trace, "rule", err, text);
	if (rule == CLV_PLACE_ONE_RACK && trace->fleet->n_racks == 0)
		return fail_at(trace, "rule", err, CLV_ROW_NO_RACKS);
	if (rule == CLV_PLACE_TOGETHER && is_gang && row->group == 0)
		return fail_at(trace, "rule", err, CLV_ROW_GANG_TOGETHER);
	request->rule = (enum clv_place_rule)rule;
	return 0;
}

static int read_words(const struct clv_trace *trace, const struct clv_row *row,
	struct clv_place_request *request, struct clv_error *err)
{
	char text[128];

	request->class = CLV_CLASS_NORMAL;
	if (row->class) {
		enum clv_class class = clv_class_from_string(row->class);

		snprintf(text, sizeof(text),
			"'%.40s' is no class: latency, normal or batch", row->class);
		if (class < 0)
			return fail_at(trace, "class", err, text);
		request->class = class;
	}
	return row->rule ? read_rule(trace, row, request, err) : 0;
}

/* A request that no node could ever have is no mistake of the file. */
static int make_request(const struct clv_trace *trace, const struct clv_row *row,
	struct clv_trace_item *item, struct clv_error *err)
{
	struct clv_place_request *request = &item->request;
	uint32_t n = row->n_devices;
	struct clv_error why = {0};

	item->is_too_large = n > CLV_PLACE_DEVICES_MAX;
	request->cpu_milli = row->cpu_milli;
	request->memory_mib = row->memory_mib;
	request->device_mib = row->device_mib;
	request->n_devices = item->is_too_large ? CLV_PLACE_DEVICES_MAX : (uint8_t)n;
	request->milli = n ? (uint16_t)row->milli : 0;
	request->group = row->group;
	request->same_numa = row->same_numa;
	request->same_link = row->same_link;
	if (clv_fleet_check(trace->fleet, request, &why) < 0)
		return fail_at(trace, "num_gpu", err, why.msg);
	return read_words(trace, row, request, err);
}

static int set_times(struct clv_trace *trace, const struct clv_row *row,
	struct clv_trace_item *item, struct clv_error *err)
{
	item->arrives_s = row->arrives_s == CLV_ROW_UNSET ? 0 : (int64_t)row->arrives_s;
	item->stays_s =
		row->stays_s == CLV_ROW_UNSET ? CLV_TRACE_FOREVER : (int64_t)row->stays_s;
	if (!clv_trace_is_sorted(trace) || !trace->is_timed ||
		item->arrives_s >= trace->latest_s) {
		trace->latest_s = item->arrives_s;
		return 0;
	}
	return fail_at(trace,
		clv_csv_column_of(&trace->csv, &trace->map, "arrives_s") > 1
			? "arrives_s"
			: "creation_time",
		err, "it arrives before the one above: sort the file by arrival");
}

static int next_row(struct clv_trace *trace, struct clv_row *ret, struct clv_error *err)
{
	int r;

	if (!trace->format)
		return clv_philly_next(&trace->philly, ret, err);
	r = clv_csv_next(&trace->csv, err);
	if (r <= 0)
		return r;
	r = trace->format->read(&trace->csv, &trace->map, ret, err);
	return r < 0 ? r : 1;
}

/* Reads the rows again to confirm names that may appear twice. */
static int confirm_names(struct clv_trace *trace, struct clv_error *err)
{
	struct clv_csv *csv = &trace->csv;
	struct clv_row row;
	int r;

	if (fseeko(csv->file, 0, SEEK_SET) < 0)
		return clv_error_set(err, -EINVAL,
			"%.200s: the names must be read twice, so it must be a file",
			csv->name);
	r = begin_csv(trace, csv->file, NULL, err);
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
	if (trace->skips)
		trace->skips->n_left_out = trace->philly.n_left_out;
	return r;
}

/* Adjacent rows with the same number are one gang. */
static int count_gang(struct clv_trace *trace, uint32_t gang, struct clv_error *err)
{
	trace->n_in_gang = gang && gang == trace->gang ? trace->n_in_gang + 1 : 1;
	trace->gang = gang;
	if (trace->n_in_gang <= CLV_TRACE_GANG_MAX)
		return 0;
	return fail_at(trace, "gang", err, "a gang has at most 1024 requests");
}

static_assert(CLV_TRACE_GANG_MAX == 1024, "count_gang() says how many");

static int keep_name(struct clv_trace *trace, const char *name, struct clv_error *err)
{
	bool is_kept = trace->format && trace->format->has_names && !trace->was_read &&
		       !(trace->skips && trace->skips->is_on);
	int r = is_kept ? clv_repeats_add(&trace->repeats, name) : 0;

	return r < 0 ? clv_error_errno(err, -r, "%.200s", trace->csv.name) : 0;
}

/* Returns 1, 0 at the end of the file, or the error of the row. */
static int next_item(
	struct clv_trace *trace, struct clv_trace_item *ret, struct clv_error *err)
{
	struct clv_trace_item item = {0};
	struct clv_row row;
	int r = next_row(trace, &row, err);

	if (r <= 0)
		return r;
	r = keep_name(trace, row.name, err);
	if (r == 0)
		r = count_gang(trace, row.gang, err);
	if (r == 0)
		r = make_request(trace, &row, &item, err);
	if (r == 0)
		r = set_times(trace, &row, &item, err);
	if (r < 0)
		return r;
	if (row.models && row.models[0])
		item.is_of_no_model =
			!read_models(trace->fleet, row.models, &item.request.models);
	item.gang = row.gang;
	item.n_alike = row.n_alike;
	item.priority = row.priority;
	*ret = item;
	return 1;
}

/* Counts a row that is wrong.  Returns whether reading goes on. */
static bool skip(struct clv_trace *trace, int r, const struct clv_error *why)
{
	struct clv_trace_skips *skips = trace->skips;

	if (!skips || !skips->is_on || (r != -EINVAL && r != -ERANGE))
		return false;
	skips->n_wrong++;
	if (skips->tell)
		skips->tell(skips->userdata, why);
	return true;
}

int clv_trace_next(
	struct clv_trace *trace, struct clv_trace_item *ret, struct clv_error *err)
{
	struct clv_error why = {0};
	int r;

	do
		r = next_item(trace, ret, &why);
	while (r < 0 && skip(trace, r, &why));
	if (r < 0 && err)
		*err = why;
	return r == 0 ? end_of_rows(trace, err) : r;
}

void clv_trace_end(struct clv_trace *trace)
{
	clv_repeats_done(&trace->repeats);
	clv_philly_done(&trace->philly);
}
