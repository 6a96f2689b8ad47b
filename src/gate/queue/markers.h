/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"

/* The ring of markers: queues.c places them and waits for the oldest, polled.c looks at
 * all of them while that one may not come. */

/* So many wait at once mostly.  Behind them only commands get one that cannot get it
 * later; all others wait until there are fewer. */
#define CLV_MARKERS_MANY 512

struct clv_marker {
	void *event;
	struct clv_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
	uint64_t serial; /* in the order in which they were placed */
	bool flush_first;
	bool is_parked; /* behind where its queue stands: not in flight */
};

/* False: there is no memory. */
bool clv_markers_push(const struct clv_marker *marker);

/* The oldest that is waiting to be waited for. */
bool clv_marker_pop(struct clv_marker *ret);

/* Takes out those before a serial, of one queue (NULL: any) or of the queues of one
 * context (NULL: any), oldest first and at most so many.  Returns how many. */
struct clv_marker_filter {
	const struct clv_queue *queue;
	const void *context;
	uint64_t before;
};
size_t clv_markers_take(
	const struct clv_marker_filter *filter, struct clv_marker *ret, size_t most);
/* One that was taken out, back.  False: there is no memory. */
bool clv_markers_put_first(const struct clv_marker *marker);

/* Of the next one that is placed. */
uint64_t clv_markers_serial(void);
uint32_t clv_markers_n(void);
void clv_markers_forget(void);
