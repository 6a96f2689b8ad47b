/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/window/flight.h"

#include <stdint.h>

/* Parts of queues.c, which places markers, that completion.c uses to book complete ones.
 * Any thread. */

/* Takes the unmarked work: it gets a marker now, or a thread waits for it. */
static inline uint64_t clv_queue_take_unmarked(struct clv_queue *queue)
{
	uint64_t packed = atomic_exchange(&queue->backlog.unmarked, 0);

	clv_backlog_await(&queue->backlog, packed);
	return packed;
}

/* Undoes it, for a queue that may have been released meanwhile: no later marker covers
 * its work then. */
void clv_queue_put_back_unmarked(struct clv_queue *queue, uint64_t packed);

/* A marker of the queue is booked.  Returns whether it was the last. */
static inline bool clv_queue_drop_marker(struct clv_queue *queue)
{
	if (atomic_fetch_sub(&queue->n_markers, 1) != 1)
		return false;
	atomic_fetch_sub(&clv_gate.n_busy_queues, 1);
	return true;
}

/* Flushes the queue, unless a callback on this thread runs inside the vendor's call for a
 * marker of it. */
void clv_queue_flush(struct clv_queue *queue);
/* Flushes all other queues that have unflushed commands. */
void clv_queue_flush_others(struct clv_queue *marked);
