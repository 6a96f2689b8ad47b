/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/opencl/queue/events.h"
#include "gate/process/call-lock.h"
#include "gate/process/queue-record.h"

#include <CL/cl.h>

/* The held commands of a queue, in order; how many there are, and how many of them and of
 * its barriers the program keeps.  Guarded by the lock in deferred.c. */
struct clv_deferred_line {
	struct clv_deferred *first, *last, *first_barrier;
	uint32_t n, n_by_program;
	uint32_t n_barriers, n_barriers_by_program;
};

/* A command queue's record. */
struct clv_cl_queue {
	struct clv_queue common; /* first */
	struct clv_deferred_line line;
	struct clv_event_list events;

	struct clv_call_lock order_lock; /* clv_cl_queue_lock_order() */

	/* The gate's flushes, and how many of them were before the last clFinish. */
	_Atomic uint32_t n_flushes, n_flushes_finished;
	/* rusticl of Mesa 22: clFinish does not wait for what was flushed before, and
	 * while a thread is in it or in a blocking call, no other can mark or flush the
	 * queue. */
	bool forgets_flushed;
	/* The driver computes in the thread that waits, and allows no second one. */
	bool runs_in_caller;
	/* The queue, while the gate holds references to it: one for each end of its work
	 * that is a marker, because the program may release the queue meanwhile. */
	cl_command_queue kept;
};

static inline struct clv_cl_queue *clv_cl_queue(struct clv_queue *queue)
{
	return (struct clv_cl_queue *)queue;
}

/* Whether its commands' own events replace markers. */
static inline bool clv_cl_queue_keeps_events(const struct clv_queue *queue)
{
	return queue->out_of_order &&
	       !((const struct clv_cl_queue *)queue)->runs_in_caller;
}

/* oclgrind runs everything in the thread that flushes, finishes or waits, and ends the
 * program if two threads do so.  So the gate's own threads only poll what was submitted
 * there.  A thread that may come to wait for it finishes all queues first, because what
 * is in one may wait for another. */
void clv_cl_queue_run_all(struct clv_queue *queue);

/* Once the queue has had a held command, a submission has this lock from its last check
 * of held commands until it is booked, so that no command in flight comes to be behind
 * one that is held.  The driver's call may wait for another thread that submits to the
 * queue, as where a driver computes in it or copies memory that is not pinned.  False: a
 * thread goes on without the lock; if its command comes to be on the wrong side of a held
 * one, that one enters for lack of progress (deferred.c). */
bool clv_cl_queue_lock_order(struct clv_queue *queue);
void clv_cl_queue_unlock_order(struct clv_queue *queue);

/* clFinish for a queue that the gate may flush. */
cl_int clv_cl_queue_finish(struct clv_queue *queue);

/* Waits for everything in the queue without keeping a lock of the driver.  To be called
 * before a thread waits in the driver for what the gate has still to flush, that is, what
 * it holds. */
void clv_cl_queue_await(struct clv_queue *queue);

extern const struct clv_queue_ops clv_cl_queue_ops __attribute__((visibility("hidden")));
