/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulate/files/csv.h"

/* The rows of traces in CSV, in the formats in which they are published: openb's with
 * additional columns, and those of Helios, PAI-2020 and PAI-2025.  docs/placement.md
 * lists the columns that are read. */

/* Maximum number of requests of one gang. */
#define CLV_TRACE_GANG_MAX 1024
#define CLV_ROW_UNSET UINT64_MAX
/* An error: the rule one-rack where nothing is known of racks. */
#define CLV_ROW_NO_RACKS                                                            \
	"the rule one-rack needs a fleet with racks: name those of its nodes (the " \
	"nodes "                                                                    \
	"of --accept have none)"
/* An error: the rule together for a gang that is in no group. */
#define CLV_ROW_GANG_TOGETHER "a gang on one node is one request of several devices"

/* One row, whatever the format of the file. */
struct clv_row {
	/* Valid until the next row. */
	const char *name;
	const char *models; /* "A|B"; NULL or "": any */
	const char *class, *rule;
	uint32_t cpu_milli, memory_mib, device_mib;
	uint32_t n_devices, milli; /* milli: of each device, at most a whole one */
	uint32_t group, gang, priority;
	uint32_t same_numa, same_link; /* 0: they need not */
	uint32_t n_alike; /* the row stands for so many requests, of one gang */
	/* Or CLV_ROW_UNSET; without an arrival it is at time 0. */
	uint64_t arrives_s, stays_s;
};

struct clv_row_format {
	const char *sign; /* only the headers of this format have this column */
	const struct clv_csv_column *columns;
	unsigned n_columns;
	/* Reads the current row.  -EINVAL, -ERANGE. */
	int (*read)(const struct clv_csv *csv, const struct clv_csv_map *map,
		struct clv_row *ret, struct clv_error *err);
	/* Published in the order of arrival and with names that differ. */
	bool is_sorted, has_names;
};

/* A rule for the requests of a group (enum clv_place_rule), or -1. */
int clv_row_find_rule(const char *name);

/* The format of a header, the current row; openb's if no other one is recognized. */
const struct clv_row_format *clv_row_format_of(const struct clv_csv *csv);
