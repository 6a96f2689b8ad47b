/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of one trace in parallel: a thread per processor takes one run after the
 * other. */
#include "simulate/runs.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "simulate/replay.h"
#include "simulate/trace.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_US 100000
#define TYPICAL_PERCENT 95 /* of the requests, as published */

int clv_runs_learn(
	struct clv_runs *runs, const struct clv_fleet *fleet, struct clv_error *err)
{
	struct clv_source *source = NULL;
	struct clv_trace_item item;
	int r = clv_source_open(runs->trace_path, fleet, &runs->options, &source, err);

	runs->workload = (struct clv_workload){0};
	runs->n_arrivals = 0;
	if (r == 0) {
		runs->options.is_timed = clv_source_is_timed(source);
		runs->is_drawn = clv_source_is_drawn(source);
	}
	while (r == 0 && (r = clv_source_next(source, &item, err)) > 0) {
		if (runs->n_arrivals++ == 0)
			runs->first_s = item.arrives_s;
		runs->last_s = item.arrives_s;
		r = clv_workload_add(&runs->workload, &item.request, 1);
		if (r < 0)
			clv_error_errno(err, -r, "cannot read the trace");
	}
	clv_source_close(source);
	if (r < 0)
		return r;
	runs->options.was_read = true;
	clv_workload_cut(&runs->workload, TYPICAL_PERCENT);
	if (runs->n_arrivals == 0)
		return clv_error_set(
			err, -EINVAL, "%.200s: nothing arrives", runs->trace_path);
	return 0;
}

static int set_up(const struct clv_runs *runs, struct clv_run *run)
{
	int r = 0;

	clv_replay_allow_moves(run->replay, runs->most_moves);
	if (runs->admits)
		clv_replay_admit(run->replay);
	if (runs->options.is_timed)
		clv_replay_over_time(run->replay, runs->first_s, runs->last_s);
	if (runs->queue.order != CLV_QUEUE_NONE)
		r = clv_replay_use_queue(run->replay, &runs->queue);
	return r < 0 ? clv_error_errno(&run->err, -r, "cannot replay the trace") : 0;
}

static int play(struct clv_runs *runs, struct clv_run *run)
{
	struct clv_source *source = NULL;
	struct clv_trace_item item;
	struct clv_placer_options options = {
		.seed = runs->options.seed, .power_milli = runs->power_milli};
	int r = clv_replay_new(run->fleet, run->policy, &runs->workload, &options,
		&run->replay, &run->err);

	run->fleet = NULL;
	if (r == 0)
		r = clv_source_open(runs->trace_path, clv_replay_fleet(run->replay),
			&runs->options, &source, &run->err);
	if (r == 0)
		r = set_up(runs, run);
	while (r == 0 && !run->gave_up &&
		(r = clv_source_next(source, &item, &run->err)) > 0) {
		r = clv_replay_arrive(run->replay, &item, runs->options.is_timed);
		if (r < 0)
			clv_error_errno(&run->err, -r, "cannot replay the trace");
		run->gave_up =
			runs->n_refused_ends > 0 &&
			clv_replay_counts(run->replay)->refused >= runs->n_refused_ends;
		atomic_fetch_add_explicit(&runs->n_done, 1, memory_order_relaxed);
	}
	clv_source_close(source);
	if (r == 0 && !run->gave_up)
		r = clv_replay_finish(run->replay);
	return r;
}

struct workers {
	struct clv_runs *runs;
	_Atomic size_t next, n_ended;
};

static void *work(void *userdata)
{
	struct workers *workers = userdata;
	struct clv_runs *runs = workers->runs;

	for (;;) {
		size_t i = atomic_fetch_add(&workers->next, 1);

		if (i >= runs->n_runs)
			return NULL;
		runs->runs[i].result = play(runs, &runs->runs[i]);
		atomic_fetch_add(&workers->n_ended, 1);
	}
}

static void watch(struct workers *workers, void (*tick)(void *userdata, double part),
	void *userdata)
{
	double all = (double)workers->runs->n_arrivals * (double)workers->runs->n_runs;

	assert(workers->runs->n_arrivals > 0);
	while (atomic_load(&workers->n_ended) < workers->runs->n_runs) {
		usleep(TICK_US);
		if (tick)
			tick(userdata, (double)atomic_load(&workers->runs->n_done) / all);
	}
}

int clv_runs_play(struct clv_runs *runs, void (*tick)(void *userdata, double part),
	void *userdata, struct clv_error *err)
{
	struct workers workers = {.runs = runs};
	long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = n_processors > 1 ? (size_t)n_processors : 1, n_threads = 0;
	pthread_t *threads;

	n = n < runs->n_runs ? n : runs->n_runs;
	threads = calloc(n + 1, sizeof(*threads));
	while (threads && n_threads < n &&
		pthread_create(&threads[n_threads], NULL, work, &workers) == 0)
		n_threads++;
	if (n_threads > 0 && tick)
		watch(&workers, tick, userdata);
	else if (n_threads == 0)
		work(&workers);
	for (size_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	for (size_t i = 0; i < runs->n_runs; i++) {
		if (runs->runs[i].result < 0) {
			if (err)
				*err = runs->runs[i].err;
			return runs->runs[i].result;
		}
	}
	return 0;
}

void clv_runs_done(struct clv_runs *runs)
{
	for (size_t i = 0; i < runs->n_runs; i++) {
		clv_replay_free(runs->runs[i].replay);
		clv_fleet_free(runs->runs[i].fleet);
	}
	clv_workload_done(&runs->workload);
}
