/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Markers of a context's legacy stream.  The legacy stream and every blocking stream of
 * the context wait for each other in the order of submission.  So an event that the gate
 * records in the legacy stream some time after the program's command makes streams wait
 * for each other that the program left independent, and may close a cycle.
 *
 * So where a blocking stream exists the event is recorded in a blocking stream of the
 * gate's own, which has nothing but such events.  It waits for what the legacy stream has
 * by then.  Only the legacy stream waits for it, and its own order would make it wait for
 * the same work anyway.  So the event adds no dependency, whenever it is recorded.  Where
 * no blocking stream exists the event is recorded in the legacy stream, and the call that
 * creates the first one returns when no event is being recorded there.
 *
 * A thread's own default stream is a blocking one that no call creates.  It counts from
 * the first command on that may keep it waiting for another stream; others (an event
 * recorded in it, a word written) wait for nothing but the legacy stream itself.  Any
 * thread. */

/* The state of one context; never freed. */
struct clv_legacy {
	struct clv_legacy *next;
	void *context;
	_Atomic uint32_t has_blocking; /* a blocking stream has been created, or used */
	/* Threads that are recording an event in the legacy stream. */
	_Atomic uint32_t n_marking;
	_Atomic uint32_t has_waited; /* a thread has waited in vain for these */
	_Atomic(void *) aside;       /* the gate's own stream; NULL: not created yet */
	_Atomic uint32_t n_events; /* events of the gate, in any stream of the context */
	/* About to be destroyed, and all its work is complete. */
	_Atomic uint32_t is_drained;
};

/* Finds or creates the state of a context.  NULL: no memory. */
struct clv_legacy *clv_legacy_of(void *context);

/* The gate's own stream of a context which ends without it, for the caller to destroy.
 * NULL: there is none. */
void *clv_legacy_take_aside(const void *context);

/* The context was destroyed; a new one may get its address. */
void clv_legacy_forget(const void *context);
void clv_legacy_forget_parent(void);

/* Records an event of the gate behind what the legacy stream of the current context has.
 * legacy: the context's state, or NULL.  Returns the driver's result. */
int clv_legacy_record(struct clv_legacy *legacy, void *event);

/* Call before the driver's call that submits to a blocking stream. */
void clv_legacy_submit_blocking(struct clv_legacy *legacy);

/* The current context has a blocking stream. */
void clv_legacy_note_blocking(void);

/* Call with the result of the call that creates a stream, before the program gets it;
 * returns the result. */
int clv_legacy_note_created(int result, bool is_blocking);

/* Call before an uncounted command that may make the stream wait for another one. */
void clv_legacy_before_wait(const void *stream, bool is_per_thread);
