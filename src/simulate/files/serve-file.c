/* SPDX-License-Identifier: Apache-2.0 */
/* Services in YAML, their measured tables in CSV. */
#include "simulate/files/serve-file.h"

#include "simulate/files/csv.h"
#include "simulate/files/plan-read.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 4096

struct reader {
	struct clv_serve_file *file;
	const char *path; /* of the file */
};

struct measure_row {
	uint32_t n_slices, batch, n_processes;
	double throughput, latency_s;
};

#define AT(member) offsetof(struct measure_row, member)
/* clang-format off */
static const struct clv_csv_column measure_columns[] = {
	{"Mig instance",    clv_csv_read_u32,     AT(n_slices),    true},
	{"Batch size",      clv_csv_read_u32,     AT(batch),       true},
	{"Workload Number", clv_csv_read_u32,     AT(n_processes), true},
	{"Throughput",      clv_csv_read_decimal, AT(throughput),  true},
	{"Latency",         clv_csv_read_decimal, AT(latency_s),   true},
};
/* clang-format on */
#undef AT

static int add_measure(const struct clv_csv *csv, const struct measure_row *row,
	struct clv_serve_entry *entry, struct clv_error *err)
{
	struct clv_serve_measure *measure;
	unsigned size = 0;

	while (size < _CLV_SERVE_SIZES && clv_serve_slices[size] != row->n_slices)
		size++;
	if (size == _CLV_SERVE_SIZES)
		return clv_csv_fail(csv, 1, err, -EINVAL,
			"no MIG instance has %u slices: they have 1, 2, 3, 4 or 7",
			row->n_slices);
	/* The published tables have rows of attempts that failed. */
	if (row->throughput <= 0 || row->n_processes == 0)
		return 0;
	measure = CLV_APPEND(entry->measures, entry->n_measures);
	if (!measure)
		return clv_error_errno(err, ENOMEM, "%.200s", csv->name);
	*measure = (struct clv_serve_measure){
		.size = (uint8_t)size,
		.batch = row->batch,
		.n_processes = row->n_processes,
		.rate = row->throughput * row->n_processes,
		.latency_s = row->latency_s,
	};
	return 0;
}

static int read_rows(
	struct clv_csv *csv, struct clv_serve_entry *entry, struct clv_error *err)
{
	struct clv_csv_map map;
	int r = clv_csv_next(csv, err);

	if (r > 0)
		r = clv_csv_map(
			csv, measure_columns, CLV_ARRAY_SIZE(measure_columns), &map, err);
	else if (r == 0)
		r = clv_error_set(err, -EINVAL, "%.200s: it is empty", csv->name);
	while (r >= 0 && (r = clv_csv_next(csv, err)) > 0) {
		struct measure_row row = {0};

		r = clv_csv_read(csv, &map, &row, err);
		if (r == 0)
			r = add_measure(csv, &row, entry, err);
	}
	return r;
}

static int read_table(
	const char *path, struct clv_serve_entry *entry, struct clv_error *err)
{
	struct clv_csv *csv = calloc(1, sizeof(*csv));
	FILE *file = fopen(path, "re");
	int r;

	if (!file || !csv) {
		r = clv_error_errno(err, csv ? errno : ENOMEM, "%.200s", path);
	} else {
		clv_csv_init(csv, file, path);
		r = read_rows(csv, entry, err);
	}
	if (file)
		fclose(file);
	free(csv);
	return r;
}

static int read_profile(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, PATH_MAX_BYTES, err);
}

struct entry_text {
	struct clv_serve_entry entry;
	char profile[PATH_MAX_BYTES];
};

#define AT(member) offsetof(struct entry_text, member)
/* clang-format off */
static const struct clv_yaml_field entry_fields[] = {
	{"name",    clv_plan_read_name,    true, AT(entry.name)},
	{"rate",    clv_plan_read_decimal, true, AT(entry.rate)},
	{"latency", clv_plan_read_ns,      true, AT(entry.latency_ns)},
	{"profile", read_profile,          true, AT(profile)},
};
/* clang-format on */
#undef AT

/* The path of a table: it begins at the folder of the file that names it. */
static int path_of(const char *file, const char *table, char ret[PATH_MAX_BYTES])
{
	const char *slash = table[0] == '/' ? NULL : strrchr(file, '/');
	int n = snprintf(ret, PATH_MAX_BYTES, "%.*s%s",
		slash ? (int)(slash + 1 - file) : 0, file, table);

	return n < PATH_MAX_BYTES ? 0 : -ENAMETOOLONG;
}

static bool is_known(const struct clv_serve_file *file, const char *name)
{
	for (size_t i = 0; i + 1 < file->n_entries; i++) {
		if (strcmp(file->entries[i].name, name) == 0)
			return true;
	}
	return false;
}

static int read_entry(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const struct reader *reader = into;
	struct clv_serve_file *file = reader->file;
	struct entry_text text = {0};
	struct clv_serve_entry *entry;
	char path[PATH_MAX_BYTES];
	int r = clv_yaml_read_map(
		value, entry_fields, CLV_ARRAY_SIZE(entry_fields), &text, err);

	if (r < 0)
		return r;
	if (text.entry.rate <= 0 || text.entry.latency_ns == 0)
		return clv_yaml_fail(
			value, err, -EINVAL, "rate and latency must be above 0");
	if (file->n_entries == CLV_SERVE_SERVICES_MAX)
		return clv_yaml_fail(value, err, -E2BIG,
			"there are more than %d services", CLV_SERVE_SERVICES_MAX);
	entry = CLV_APPEND(file->entries, file->n_entries);
	if (!entry)
		return clv_yaml_fail(value, err, -ENOMEM, "out of memory");
	*entry = text.entry;
	if (is_known(file, entry->name))
		return clv_yaml_fail(value, err, -EINVAL,
			"the name '%.60s' appears twice", entry->name);
	if (path_of(reader->path, text.profile, path) < 0)
		return clv_yaml_fail(value, err, -EINVAL, "the path is too long");
	return read_table(path, entry, err);
}

static int read_entries(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_entry, into, err);
}

static int read_model(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_plan_read_name(value, ((struct reader *)into)->file->model, err);
}

static const struct clv_yaml_field file_fields[] = {
	{"version", clv_plan_read_version, true, 0},
	{"model", read_model, true, 0},
	{"services", read_entries, true, 0},
};

int clv_serve_file_read(
	const char *path, struct clv_serve_file *ret, struct clv_error *err)
{
	_cleanup_yaml_ struct clv_yaml *yaml = NULL;
	struct clv_serve_file file = {0};
	struct reader reader = {.file = &file, .path = path};
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r == 0)
		r = clv_yaml_read_map(clv_yaml_root(yaml), file_fields,
			CLV_ARRAY_SIZE(file_fields), &reader, err);
	if (r == 0 && file.n_entries == 0)
		r = clv_yaml_fail(
			clv_yaml_root(yaml), err, -EINVAL, "the file has no services");
	if (r < 0) {
		clv_serve_file_done(&file);
		return r;
	}
	*ret = file;
	return 0;
}

void clv_serve_file_done(struct clv_serve_file *file)
{
	for (size_t i = 0; i < file->n_entries; i++)
		free(file->entries[i].measures);
	free(file->entries);
	*file = (struct clv_serve_file){0};
}

const struct clv_serve_measure *clv_serve_file_best(
	const struct clv_serve_entry *entry, unsigned size, uint32_t part_ppm)
{
	double most_s = (double)entry->latency_ns / (double)CLV_NS_PER_S * part_ppm /
			(double)CLV_PPM;
	const struct clv_serve_measure *best = NULL;

	for (size_t i = 0; i < entry->n_measures; i++) {
		const struct clv_serve_measure *measure = &entry->measures[i];

		if (measure->size == size && measure->latency_s <= most_s &&
			(!best || measure->rate > best->rate))
			best = measure;
	}
	return best;
}
