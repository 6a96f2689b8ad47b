/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_departures;
struct clv_fleet;
struct clv_busy;
struct clv_placer;
struct clv_trace_item;

/* Jobs that wait for room: a job is a request, or the requests of a gang, which start
 * together and last as long as the longest of them.  Durations are known when a job
 * arrives. */

enum clv_queue_order {
	CLV_QUEUE_NONE,     /* what does not fit is refused */
	CLV_QUEUE_FIFO,     /* the first job that does not fit holds up all others */
	CLV_QUEUE_BACKFILL, /* others start before it as long as that does not delay it */
	CLV_QUEUE_PRIORITY, /* by priority; jobs of lower priority start over for it */
	_CLV_QUEUE_MAX,
};

extern const char *const clv_queue_orders[_CLV_QUEUE_MAX];

struct clv_queue_options {
	enum clv_queue_order order;
	int64_t most_wait_s; /* a job that has not started by then is refused; 0: never */
};

struct clv_queue_counts {
	uint64_t started, gangs_started; /* jobs; requests are counted below */
	uint64_t gangs_in_one_rack;      /* of those started */
	uint64_t requests_started, requests_given_up, departed;
	uint64_t milli_started;
	uint64_t preempted;   /* times that a job had to start over */
	double lost_device_s; /* work of these */
};

/* Of the jobs that started, from their arrival to their first start, and to their end if
 * they have one. */
struct clv_queue_times {
	uint64_t n;
	double mean_s;
	int64_t p50_s, p99_s;
};

/* What the queue works on.  Borrowed. */
struct clv_queue_world {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_departures *departures; /* the queue's alone */
	struct clv_busy *busy;
};

struct clv_queue;

/* NULL if out of memory. */
struct clv_queue *clv_queue_new(
	const struct clv_queue_world *world, const struct clv_queue_options *options);
struct clv_queue *clv_queue_free(struct clv_queue *queue);

/* Plays departures, and the starts that they make possible, until now_s.  Returns 0 or
 * -ENOMEM. */
int clv_queue_advance(struct clv_queue *queue, int64_t now_s);
/* A job arrives at now_s, after clv_queue_advance(): it starts if it may, else it waits.
 * It must fit an empty fleet.  Returns 0 or -ENOMEM. */
int clv_queue_arrive(struct clv_queue *queue, const struct clv_trace_item *items,
	size_t n, int64_t now_s);
/* Plays all departures, and gives up jobs that still wait.  Returns 0 or -ENOMEM. */
int clv_queue_finish(struct clv_queue *queue);

const struct clv_queue_counts *clv_queue_counts(const struct clv_queue *queue);
/* Sorts the figures so far. */
struct clv_queue_times clv_queue_waits(struct clv_queue *queue);
struct clv_queue_times clv_queue_completions(struct clv_queue *queue);
