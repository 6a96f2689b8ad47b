/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_queue;

/* The program itself waits until everything submitted so far is complete, so that work
 * needs no marker.  Take before the wait; then book or return, once, where the custody
 * has a queue.  It is a user of the queue's record until then. */
struct clv_custody {
	struct clv_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
	/* Markers before this serial are complete after the wait as well; 0: none is
	 * out. */
	uint64_t before;
	uint64_t n_others; /* the queue's before the wait */
};
struct clv_custody clv_custody_take(struct clv_queue *queue);
void clv_custody_book(const struct clv_custody *custody);

/* The wait failed: the work is unmarked again. */
void clv_custody_return(const struct clv_custody *custody);
