/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "simulate/queue.h"

struct clv_queue_job {
	struct clv_queue_job *next, *previous; /* while it waits */
	struct clv_place_request *requests;    /* n */
	uint32_t *leases;                      /* n; while it runs */
	uint32_t n, n_running;
	uint32_t priority;
	bool has_started; /* at some time */
	bool is_gang;
	bool is_of_one_shape; /* see queue.c */
	uint64_t number;      /* in the order of arrival */
	uint64_t failed_at;   /* ends_above() when ending others was not enough */
	int64_t arrived_s, started_s;
	int64_t stays_s; /* at the speed CLV_FLEET_SPEED */
};

/* Priorities from this one on are counted together. */
#define CLV_QUEUE_PRIORITIES 64

/* Who holds a lease. */
struct clv_queue_holder {
	struct clv_queue_job *job;
	uint32_t member;
};

/* A lease that was lifted out of the fleet for a trial. */
struct clv_queue_lifted {
	struct clv_queue_holder holder;
	struct clv_place_at at;
	uint32_t lease;
	int64_t ends_s; /* or CLV_DEPARTURES_NEVER */
};

/* Sums and values of one figure. */
struct clv_queue_samples {
	int64_t *values;
	size_t n, room;
};

struct clv_queue {
	struct clv_queue_world world;
	struct clv_queue_options options;
	struct clv_queue_counts counts;
	struct clv_queue_samples waits, completions;
	uint64_t n_ended[CLV_QUEUE_PRIORITIES]; /* leases that ended, by priority */
	/* The jobs that wait, in the order in which they are to start. */
	struct clv_queue_job *first, *last;
	uint64_t n_arrived;
	struct clv_queue_holder *holders; /* by lease */
	uint32_t n_holders;
	/* A trial. */
	struct clv_queue_lifted *lifted;
	size_t n_lifted, room_lifted;
	uint32_t *order; /* leases in the order in which a trial lifts them */
	size_t n_order, room_order;
	/* The reservation for the first job, by backfill. */
	uint64_t reserved_for; /* number of the job; UINT64_MAX: none */
	int64_t reserved_s;    /* when it will have room; INT64_MAX: never by ends */
	uint32_t *reserved_nodes;
	size_t n_reserved;
};

/* Reserves room for a job that does not fit: the earliest time at which it does, from the
 * ends of the jobs that run, and its nodes then.  The fleet is unchanged on return.
 * Returns 0 or -ENOMEM. */
int clv_queue_reserve(struct clv_queue *queue, const struct clv_queue_job *job);

/* Places a job by ending others of lower priority, the lowest and then the latest first;
 * calls ended for each, which has no lease any more.  Returns 0 with leases of the job
 * that it does not hold yet; -ENOSPC, and nothing changed; -ENOMEM. */
int clv_queue_preempt(struct clv_queue *queue, struct clv_queue_job *job,
	int (*ended)(struct clv_queue *queue, struct clv_queue_job *job));
