/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The commands' own events of an out-of-order queue, which replace markers there.  A
 * marker in such a queue depends on everything that is pending in it, so markers among
 * many commands cost the driver time that grows with the square of their number.  The
 * cost of an event does not depend on what else is pending.
 *
 * Events are stored in batches of a fixed pool, so a submission allocates nothing. */
struct clv_event_batch;

/* The events of the commands since the last marker. */
struct clv_event_list {
	pthread_mutex_t lock;
	struct clv_event_batch *first, *last;
	uint64_t n_added, n_taken;
	_Atomic uint32_t n_kept; /* references of the list and its markers, less one per
				  * marker */
	/* Some command has no event, so only a marker shows that it is complete. */
	_Atomic uint32_t has_gap;
};

void clv_event_list_begin(struct clv_event_list *list);

static inline void clv_event_list_note_gap(struct clv_event_list *list)
{
	atomic_store(&list->has_gap, 1);
}

/* To be called before the command is booked.  Takes over a reference. */
void clv_event_list_add(struct clv_event_list *list, cl_event event);

/* The number of events that were ever added. */
uint64_t clv_event_list_count(struct clv_event_list *list);

/* Releases the events before that count, whose commands are complete. */
void clv_event_list_drop(struct clv_event_list *list, uint64_t before);

/* Takes all events as one marker.  NULL: there are none. */
void *clv_event_list_take(struct clv_event_list *list);

/* For a marker of the list, or a single event.  False: a wait failed, and nothing is
 * known. */
bool clv_event_marker_wait(const void *marker);
bool clv_event_marker_is_complete(const void *marker);
void clv_event_marker_release(struct clv_event_list *list, void *marker);

void clv_events_forget_parent(void);
