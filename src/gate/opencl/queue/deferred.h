/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clv_queue;
struct clv_deferred;

/* Held commands: the driver has them and they must not run yet.  They are behind a user
 * event that the program has not set, or held by the gate because the submitting thread
 * must not wait (in a callback).  Such a command is neither in flight nor in the window.
 * Its wait list has one event more, the turnstile, which the gate sets when nothing of
 * the program's keeps the command any longer and the turn has come: by the same rules as
 * any submission.
 *
 * Held commands are let go in the order in which they came, so that no command in flight
 * waits for one that is held. */

/* Whether any user event is unset or any command held: if not, nothing depends on one. */
extern _Atomic uint32_t clv_deferred_n __attribute__((visibility("hidden")));
static inline bool clv_deferred_any(void)
{
	return atomic_load_explicit(&clv_deferred_n, memory_order_relaxed) > 0;
}

void clv_deferred_user_event_created(cl_event event);

/* Before and after the driver's call that sets an event: during it the program may
 * release the event, in a callback too, and another one may get its handle.  Commands
 * that wait for the event are held until the call has returned. */
struct keeper;
struct clv_deferred_setting {
	struct keeper *keeper; /* NULL: no unset user event */
};
struct clv_deferred_setting clv_deferred_user_event_begin_set(cl_event event);
void clv_deferred_user_event_end_set(struct clv_deferred_setting setting, bool is_set);

/* After the driver's call that retains any event.  The gate counts the program's
 * references, because the driver's count does not tell which release is the last: two
 * threads that release at once both read two. */
void clv_deferred_user_event_retained(cl_event event);

/* Before and after the driver's call that releases any event.  With the last reference
 * nothing can set the event, what waits for it waits for ever, and another event may get
 * the handle while the driver's call has not returned.  is_released: the driver did not
 * refuse. */
struct clv_deferred_releasing {
	cl_event event;
	struct keeper *keeper; /* of the last reference to an unset user event, or NULL */
	bool is_counted;
};
struct clv_deferred_releasing clv_deferred_user_event_begin_release(cl_event event);
void clv_deferred_user_event_end_release(
	struct clv_deferred_releasing releasing, bool is_released);

/* A command, as far as holding it is concerned. */
struct clv_deferred_command {
	struct clv_queue *queue;
	cl_uint n_waits;
	const cl_event *wait_list;
	uint64_t packed; /* 0: no work, a marker or a barrier */
	uint64_t kind;
	bool is_barrier; /* later commands of an out-of-order queue wait for it */
};

/* What keeps a command that is submitted now: directly, by the events of other commands,
 * or by its queue. */
enum clv_deferred_by {
	CLV_HELD_BY_NOTHING,
	CLV_HELD_BY_GATE,
	CLV_HELD_BY_PROGRAM, /* a user event, and perhaps the gate too */
};
enum clv_deferred_by clv_deferred_find_keeper_kind(
	const struct clv_deferred_command *command);

/* Adds the command to the line.  Work gets a turnstile: the driver must be called with
 * command->n_waits and wait_list as they are afterwards, and they live until
 * clv_deferred_enqueued().  NULL: the command cannot be held (no memory, or arguments
 * that the driver will refuse). */
struct clv_deferred *clv_deferred_add(struct clv_deferred_command *command);

/* After the driver's call: the command's event (a reference is taken over), or NULL if
 * the call failed, or the command was complete when it returned. */
void clv_deferred_enqueued(struct clv_deferred *held, cl_event event);

/* The same if the driver accepted the command and gave no event that can be kept.  Its
 * completion could not be observed, so it is let go at once and charged. */
void clv_deferred_enqueued_without_event(struct clv_deferred *held);

/* Lets go the commands that may run now.  True: work is left that only the gate keeps. */
bool clv_deferred_release(void);

/* The number of records visited so far, for a test of how it grows. */
uint64_t clv_deferred_n_steps(void);

void clv_deferred_forget_parent(void);
