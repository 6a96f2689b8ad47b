/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/opencl/queue/events.h"
#include "gate/process/queue-record.h"

#include <CL/cl.h>

/* The held commands of a queue, in their order, and how many of them, and of its
 * barriers, something of the program's keeps.  Guarded by the lock in held.c. */
struct clv_held_line {
	struct clv_held *first, *last, *first_barrier;
	uint32_t n, n_by_program;
	uint32_t n_barriers, n_barriers_by_program;
};

/* A command queue's record. */
struct clv_cl_queue {
	struct clv_queue common; /* first */
	struct clv_held_line line;
	struct clv_event_list events;

	/* From its first held command on a submission has this lock from its
	 * last look at what is held until it is booked, so that none that is in flight
	 * comes to stand behind one that is held.  Recursive: a vendor may run callbacks
	 * inside its calls. */
	pthread_mutex_t order_lock;

	/* The gate's own, and how many of them the last clFinish came after. */
	_Atomic uint32_t n_flushes, n_flushes_finished;
	bool forgets_flushed;
	/* It computes in whichever thread waits for it, and bears no second one. */
	bool runs_in_caller;
};

static inline struct clv_cl_queue *clv_cl_queue(struct clv_queue *queue)
{
	return (struct clv_cl_queue *)queue;
}

/* Whether its commands' own events are its markers. */
static inline bool clv_cl_queue_keeps_events(const struct clv_queue *queue)
{
	return queue->out_of_order &&
	       !((const struct clv_cl_queue *)queue)->runs_in_caller;
}

/* Some drivers (rusticl of Mesa 22) keep a queue's lock while a thread finishes it or is
 * in a blocking call, so that nobody else can mark or flush it; and a finish waits for
 * nothing that was flushed before. */

/* oclgrind runs everything in the thread that flushes, finishes or waits, and ends the
 * program if two threads do.  So the gate's own threads must not: what was submitted
 * there they only look at.  A thread that may come to wait for it makes it run: all, as
 * what is in one queue may wait for another. */
void clv_cl_queue_run_all(struct clv_queue *queue);

/* clFinish for a queue that the gate may flush. */
cl_int clv_cl_queue_finish(struct clv_queue *queue);

/* Waits for all that is in the queue and keeps no lock: before a thread waits in the
 * driver for what the gate has still to flush, which is what it holds. */
void clv_cl_queue_await(struct clv_queue *queue);

extern const struct clv_queue_ops clv_cl_queue_ops __attribute__((visibility("hidden")));
