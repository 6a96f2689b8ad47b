/* SPDX-License-Identifier: Apache-2.0 */
/* The formats as tables of columns, and what their values mean. */
#include "simulate/files/rows.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/fleet/request.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WHOLE 1000u /* thousandths of a device */
#define MIB_OF_GIB 1024

static const struct clv_row no_row = {
	.n_alike = 1, .arrives_s = CLV_ROW_UNSET, .stays_s = CLV_ROW_UNSET};

static uint32_t up(double number)
{
	/* What is a whole number but for rounding is that number. */
	return number > 0 ? (uint32_t)ceil(number - 1e-6) : 0;
}

/* In openb, tasks of several devices use whole ones, and some tasks of one device state
 * more than a whole one. */
struct openb_row {
	struct clv_row row;
	uint64_t created_s, deleted_s;
};

#define AT(member) offsetof(struct openb_row, member)
/* clang-format off */
static const struct clv_csv_column openb_columns[] = {
	{"name",          clv_csv_read_text, AT(row.name),       true},
	{"cpu_milli",     clv_csv_read_u32,  AT(row.cpu_milli),  true},
	{"memory_mib",    clv_csv_read_u32,  AT(row.memory_mib), true},
	{"num_gpu",       clv_csv_read_u32,  AT(row.n_devices),  true},
	{"gpu_milli",     clv_csv_read_u32,  AT(row.milli),      true},
	{"gpu_spec",      clv_csv_read_text, AT(row.models),     false},
	{"gpu_mib",       clv_csv_read_u32,  AT(row.device_mib), false},
	{"class",         clv_csv_read_text, AT(row.class),      false},
	{"group",         clv_csv_read_u32,  AT(row.group),      false},
	{"rule",          clv_csv_read_text, AT(row.rule),       false},
	{"gang",          clv_csv_read_u32,  AT(row.gang),       false},
	{"priority",      clv_csv_read_u32,  AT(row.priority),   false},
	{"numa",          clv_csv_read_u32,  AT(row.same_numa),  false},
	{"nvlink",        clv_csv_read_u32,  AT(row.same_link),  false},
	{"creation_time", clv_csv_read_u64,  AT(created_s),      false},
	{"deletion_time", clv_csv_read_u64,  AT(deleted_s),      false},
	{"arrives_s",     clv_csv_read_u64,  AT(row.arrives_s),  false},
	{"stays_s",       clv_csv_read_u64,  AT(row.stays_s),    false},
};
/* clang-format on */
#undef AT

static int fail_end(const struct clv_csv *csv, const struct clv_csv_map *map,
	const char *column, struct clv_error *err)
{
	return clv_csv_fail(csv, clv_csv_column_of(csv, map, column), err, -EINVAL,
		"it ends before it begins");
}

/* arrives_s and stays_s take precedence over the times of openb. */
static int read_openb(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_row *ret, struct clv_error *err)
{
	struct openb_row raw = {
		.row = no_row, .created_s = CLV_ROW_UNSET, .deleted_s = CLV_ROW_UNSET};
	bool is_ours;
	int r = clv_csv_read(csv, map, &raw, err);

	if (r < 0)
		return r;
	*ret = raw.row;
	if (ret->milli > WHOLE)
		ret->milli = WHOLE;
	is_ours = ret->arrives_s != CLV_ROW_UNSET;
	if (!is_ours)
		ret->arrives_s = raw.created_s;
	if (ret->stays_s != CLV_ROW_UNSET || is_ours || raw.deleted_s == CLV_ROW_UNSET)
		return 0;
	if (raw.created_s == CLV_ROW_UNSET)
		raw.created_s = 0;
	if (raw.deleted_s < raw.created_s)
		return fail_end(csv, map, "deletion_time", err);
	ret->stays_s = raw.deleted_s - raw.created_s;
	return 0;
}

/* The GPUs and processors of Helios are of the whole job; nodes are alike. */
struct helios_row {
	uint32_t n_gpus, n_cpus, n_nodes;
	uint64_t submitted_s, duration_s;
};

#define AT(member) offsetof(struct helios_row, member)
/* clang-format off */
static const struct clv_csv_column helios_columns[] = {
	{"gpu_num",     clv_csv_read_u32,  AT(n_gpus),      true},
	{"cpu_num",     clv_csv_read_u32,  AT(n_cpus),      true},
	{"node_num",    clv_csv_read_u32,  AT(n_nodes),     true},
	{"submit_time", clv_csv_read_date, AT(submitted_s), true},
	{"duration",    clv_csv_read_u64,  AT(duration_s),  true},
};
/* clang-format on */
#undef AT

static uint32_t each_of(uint32_t all, uint32_t n)
{
	return all / n + (all % n > 0);
}

static int read_helios(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_row *ret, struct clv_error *err)
{
	struct helios_row raw = {0};
	int r = clv_csv_read(csv, map, &raw, err);

	if (r < 0)
		return r;
	if (raw.n_nodes == 0)
		raw.n_nodes = 1;
	if (raw.n_cpus > INT32_MAX / 1000)
		return clv_csv_fail(csv, clv_csv_column_of(csv, map, "cpu_num"), err,
			-ERANGE, "so many processors are a mistake");
	*ret = no_row;
	ret->n_alike = raw.n_nodes;
	ret->n_devices = each_of(raw.n_gpus, raw.n_nodes);
	ret->milli = WHOLE;
	ret->cpu_milli = each_of(raw.n_cpus, raw.n_nodes) * 1000;
	ret->arrives_s = raw.submitted_s;
	ret->stays_s = raw.duration_s;
	return 0;
}

/* PAI counts processors and GPUs of an instance in percent, memory in GiB.  A task that
 * has no end was running at the end of the trace. */
struct pai_row {
	const char *model;
	double n_instances, begins_s, ends_s, cpu, gib, gpus;
};

#define AT(member) offsetof(struct pai_row, member)
/* clang-format off */
static const struct clv_csv_column pai_2020_columns[] = {
	{"inst_num",   clv_csv_read_decimal, AT(n_instances), false},
	{"start_time", clv_csv_read_decimal, AT(begins_s),    false},
	{"end_time",   clv_csv_read_decimal, AT(ends_s),      false},
	{"plan_cpu",   clv_csv_read_decimal, AT(cpu),         false},
	{"plan_mem",   clv_csv_read_decimal, AT(gib),         false},
	{"plan_gpu",   clv_csv_read_decimal, AT(gpus),        false},
	{"gpu_type",   clv_csv_read_text,    AT(model),       false},
};
static const struct clv_csv_column pai_2025_columns[] = {
	{"cpu_request",    clv_csv_read_decimal, AT(cpu),      true},
	{"gpu_request",    clv_csv_read_decimal, AT(gpus),     true},
	{"memory_request", clv_csv_read_decimal, AT(gib),      true},
	{"creation_time",  clv_csv_read_decimal, AT(begins_s), false},
	{"deletion_time",  clv_csv_read_decimal, AT(ends_s),   false},
};
/* clang-format on */
#undef AT

/* per_unit: what one processor or GPU is in the format. */
static int read_pai(const struct clv_csv *csv, const struct clv_csv_map *map,
	double per_unit, const char *end, struct clv_row *ret, struct clv_error *err)
{
	struct pai_row raw = {.n_instances = 1, .begins_s = NAN, .ends_s = NAN};
	int r = clv_csv_read(csv, map, &raw, err);
	double milli = raw.gpus / per_unit * WHOLE;

	if (r < 0)
		return r;
	*ret = no_row;
	if (raw.cpu / per_unit > INT32_MAX / 1000.0 || raw.gib > INT32_MAX / MIB_OF_GIB)
		return clv_csv_fail(csv, 1, err, -ERANGE,
			"so many processors or so much memory are a mistake");
	ret->cpu_milli = up(raw.cpu / per_unit * 1000);
	ret->memory_mib = up(raw.gib * MIB_OF_GIB);
	ret->n_devices = milli > WHOLE ? up(milli / WHOLE) : milli > 0;
	ret->milli = milli > WHOLE ? WHOLE : up(milli);
	ret->models = ret->n_devices > 0 ? raw.model : NULL;
	ret->n_alike = raw.n_instances > 1 ? up(raw.n_instances) : 1;
	if (!isnan(raw.begins_s))
		ret->arrives_s = (uint64_t)raw.begins_s;
	if (isnan(raw.ends_s))
		return 0;
	if (!isnan(raw.begins_s) && raw.ends_s < raw.begins_s)
		return fail_end(csv, map, end, err);
	ret->stays_s =
		(uint64_t)raw.ends_s - (isnan(raw.begins_s) ? 0 : (uint64_t)raw.begins_s);
	return 0;
}

static int read_pai_2020(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_row *ret, struct clv_error *err)
{
	return read_pai(csv, map, 100, "end_time", ret, err);
}

static int read_pai_2025(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_row *ret, struct clv_error *err)
{
	return read_pai(csv, map, 1, "deletion_time", ret, err);
}

#define COLUMNS(table) (table), CLV_ARRAY_SIZE(table)
/* clang-format off */
/* The last one is that of unknown headers. */
static const struct clv_row_format formats[] = {
	/* sign           columns                    read           sorted names */
	{ "gpu_num",      COLUMNS(helios_columns),   read_helios,   false, false },
	{ "plan_gpu",     COLUMNS(pai_2020_columns), read_pai_2020, false, false },
	{ "gpu_request",  COLUMNS(pai_2025_columns), read_pai_2025, false, false },
	{ "gpu_milli",    COLUMNS(openb_columns),    read_openb,    true,  true },
};
/* clang-format on */

const struct clv_row_format *clv_row_format_of(const struct clv_csv *csv)
{
	unsigned i = 0;

	while (i < CLV_ARRAY_SIZE(formats) - 1 && !clv_csv_has(csv, formats[i].sign))
		i++;
	return &formats[i];
}

int clv_row_find_rule(const char *name)
{
	static const char *const rules[_CLV_PLACE_RULE_MAX] = {
		[CLV_PLACE_FREE] = "free",
		[CLV_PLACE_TOGETHER] = "together",
		[CLV_PLACE_APART] = "apart",
		[CLV_PLACE_SPREAD] = "spread",
		[CLV_PLACE_ONE_RACK] = "one-rack",
	};
	int i = _CLV_PLACE_RULE_MAX - 1;

	while (i >= 0 && strcmp(rules[i], name) != 0)
		i--;
	return i;
}
