/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"
#include "core/fleet/workload.h"
#include "simulate/queue.h"
#include "simulate/source.h"

#include <stdatomic.h>

/* Several replays of one trace, each with its own policy or fleet, in parallel on all
 * processors.  The result depends on the input and the seed only, not on the order of
 * execution. */

struct clv_fleet;
struct clv_place_policy;
struct clv_replay;

struct clv_run {
	/* In. */
	const struct clv_place_policy *policy;
	struct clv_fleet *fleet; /* owned by the replay afterwards */
	/* Out. */
	struct clv_replay *replay; /* NULL if it failed */
	struct clv_error err;      /* why it failed */
	int result;
	bool gave_up; /* n_refused_ends were refused; the replay did not end */
};

struct clv_runs {
	const char *trace_path;
	struct clv_source_options options;
	struct clv_run *runs;
	size_t n_runs;
	unsigned most_moves;  /* leases moved for a request that does not fit; 0: none */
	bool admits;          /* what is not worth its cost is refused */
	uint32_t power_milli; /* see clv_placer_options */
	struct clv_queue_options queue; /* CLV_QUEUE_NONE: nothing waits */
	uint64_t n_refused_ends; /* a run ends when so many are refused; 0: never */
	/* Arrivals played in all runs together, for a progress bar; readable by any
	 * thread. */
	_Atomic uint64_t n_done;
	bool is_drawn; /* another seed gives other arrivals; set by clv_runs_learn() */
	uint64_t n_arrivals;     /* of one run; set by clv_runs_learn() */
	int64_t first_s, last_s; /* first and last arrival, likewise */
	struct clv_workload workload;
};

/* Reads the trace once: the number of arrivals, and the workload.  Errors name the line
 * and column. */
int clv_runs_learn(
	struct clv_runs *runs, const struct clv_fleet *fleet, struct clv_error *err);
/* Plays all runs.  tick is called on the calling thread ten times a second, and may be
 * NULL.  Returns the first error of a run, or 0. */
int clv_runs_play(struct clv_runs *runs, void (*tick)(void *userdata, double part),
	void *userdata, struct clv_error *err);
void clv_runs_done(struct clv_runs *runs);
