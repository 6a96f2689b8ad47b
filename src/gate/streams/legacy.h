/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Markers of a context's legacy stream.  The legacy stream and every blocking stream of
 * the context wait for each other in the order of submission, so an event that the gate
 * records in the legacy stream some time after the program's command there makes streams
 * wait for each other that the program left independent, and may close a circle.
 *
 * So where a blocking stream is in use the event goes into a blocking stream of the
 * gate's own, which has nothing but such events.  It waits for what the legacy stream has
 * by then; only the legacy stream waits for it, which its own order would make wait
 * anyway; so whenever it comes, it adds nothing.  Where no blocking stream is in use the
 * event goes into the legacy stream, and the first command of a blocking stream waits
 * until none is on its way there.  Any thread. */

/* Of one context; never freed. */
struct clv_legacy {
	struct clv_legacy *next;
	void *context;
	_Atomic uint32_t has_blocking; /* a blocking stream has been used */
	_Atomic uint32_t n_marking;    /* threads that record an event in it */
	_Atomic(void *) aside;         /* the gate's own stream; NULL: not made yet */
	_Atomic uint32_t n_events;     /* of the gate's, in any of its streams */
	_Atomic uint32_t is_drained;   /* it is about to go, and all of it is complete */
};

/* NULL: there is no memory. */
struct clv_legacy *clv_legacy_of(void *context);

/* The context has gone; another may get its address. */
void clv_legacy_forget(const void *context);
void clv_legacy_forget_parent(void);

/* Before an event is recorded for the legacy stream.  True: in the legacy stream itself,
 * and clv_legacy_marked() is due afterwards; else in clv_legacy_aside(). */
bool clv_legacy_mark(struct clv_legacy *legacy);
void clv_legacy_marked(struct clv_legacy *legacy);

/* With the context current.  NULL: the driver refuses to make one. */
void *clv_legacy_aside(struct clv_legacy *legacy);

/* Before the driver's call that submits to a blocking stream. */
void clv_legacy_submit_blocking(struct clv_legacy *legacy);
