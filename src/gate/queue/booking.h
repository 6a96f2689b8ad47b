/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "gate/process/hot.h"
#include "gate/process/queue-record.h"
#include "gate/window/costs.h"

/* Records a queue's commands as they are submitted, inline. */

/* Before the vendor's call: records the kind of the commands without a marker. */
CLV_HOT void clv_queue_note_kind(struct clv_queue *queue, uint64_t kind)
{
	uint64_t before =
		atomic_load_explicit(&queue->unmarked_kind, memory_order_relaxed);

	if (CLV_UNLIKELY(before != kind))
		atomic_store_explicit(&queue->unmarked_kind,
			before ? CLV_COST_MIXED : kind, memory_order_relaxed);
}

/* Records the time of the first command since the last marker. */
CLV_HOT void clv_queue_note_first(struct clv_queue *queue)
{
	uint64_t now_ns = clv_clock_ns();

	atomic_store_explicit(&queue->unmarked_since_ns, now_ns, memory_order_relaxed);
	if (atomic_load_explicit(&queue->backlog.awaited, memory_order_relaxed) == 0)
		atomic_store_explicit(
			&queue->backlog.progress_ns, now_ns, memory_order_relaxed);
}

/* Before clv_queue_submitted(), for a command whose duration may be unknown.  The fast
 * path has none such. */
static inline void clv_queue_count_unknown(struct clv_queue *queue, uint64_t packed)
{
	if (CLV_FLIGHT_NS(packed) == 0)
		atomic_fetch_add(&queue->backlog.n_unknown, 1);
}

/* Books a command that the vendor accepted, with its event where it has one.  Returns all
 * that has no marker now. */
CLV_HOT uint64_t clv_queue_submitted(
	struct clv_queue *queue, const void *event, uint64_t packed)
{
	uint64_t before;

	/* First, so that a thread that takes this command into custody sees that it is
	 * the last. */
	atomic_store_explicit(&queue->tail_event, event, memory_order_relaxed);
	before = atomic_fetch_add(&queue->backlog.unmarked, packed);
	atomic_store_explicit(&queue->unflushed, 1, memory_order_relaxed);
	if (CLV_UNLIKELY(CLV_FLIGHT_COUNT(before) == 0))
		clv_queue_note_first(queue);
	return before + packed;
}
