/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

#include "simulate/files/csv.h"
#include "simulate/files/nodes.h"
#include "simulate/files/philly.h"
#include "simulate/files/repeats.h"
#include "simulate/files/rows.h"

/* Fleets and traces in the formats of published cluster traces, which docs/placement.md
 * lists: CSV, and Philly's JSON.  A trace is read one row at a time.  Not thread-safe. */

/* Adds the nodes of the file to the fleet, in order, and what else it says of them to
 * notes, which may be NULL.  header: a file with the header line if the file has none, or
 * NULL.  -EINVAL with line and column: a column is missing, a number is invalid, a name
 * appears twice, or there is no node. */
int clv_trace_read_nodes(FILE *file, const char *name, FILE *header,
	struct clv_fleet *fleet, struct clv_node_notes *notes, struct clv_error *err);
/* The same without header and notes. */
int clv_trace_read_fleet(
	FILE *file, const char *name, struct clv_fleet *fleet, struct clv_error *err);

#define CLV_TRACE_FOREVER INT64_MAX
/* Numbers of groups from this one on are those of gangs: a file has none of them. */
#define CLV_TRACE_OWN_GROUPS (UINT32_C(1) << 31)

/* One arrival. */
struct clv_trace_item {
	struct clv_place_request request;
	uint32_t gang;     /* not 0: placed all or none with adjacent items of the gang */
	uint32_t n_alike;  /* stands for so many requests, which are a gang; or 1 */
	uint32_t priority; /* the larger comes first, where a queue has priorities */
	uint64_t number;   /* of its source */
	int64_t arrives_s;
	int64_t stays_s;     /* or CLV_TRACE_FOREVER */
	bool is_of_no_model; /* the fleet has none of the models that it accepts */
	bool is_too_large;   /* it wants more devices than a node can have */
};

/* Rows that are wrong, and jobs of which the file does not say enough. */
struct clv_trace_skips {
	bool is_on; /* go on after a row that is wrong */
	/* Called with the error of such a row; may be NULL. */
	void (*tell)(void *userdata, const struct clv_error *why);
	void *userdata;
	uint64_t n_wrong;
	uint64_t n_left_out; /* of Philly: without an attempt or a start */
};

struct clv_trace {
	struct clv_csv csv;
	struct clv_csv_map map;
	const struct clv_row_format *format; /* NULL: Philly's JSON */
	struct clv_philly philly;
	struct clv_repeats repeats;
	const struct clv_fleet *fleet;
	int64_t latest_s;
	uint32_t gang, n_in_gang; /* of the last row */
	/* Set after clv_trace_begin(). */
	bool is_timed; /* the times will be used */
	bool was_read; /* the same file was read before: names are not kept again */
	struct clv_trace_skips *skips; /* borrowed; NULL: the first error ends reading */
};

/* Reads the header.  File and fleet are borrowed until clv_trace_end(); header as
 * above. */
int clv_trace_begin_headed(struct clv_trace *trace, FILE *file, const char *name,
	FILE *header, const struct clv_fleet *fleet, struct clv_error *err);
int clv_trace_begin(struct clv_trace *trace, FILE *file, const char *name,
	const struct clv_fleet *fleet, struct clv_error *err);
/* Whether the format is published in the order of arrival; if not, arrivals may come in
 * any order. */
bool clv_trace_is_sorted(const struct clv_trace *trace);
/* Returns 1 and the next arrival, or 0 at the end.  -EINVAL with line and column: an
 * invalid number, with is_timed an arrival before the previous one, a gang that is too
 * large, or at the end a name that appears twice, for which the file may be read
 * again.  While skips are on, such rows are skipped, and names are not compared. */
int clv_trace_next(
	struct clv_trace *trace, struct clv_trace_item *ret, struct clv_error *err);
void clv_trace_end(struct clv_trace *trace);
