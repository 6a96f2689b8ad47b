/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_error;
struct clv_fleet;
struct clv_trace_item;

/* Where arrivals come from: a CSV that is read as it goes, a list, or a generator.  Each
 * source reads for itself, so that several run side by side.  One thread each. */

struct clv_source;

struct clv_source_options {
	uint64_t seed;
	bool is_timed;   /* arrivals are told in the order of their times, or refused */
	bool was_read;   /* the same file, to its end: what needs memory is not checked
			    again */
	bool has_placed; /* the caller puts what is placed already onto the fleet */
	/* Not 0: the trace's arrivals in an order drawn by the seed, each once and then
	 * again at random, until this much of the fleet's compute (in thousandths of it
	 * all) has been asked for.  All of the trace is kept in memory then. */
	uint32_t fill_milli;
};

/* Reads a fleet by the ending of its name: CSV, or YAML. */
int clv_source_read_fleet(
	const char *path, struct clv_fleet *fleet, struct clv_error *err);

/* path: likewise.  The fleet is borrowed, and only looked at for its models and size. */
int clv_source_open(const char *path, const struct clv_fleet *fleet,
	const struct clv_source_options *options, struct clv_source **ret,
	struct clv_error *err);
/* What the file says that is placed already, put onto the fleet: see
 * clv_plan_take_placed(). */
int clv_source_take_placed(
	struct clv_source *source, struct clv_fleet *fleet, struct clv_error *err);
/* 1, 0 at the end, or an error with its place. */
int clv_source_next(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err);
struct clv_source *clv_source_close(struct clv_source *source);
