/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "simulate/files/csv.h"

/* The rows of fleets in CSV: openb's with additional columns, the machines of PAI-2020
 * and those of Philly. */

/* What a fleet's file says of a node and a fleet does not keep. */
struct clv_node_note {
	double price; /* for an hour, in any currency; 0: not known */
};

/* By node.  Zeroed: empty. */
struct clv_node_notes {
	struct clv_node_note *items; /* freed by the caller */
	size_t n;
};

/* Adds the note of the next node.  Returns 0 or -ENOMEM. */
int clv_node_notes_add(struct clv_node_notes *notes, double price, struct clv_error *err);

struct clv_node_row {
	/* Valid until the next row. */
	const char *name, *model, *rack;
	uint32_t cpu_milli, memory_mib, n_devices, device_mib, n_numa, n_linked;
	double price;
	struct clv_fleet_power power;
};

struct clv_node_format {
	const char *sign; /* only the headers of this format have this column */
	const struct clv_csv_column *columns;
	unsigned n_columns;
	int (*read)(const struct clv_csv *csv, const struct clv_csv_map *map,
		struct clv_node_row *ret, struct clv_error *err);
	const char *devices; /* its column of the number of devices, for messages */
};

/* The format of a header, the current row; openb's if no other one is recognized. */
const struct clv_node_format *clv_node_format_of(const struct clv_csv *csv);
