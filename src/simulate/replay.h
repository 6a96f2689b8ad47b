/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_fleet;
struct clv_place_policy;
struct clv_placer_options;
struct clv_queue;
struct clv_queue_options;
struct clv_trace_item;
struct clv_workload;

/* Replays arrivals on a fleet with one policy: what was placed, what was refused and why,
 * and the curves of it over the load that arrived.  What does not fit when it arrives is
 * dropped, as in the published experiments, or waits in a queue.  Each replay belongs to
 * one thread. */

/* A curve has a point for each percent of the compute of the fleet that was requested,
 * unless it is one over time. */
#define CLV_REPLAY_POINTS 201

struct clv_replay_point {
	double allocated; /* of the fleet's compute, 0..1; mean over the arrivals here */
	double stranded; /* stranded for the workload, 0..1 of the compute of the fleet */
	uint32_t in_use; /* devices with a lease */
	uint32_t watts;  /* of all nodes; 0: not known */
	uint32_t n;      /* arrivals here; 0: the other members are not valid */
};

struct clv_replay_counts {
	uint64_t arrived, placed;
	uint64_t refused;      /* all, including the next three: */
	uint64_t of_no_model;  /* the fleet has none of the models */
	uint64_t too_large;    /* for every node, were it empty */
	uint64_t not_admitted; /* not worth their cost */
	uint64_t departed;
	uint64_t gangs, gangs_placed; /* their requests are counted above */
	uint64_t gangs_in_one_rack;   /* of those placed */
	uint64_t moved;               /* leases moved to make room for others */
	uint64_t arrived_milli, placed_milli;
	/* With times: devices held, integrated over time, until the end and until the
	 * last arrival. */
	double busy_device_s, busy_until_last_s;
	/* With times: what all nodes drew from the first arrival to the last one. */
	double joules_until_last;
};

struct clv_replay;

/* Takes the fleet in its current state and owns it, also on failure.  workload: for the
 * placer and the curve of stranded compute; it and the options are borrowed for the
 * call. */
int clv_replay_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, const struct clv_placer_options *options,
	struct clv_replay **ret, struct clv_error *err);
struct clv_replay *clv_replay_free(struct clv_replay *replay);

/* Makes the curve have a point for each percent of this time instead of each percent of
 * load. */
void clv_replay_over_time(struct clv_replay *replay, int64_t first_s, int64_t last_s);
/* If a request or a gang does not fit, at most this many leases are moved for it. */
void clv_replay_allow_moves(struct clv_replay *replay, unsigned most_moves);
/* Refuses requests of known duration that are not worth their cost. */
void clv_replay_admit(struct clv_replay *replay);
/* Lets requests wait, with the times of the items.  No lease is moved then.  Returns 0 or
 * -ENOMEM. */
int clv_replay_use_queue(
	struct clv_replay *replay, const struct clv_queue_options *options);
/* NULL: there is none. */
struct clv_queue *clv_replay_queue(struct clv_replay *replay);
/* Plays one arrival, after the departures that are due before it.  is_timed: the times of
 * the item are used.  A gang is played when its last request is known: with the next
 * arrival, or at the end.  Returns 0, also if the request was refused, or -ENOMEM. */
int clv_replay_arrive(
	struct clv_replay *replay, const struct clv_trace_item *item, bool is_timed);
/* Plays a gang that is pending and all remaining departures.  Returns 0 or -ENOMEM. */
int clv_replay_finish(struct clv_replay *replay);

const struct clv_replay_counts *clv_replay_counts(const struct clv_replay *replay);
const struct clv_replay_point *clv_replay_curve(const struct clv_replay *replay);
const struct clv_fleet *clv_replay_fleet(const struct clv_replay *replay);
