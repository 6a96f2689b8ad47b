/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"

/* The ring of markers: queues.c places them and waits for the oldest; blocked-queue.c
 * polls all of them while the oldest may not complete.  Any thread. */

/* The usual limit of markers that wait at once.  Beyond it only commands that cannot get
 * a marker later get one. */
#define CLV_MARKERS_MANY 512

struct clv_marker {
	void *event;
	struct clv_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
	uint64_t serial;   /* order of placement */
	uint64_t n_others; /* the queue's n_others before it */
	uint64_t done_ns;  /* when it was seen complete; 0: when it is booked */
	uint64_t alone_ns; /* for so long it alone was waited for; 0: not known */
	bool flush_first;
	bool is_mixed; /* its commands are of several kinds */
	bool is_late; /* it was complete for an unknown time when the helper came to it */
	bool is_parked; /* its queue is blocked before it: not in flight */
};

/* Appends a marker and sets its serial.  False: no memory. */
bool clv_markers_push(const struct clv_marker *marker);

/* Removes the oldest marker.  False: there is none. */
bool clv_marker_pop(struct clv_marker *ret);

/* Removes markers before a serial, of one queue (NULL: any) or of the queues of one
 * context (NULL: any), oldest first and at most `most`. Returns how many. */
struct clv_marker_filter {
	const struct clv_queue *queue;
	const void *context;
	uint64_t before;
};
size_t clv_markers_take(
	const struct clv_marker_filter *filter, struct clv_marker *ret, size_t most);
/* Puts a removed marker back at the front.  False: no memory. */
bool clv_markers_put_first(const struct clv_marker *marker);

/* The serial of the next marker. */
uint64_t clv_markers_serial(void);
/* How many markers are in the ring. */
uint32_t clv_markers_n(void);
void clv_markers_forget(void);
