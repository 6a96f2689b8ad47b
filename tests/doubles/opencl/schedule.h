/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The scheduler: what has been flushed, what waits for what, what may run.  A command is
 * unknown to it until its queue is flushed, which is the point of this double. */

/* Work left to do after the scheduler's lock is dropped. */
struct dcl_after {
	struct dcl_cmd *retired, *retired_tail;
	uint32_t wake_engines; /* a bit for each */
	struct dcl_link *wakes;
};

void dcl_sched_lock(void);
/* Unlocks, frees what the completed commands held, and wakes who waited for them: to a
 * thread that comes back from a wait, what it waited for is gone. */
void dcl_sched_unlock(struct dcl_after *after);

/* Hands over a chain of commands in the order of their enqueue. */
void dcl_sched_submit(cl_command_queue queue, struct dcl_cmd *chain, uint32_t n,
	struct dcl_after *after);

/* The command ran, or was terminated with a negative status. */
void dcl_sched_complete(struct dcl_cmd *cmd, cl_int status, struct dcl_after *after);

/* Completes what waits for nothing any more and needs no device; to be called at the end
 * of whatever moved an event.  The lock is held. */
void dcl_sched_settle(struct dcl_after *after);

/* Moves an event to a lower status, runs nothing itself.  The lock is held. */
void dcl_sched_event_status(cl_event event, cl_int status, struct dcl_after *after);

/* Adds the waiter to an event that is not complete; false if it is complete. */
bool dcl_sched_wait_event(
	cl_event event, struct dcl_link *link, struct dcl_waiter *waiter);

/* Sleeps until waiter->left is 0; returns the worst status that it saw. */
cl_int dcl_waiter_wait(struct dcl_waiter *waiter);

/* The next command to run on this engine, or NULL.  The lock is held. */
struct dcl_cmd *dcl_sched_next(struct dcl_engine *engine);

/* The same, but sleeps until there is one. */
struct dcl_cmd *dcl_sched_await(struct dcl_engine *engine);

/* Makes a retired command usable again by its queue; drops the pins that it held. */
void dcl_cmd_retire(struct dcl_cmd *cmd);

uint64_t dcl_now_ns(void);
