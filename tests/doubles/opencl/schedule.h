/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The scheduler: flushed commands, their dependencies, and the ready ones. A command is
 * unknown to it until its queue is flushed, which is the purpose of this double. */

/* Work to do after the scheduler's lock is released. */
struct dcl_after {
	struct dcl_cmd *retired, *retired_tail;
	uint32_t wake_engines; /* a bit for each */
	struct dcl_link *wakes;
};

void dcl_sched_lock(void);
/* Unlocks, frees the objects of completed commands, and wakes the waiters: when a wait
 * returns, the commands' objects are released. */
void dcl_sched_unlock(struct dcl_after *after);

/* Passes a chain of commands in the order of their enqueue. */
void dcl_sched_submit(cl_command_queue queue, struct dcl_cmd *chain, uint32_t n,
	struct dcl_after *after);

/* The command ran, or was terminated with a negative status. */
void dcl_sched_complete(struct dcl_cmd *cmd, cl_int status, struct dcl_after *after);

/* Completes commands without remaining dependencies that need no device; to be called
 * after every change of an event's status. The lock is held. */
void dcl_sched_settle(struct dcl_after *after);

/* Lowers the status of an event; runs nothing itself. The lock is held. */
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

/* Makes a retired command usable again by its queue; drops its pins. */
void dcl_cmd_retire(struct dcl_cmd *cmd);

uint64_t dcl_now_ns(void);
