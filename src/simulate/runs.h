/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"
#include "core/fleet/workload.h"
#include "simulate/source.h"

#include <stdatomic.h>

/* Several replays of one trace, each with its own policy or fleet, on all processors.
 * What comes out is a function of the input and the seed, whatever ran when. */

struct clv_fleet;
struct clv_place_policy;
struct clv_replay;

struct clv_run {
	/* In. */
	const struct clv_place_policy *policy;
	struct clv_fleet *fleet; /* handed over: the replay's own */
	/* Out. */
	struct clv_replay *replay; /* NULL where it failed */
	struct clv_error err;      /* of this one */
	int result;
};

struct clv_runs {
	const char *trace_path;
	struct clv_source_options options;
	struct clv_run *runs;
	size_t n_runs;
	unsigned most_moves; /* of leases, where a request does not fit; 0: none */
	/* Arrivals played in all runs together, for a progress bar: any thread may look.
	 */
	_Atomic uint64_t n_done;
	uint64_t n_arrivals;     /* of one run, once clv_runs_learn() has counted them */
	int64_t first_s, last_s; /* arrivals, likewise */
	struct clv_workload workload;
};

/* Reads the trace once: what is asked for, and how much.  Errors with their place. */
int clv_runs_learn(
	struct clv_runs *runs, const struct clv_fleet *fleet, struct clv_error *err);
/* All of them; tick is called on the calling thread ten times a second, and may be NULL.
 * The first error, if there is one. */
int clv_runs_play(struct clv_runs *runs, void (*tick)(void *userdata, double part),
	void *userdata, struct clv_error *err);
void clv_runs_done(struct clv_runs *runs);
