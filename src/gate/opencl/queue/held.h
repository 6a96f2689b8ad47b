/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clv_queue;
struct clv_held;

/* Commands that the vendor has and that do not run yet: behind a user event that the
 * program has not set, or kept by the gate where the thread that submits must not wait (a
 * callback).  Such a command is neither in flight nor in the window.  It has an event of
 * the gate's own in its wait list, the turnstile, which is set when nothing of the
 * program's keeps the command any more and the turn has come: a held command is let go
 * exactly as any other is submitted.
 *
 * They are let go in the order in which they came, so that one never waits, in flight,
 * for another that is held. */

/* Whether any user event is unset or any command held: if not, nothing depends on one. */
extern _Atomic uint32_t clv_held_n __attribute__((visibility("hidden")));
static inline bool clv_held_any(void)
{
	return atomic_load_explicit(&clv_held_n, memory_order_relaxed) > 0;
}

void clv_held_user_event_made(cl_event event);
void clv_held_user_event_set(cl_event event);
/* Released for the last time and never set: what waits for it waits for ever. */
void clv_held_user_event_gone(cl_event event);

/* What a command is, as far as holding it is concerned. */
struct clv_held_command {
	struct clv_queue *queue;
	cl_uint n_waits;
	const cl_event *wait_list;
	uint64_t packed; /* 0: no work, a marker or a barrier */
	uint64_t kind;
	bool is_barrier; /* later commands of an out-of-order queue wait for it */
};

/* What keeps a command that would be submitted now: directly, through the events of other
 * commands, or through its queue. */
enum clv_held_by {
	CLV_HELD_BY_NOTHING,
	CLV_HELD_BY_GATE,
	CLV_HELD_BY_PROGRAM, /* a user event, and perhaps the gate too */
};
enum clv_held_by clv_held_look(const struct clv_held_command *command);

/* Takes the command into the line.  Work gets a turnstile: the vendor must be given what
 * then stands in command->n_waits and wait_list, which live until clv_held_enqueued.
 * NULL: it cannot be held (no memory, or arguments that the vendor will refuse). */
struct clv_held *clv_held_add(struct clv_held_command *command);

/* After the vendor's call: the command's event (a reference is taken over), or NULL where
 * the call failed, or it already was complete when that returned. */
void clv_held_enqueued(struct clv_held *held, cl_event event);

/* The same where the vendor took the command and gave no event that can be kept: nobody
 * would know when it is complete, and so it goes at once, and is paid for. */
void clv_held_enqueued_blindly(struct clv_held *held);

/* Lets go what may go.  Returns whether work is left that only the gate keeps. */
bool clv_held_let_go(void);

/* How many records were looked at so far, for a test of how that grows. */
uint64_t clv_held_n_steps(void);

void clv_held_forget_parent(void);
