/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_fleet;
struct clv_place_policy;
struct clv_trace_item;
struct clv_workload;

/* Arrivals played against a fleet by one policy: what was placed, what was refused and
 * why, and the curves of it against the load that arrived.  What does not fit when it
 * arrives is dropped, as in the published experiments.  One thread each. */

/* The curve has a point for each percent of the fleet's compute that was asked for,
 * unless it is one over time. */
#define CLV_REPLAY_POINTS 201

struct clv_replay_point {
	double allocated; /* of the fleet's compute, 0..1; mean over the arrivals here */
	double stranded;  /* by the workload, 0..1 of the fleet's compute */
	uint32_t in_use;  /* devices with a lease */
	uint32_t n;       /* arrivals here; 0: the rest means nothing */
};

struct clv_replay_counts {
	uint64_t arrived, placed;
	uint64_t refused;     /* all of these: */
	uint64_t of_no_model; /* the fleet has none of the models */
	uint64_t too_large;   /* for every node, were it empty */
	uint64_t departed;
	uint64_t gangs, gangs_placed; /* their requests are counted above */
	uint64_t moved;               /* leases, to make room for others */
	uint64_t arrived_milli, placed_milli;
	double busy_device_s; /* with times: devices held, over time */
};

struct clv_replay;

/* fleet: as it is, and then the replay's own.  workload: what the placer and the curve of
 * what is stranded are to know; borrowed for the call. */
int clv_replay_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, uint64_t seed, struct clv_replay **ret,
	struct clv_error *err);
struct clv_replay *clv_replay_free(struct clv_replay *replay);

/* The curve has a point for each percent of this time instead of each percent of load. */
void clv_replay_over_time(struct clv_replay *replay, int64_t first_s, int64_t last_s);
/* Where a request, or a gang, does not fit, so many leases at most are moved for it. */
void clv_replay_allow_moves(struct clv_replay *replay, unsigned most_moves);
/* One arrival; departures that are due before it happen first.  is_timed: item's times
 * count.  Those of a gang are played when the last of them is known: with the next
 * arrival, or at the end.  0, also where it was refused; -ENOMEM. */
int clv_replay_arrive(
	struct clv_replay *replay, const struct clv_trace_item *item, bool is_timed);
/* A gang that waits, and all departures that are left.  0 or -ENOMEM. */
int clv_replay_finish(struct clv_replay *replay);

const struct clv_replay_counts *clv_replay_counts(const struct clv_replay *replay);
const struct clv_replay_point *clv_replay_curve(const struct clv_replay *replay);
const struct clv_fleet *clv_replay_fleet(const struct clv_replay *replay);
size_t clv_replay_placer_bytes(const struct clv_replay *replay);
