/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The commands' own events of an out-of-order queue, in the place of markers.  A marker
 * of such a queue depends on everything that is pending in it, so that markers among many
 * commands cost the driver time that grows with the square of their number.  An event
 * costs the same whatever else is pending.
 *
 * The events lie in batches of a pool, so that a submission allocates nothing. */
struct clv_event_batch;

/* The events of the commands since the last marker. */
struct clv_event_list {
	pthread_mutex_t lock;
	struct clv_event_batch *first, *last;
	uint64_t n_added, n_taken;
	_Atomic uint32_t n_kept; /* of these and of markers, but for one of each marker */
	/* Of some command there is no event: only a marker tells of its end. */
	_Atomic uint32_t has_gap;
};

void clv_event_list_begin(struct clv_event_list *list);

static inline void clv_event_list_note_gap(struct clv_event_list *list)
{
	atomic_store(&list->has_gap, 1);
}

/* Before the command is booked.  Takes over a reference. */
void clv_event_list_add(struct clv_event_list *list, cl_event event);

/* How many were ever added. */
uint64_t clv_event_list_count(struct clv_event_list *list);

/* Releases the events before a count, whose commands are complete. */
void clv_event_list_drop(struct clv_event_list *list, uint64_t before);

/* All that are there, as one marker; NULL: there are none. */
void *clv_event_list_take(struct clv_event_list *list);

/* Of a marker, which may also be a plain event. */
void clv_event_marker_wait(const void *marker);
bool clv_event_marker_is_complete(const void *marker);
void clv_event_marker_release(struct clv_event_list *list, void *marker);

void clv_events_forget_parent(void);
