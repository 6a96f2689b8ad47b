/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Markers in a context's legacy stream.  The legacy stream and every blocking stream of
 * the context wait for each other in the order of submission, so an event that the gate
 * records in the legacy stream some time after the program's command there makes streams
 * wait for each other that the program left independent, and may close a circle.
 * Directly behind the command the event adds nothing: whatever waits for it waits for the
 * command anyway.  So wherever a blocking stream is in use each command of the legacy
 * stream gets its marker with its submission, and meanwhile no other thread's command for
 * a blocking stream comes between the two.  Any thread. */

struct clv_queue;

/* Of one context; never freed. */
struct clv_legacy {
	struct clv_legacy *next;
	void *context;
	_Atomic uint32_t has_blocking; /* a blocking stream has been used */
	_Atomic uint32_t is_used;      /* the legacy stream has been used */
	_Atomic uint32_t n_marking;    /* threads between a command and its marker */
	_Atomic uint32_t n_events;     /* of the gate's, in any of its streams */
	_Atomic uint32_t is_drained;   /* it is about to go, and all of it is complete */
};

/* NULL: there is no memory. */
struct clv_legacy *clv_legacy_of(void *context);

/* The context has gone; another may get its address. */
void clv_legacy_forget(const void *context);
void clv_legacy_forget_parent(void);

/* Around the driver's call that submits to the legacy stream, and the marker behind it.
 * Whether clv_legacy_marked() is due. */
bool clv_legacy_submit(struct clv_legacy *legacy);
void clv_legacy_marked(struct clv_legacy *legacy);

/* Before the driver's call that submits to a blocking stream. */
void clv_legacy_submit_blocking(struct clv_legacy *legacy);
