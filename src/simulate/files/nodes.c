/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of nodes as tables of columns. */
#include "simulate/files/nodes.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int clv_node_notes_add(struct clv_node_notes *notes, double price, struct clv_error *err)
{
	struct clv_node_note *note = CLV_APPEND(notes->items, notes->n);

	if (!note)
		return clv_error_errno(err, ENOMEM, "cannot read the fleet");
	note->price = price;
	return 0;
}

#define AT(member) offsetof(struct clv_node_row, member)
/* clang-format off */
static const struct clv_csv_column openb_columns[] = {
	{"sn",         clv_csv_read_text,    AT(name),       true},
	{"cpu_milli",  clv_csv_read_u32,     AT(cpu_milli),  true},
	{"memory_mib", clv_csv_read_u32,     AT(memory_mib), true},
	{"gpu",        clv_csv_read_u32,     AT(n_devices),  true},
	{"model",      clv_csv_read_text,    AT(model),      false},
	{"gpu_mib",    clv_csv_read_u32,     AT(device_mib), false},
	{"numa",       clv_csv_read_u32,     AT(n_numa),     false},
	{"nvlink",     clv_csv_read_u32,     AT(n_linked),   false},
	{"price",      clv_csv_read_decimal, AT(price),      false},
	{"rack",       clv_csv_read_text,    AT(rack),       false},
	{"gpu_idle_w", clv_csv_read_u32,     AT(power.device_idle_w), false},
	{"gpu_full_w", clv_csv_read_u32,     AT(power.device_full_w), false},
	{"socket_idle_w", clv_csv_read_u32,  AT(power.socket_idle_w), false},
	{"socket_full_w", clv_csv_read_u32,  AT(power.socket_full_w), false},
	{"socket_cpu_milli", clv_csv_read_u32, AT(power.socket_milli), false},
};
/* clang-format on */
#undef AT

static int read_openb(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_node_row *ret, struct clv_error *err)
{
	*ret = (struct clv_node_row){0};
	return clv_csv_read(csv, map, ret, err);
}

/* Processors, and memory in GiB. */
struct pai_row {
	const char *name, *model;
	double n_cpus, gib;
	uint32_t n_devices;
};

#define AT(member) offsetof(struct pai_row, member)
/* clang-format off */
static const struct clv_csv_column pai_columns[] = {
	{"machine",  clv_csv_read_text,    AT(name),      true},
	{"gpu_type", clv_csv_read_text,    AT(model),     false},
	{"cap_cpu",  clv_csv_read_decimal, AT(n_cpus),    true},
	{"cap_mem",  clv_csv_read_decimal, AT(gib),       true},
	{"cap_gpu",  clv_csv_read_u32,     AT(n_devices), true},
};
/* clang-format on */
#undef AT

static int read_pai(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_node_row *ret, struct clv_error *err)
{
	struct pai_row raw = {0};
	int r = clv_csv_read(csv, map, &raw, err);

	if (r < 0)
		return r;
	if (raw.n_cpus > INT32_MAX / 1000.0 || raw.gib > INT32_MAX / 1024.0)
		return clv_csv_fail(csv, 1, err, -ERANGE,
			"so many processors or so much memory are a mistake");
	*ret = (struct clv_node_row){
		.name = raw.name,
		.model = raw.model,
		.cpu_milli = (uint32_t)(raw.n_cpus * 1000),
		.memory_mib = (uint32_t)(raw.gib * 1024),
		.n_devices = raw.n_devices,
	};
	return 0;
}

/* Philly says the memory of a GPU, as "24GB", which names its model here, and nothing of
 * processors and memory; nor do its jobs. */
struct philly_row {
	const char *name, *memory;
	uint32_t n_devices;
};

#define AT(member) offsetof(struct philly_row, member)
/* clang-format off */
static const struct clv_csv_column philly_columns[] = {
	{"machineId",      clv_csv_read_text, AT(name),      true},
	{"number of GPUs", clv_csv_read_u32,  AT(n_devices), true},
	{"single GPU mem", clv_csv_read_text, AT(memory),    true},
};
/* clang-format on */
#undef AT

static int read_philly(const struct clv_csv *csv, const struct clv_csv_map *map,
	struct clv_node_row *ret, struct clv_error *err)
{
	struct philly_row raw = {0};
	int r = clv_csv_read(csv, map, &raw, err);
	char *end;

	if (r < 0)
		return r;
	raw.memory += strspn(raw.memory, " ");
	*ret = (struct clv_node_row){
		.name = raw.name,
		.model = raw.memory,
		.n_devices = raw.n_devices,
		.device_mib = (uint32_t)(strtoul(raw.memory, &end, 10) % 4096 * 1024),
	};
	if (end != raw.memory && strcmp(end, "GB") == 0)
		return 0;
	return clv_csv_fail(csv, clv_csv_column_of(csv, map, "single GPU mem"), err,
		-EINVAL, "'%.40s' is no memory as 24GB", raw.memory);
}

#define COLUMNS(table) (table), CLV_ARRAY_SIZE(table)
/* clang-format off */
/* The last one is that of unknown headers. */
static const struct clv_node_format formats[] = {
	/* sign           columns                  read         devices */
	{ "cap_gpu",      COLUMNS(pai_columns),    read_pai,    "cap_gpu" },
	{ "machineId",    COLUMNS(philly_columns), read_philly, "number of GPUs" },
	{ "sn",           COLUMNS(openb_columns),  read_openb,  "gpu" },
};
/* clang-format on */

const struct clv_node_format *clv_node_format_of(const struct clv_csv *csv)
{
	unsigned i = 0;

	while (i < CLV_ARRAY_SIZE(formats) - 1 && !clv_csv_has(csv, formats[i].sign))
		i++;
	return &formats[i];
}
