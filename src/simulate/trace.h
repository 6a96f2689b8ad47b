/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

#include "simulate/csv.h"
#include "simulate/repeats.h"

/* Fleets and traces in the CSV format of the openb cluster trace, with additional
 * columns, which docs/placement.md lists.  A trace is read one row at a time.  Not
 * thread-safe. */

/* Adds the nodes of the file to the fleet, in order.  -EINVAL with line and column: a
 * column is missing, a number is invalid, a name appears twice, or there is no node. */
int clv_trace_read_fleet(
	FILE *file, const char *name, struct clv_fleet *fleet, struct clv_error *err);

#define CLV_TRACE_FOREVER INT64_MAX

/* Maximum number of requests of one gang. */
#define CLV_TRACE_GANG_MAX 1024

/* One arrival. */
struct clv_trace_item {
	struct clv_place_request request;
	uint32_t gang; /* not 0: placed all or none with adjacent items of the gang */
	int64_t arrives_s;
	int64_t stays_s;     /* or CLV_TRACE_FOREVER */
	bool is_of_no_model; /* the fleet has none of the models that it accepts */
};

struct clv_trace {
	struct clv_csv csv;
	struct clv_csv_map map;
	struct clv_repeats repeats;
	const struct clv_fleet *fleet;
	int64_t latest_s;
	uint32_t gang, n_in_gang; /* of the last row */
	/* Set after clv_trace_begin(). */
	bool is_timed; /* the times will be used */
	bool was_read; /* the same file was read before: names are not kept again */
};

/* Reads the header.  File and fleet are borrowed until clv_trace_end(). */
int clv_trace_begin(struct clv_trace *trace, FILE *file, const char *name,
	const struct clv_fleet *fleet, struct clv_error *err);
/* Returns 1 and the next arrival, or 0 at the end.  -EINVAL with line and column: an
 * invalid number, with is_timed an arrival before the previous one, a gang that is too
 * large, or at the end a name that appears twice, for which the file may be read
 * again. */
int clv_trace_next(
	struct clv_trace *trace, struct clv_trace_item *ret, struct clv_error *err);
void clv_trace_end(struct clv_trace *trace);
