/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queues.h"

/* Markers, between the two that have them: queues.c places them and waits for the oldest,
 * polled.c looks at all of them while that one may not come. */

#define CLV_MARKERS_MAX 1024

struct clv_marker {
	void *event;
	struct clv_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
	bool flush_first;
	bool is_parked; /* behind where its queue stands: not in flight */
};

/* The oldest that is waiting to be waited for. */
bool clv_marker_pop(struct clv_marker *ret);

/* It is complete. */
void clv_marker_book(const struct clv_marker *marker);

/* The helper's, but for the first and the last. */
uint32_t clv_polled_n(void);
bool clv_polled_are_meant(void);
bool clv_polled_look(void);
void clv_polled_forget(void);

/* With the queue's mark_lock held: what has no marker is in flight again. */
void clv_polled_take_back(struct clv_queue *queue);
