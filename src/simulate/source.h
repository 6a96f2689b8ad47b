/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_error;
struct clv_fleet;
struct clv_trace_item;

/* Sources of arrivals: a CSV file that is read incrementally, a list, or a generator.
 * Sources are independent of each other, so several can be used in parallel, each by one
 * thread. */

struct clv_source;

struct clv_source_options {
	uint64_t seed;
	bool is_timed; /* arrivals must be in the order of their times */
	/* the same file was read to its end before: checks that need memory are not
	 * repeated */
	bool was_read;
	bool has_placed; /* the caller itself takes the places of `placed` entries */
	/* Not 0: the arrivals of the trace come in a random order by the seed, each once
	 * and then again at random, until this many thousandths of the compute of the
	 * fleet are requested.  The whole trace is kept in memory then. */
	uint32_t fill_milli;
};

/* Reads a fleet: CSV if the name ends in ".csv", else YAML. */
int clv_source_read_fleet(
	const char *path, struct clv_fleet *fleet, struct clv_error *err);

/* path: likewise.  The fleet is borrowed; only its models and size are used. */
int clv_source_open(const char *path, const struct clv_fleet *fleet,
	const struct clv_source_options *options, struct clv_source **ret,
	struct clv_error *err);
/* Whether arrivals and departures are at their times: by the options, or because a
 * generator draws them (except where the fleet is filled). */
bool clv_source_is_timed(const struct clv_source *source);
/* Takes the places in the fleet that the file lists as placed: see
 * clv_plan_take_placed(). */
int clv_source_take_placed(
	struct clv_source *source, struct clv_fleet *fleet, struct clv_error *err);
/* Returns 1, 0 at the end, or an error with line and column. */
int clv_source_next(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err);
struct clv_source *clv_source_close(struct clv_source *source);
