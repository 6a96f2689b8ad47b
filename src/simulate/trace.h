/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

#include "simulate/csv.h"
#include "simulate/repeats.h"

/* Fleets and traces in the CSV of the openb cluster trace, with columns of our own beside
 * its: docs/placement.md lists them.  A trace is read a row at a time.  One thread. */

/* Adds the file's nodes to the fleet, in its order.  -EINVAL with the place: a column is
 * missing, a number is none, a name is there twice, there is no node at all. */
int clv_trace_read_fleet(
	FILE *file, const char *name, struct clv_fleet *fleet, struct clv_error *err);

#define CLV_TRACE_FOREVER INT64_MAX

/* So many requests one gang may have. */
#define CLV_TRACE_GANG_MAX 1024

/* One arrival. */
struct clv_trace_item {
	struct clv_place_request request;
	uint32_t gang; /* not 0: with those of the same gang beside it, all of them or
			  none */
	int64_t arrives_s;
	int64_t stays_s;     /* or CLV_TRACE_FOREVER */
	bool is_of_no_model; /* it wants models of which the fleet has none */
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
	bool was_read; /* before, as it is: its names are not kept again */
};

/* Reads the header.  File and fleet are borrowed until clv_trace_end(). */
int clv_trace_begin(struct clv_trace *trace, FILE *file, const char *name,
	const struct clv_fleet *fleet, struct clv_error *err);
/* 1 and the next arrival; 0 at the end; -EINVAL with the place: a number that is none,
 * where it is timed an arrival before the one above, a gang that is too large, and at the
 * end a name that was there for the second time: the file may be gone through again for
 * that. */
int clv_trace_next(
	struct clv_trace *trace, struct clv_trace_item *ret, struct clv_error *err);
void clv_trace_end(struct clv_trace *trace);
