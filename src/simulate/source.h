/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;
struct clv_fleet;
struct clv_node_notes;
struct clv_snapshot;
struct clv_snapshot_odd;
struct clv_trace_item;
struct clv_trace_skips;

/* Sources of arrivals: a file of rows that is read incrementally, or sorted in memory if
 * its format is published in no order, a list, or a generator.
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
	/* Not 0: this part of the shares of one device, in parts per million, is drawn by
	 * the seed and becomes the smallest MIG instance that has as much. */
	uint32_t mig_ppm;
	/* Of gangs that have no rule of their own. */
	enum clv_place_rule gang_rule;
	/* Borrowed; NULL: the first row that is wrong is an error.  Counted in the
	 * reading in which was_read is false. */
	struct clv_trace_skips *skips;
	/* Borrowed; not NULL: what the file is, so that it is parsed once. */
	const struct clv_snapshot *snapshot;
	/* Borrowed; NULL: not told.  Filled in the same reading as skips. */
	struct clv_snapshot_odd *odd;
};

/* The snapshot that a file is, which the caller closes; NULL if it is something else.
 * -EINVAL, -ENOMEM. */
int clv_source_read_snapshot(
	const char *path, struct clv_snapshot **ret, struct clv_error *err);

/* Reads a fleet, and what else its file says of the nodes into notes, which may be NULL.
 * If the file is a snapshot, it is stored in *ret_snapshot, which the caller closes, also
 * on failure, and what cannot be a node is added to odd.
 * A file is CSV if its name ends in ".csv" or its first line looks so, a snapshot of a
 * cluster if it is JSON in one of the formats of simulate/files/snapshot.h, else YAML.
 * The header of FILE.csv may be in FILE.header, as PAI-2020 is published. */
int clv_source_read_fleet(const char *path, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_snapshot **ret_snapshot,
	struct clv_snapshot_odd *odd, struct clv_error *err);

/* path: likewise, or Philly's JSON.  Of a snapshot, all pods and jobs are arrivals that
 * have not ended; with has_placed, those that wait.  The fleet is borrowed; only its
 * models and size are used. */
int clv_source_open(const char *path, const struct clv_fleet *fleet,
	const struct clv_source_options *options, struct clv_source **ret,
	struct clv_error *err);
/* Whether arrivals and departures are at their times: by the options, or because a
 * generator draws them (except where the fleet is filled). */
bool clv_source_is_timed(const struct clv_source *source);
/* Whether arrivals depend on the seed. */
bool clv_source_is_drawn(const struct clv_source *source);
/* Takes the places in the fleet that the file lists as placed: see
 * clv_plan_take_placed(). */
int clv_source_take_placed(
	struct clv_source *source, struct clv_fleet *fleet, struct clv_error *err);
/* Returns 1, 0 at the end, or an error with line and column. */
int clv_source_next(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err);
struct clv_source *clv_source_close(struct clv_source *source);
