/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queues.h"

#include <CL/cl.h>

/* What a look along the line of held commands has seen of a queue so far. */
struct clv_held_line {
	uint32_t look;
	bool any_before, barrier_before;
};

/* A command queue's record. */
struct clv_cl_queue {
	struct clv_queue common;   /* first */
	struct clv_held_line line; /* guarded by the lock in held.c */

	/* From its first held command on a submission has this lock from its
	 * last look at what is held until it is booked, so that none that is in flight
	 * comes to stand behind one that is held.  Recursive: a vendor may run callbacks
	 * inside its calls. */
	pthread_mutex_t order_lock;

	/* The gate's own, and how many of them the last clFinish came after. */
	_Atomic uint32_t n_flushes, n_flushes_finished;
	bool forgets_flushed;
};

static inline struct clv_cl_queue *clv_cl_queue(struct clv_queue *queue)
{
	return (struct clv_cl_queue *)queue;
}

/* Some drivers (rusticl of Mesa 22) keep a queue's lock while a thread finishes it or is
 * in a blocking call, so that nobody else can mark or flush it; and a finish waits for
 * nothing that was flushed before. */

/* clFinish for a queue that the gate may flush. */
cl_int clv_cl_queue_finish(struct clv_queue *queue);

/* Waits for all that is in the queue and keeps no lock: before a thread waits in the
 * driver for what the gate has still to flush, which is what it holds. */
void clv_cl_queue_await(struct clv_queue *queue);

extern const struct clv_queue_ops clv_cl_queue_ops __attribute__((visibility("hidden")));
