/* SPDX-License-Identifier: Apache-2.0 */
/* Complete markers: waits for them, books their work as no longer in flight, and hands
 * work without a marker to a program that itself waits for it. */
#include "gate/process/packed.h"
#include "gate/process/view.h"
#include "gate/queue/custody.h"
#include "gate/queue/markers.h"
#include "gate/queue/parked.h"
#include "gate/queue/queues-internal.h"
#include "gate/queue/queues.h"
#include "gate/queue/samples.h"
#include "gate/queue/table.h"
#include "gate/window/costs.h"
#include "gate/window/helper.h"

#include <stdlib.h>

/* When the last marker is complete, the tail behind it gets one at once if another lease
 * may be waiting for this process to drain, if it fills a marker, or if one was left
 * out. */
static void mark_if_contended(struct clv_queue *queue)
{
	const struct clv_view *view = clv_gate_current_view();
	enum clv_phase phase;

	if (!view || clv_queue_may_block(queue))
		return;
	phase = CLV_PHASE_OF(atomic_load(&view->control->phase));
	if (phase == CLV_PHASE_CLOSED || atomic_load(&queue->wants_marker) ||
		clv_flight_fills_marker(view, atomic_load(&queue->backlog.unmarked)) ||
		(phase == CLV_PHASE_GRANTED && !atomic_load(&queue->sync_style) &&
			!clv_flight_end_is_known() && clv_flight_may_mark_tail()))
		clv_queue_mark(queue);
}

/* Removes completed commands from those of unknown duration.  Each of these has a marker
 * of its own, as far as possible, so a batch of several kinds mostly has one of them. */
static void leave_unknown(struct clv_queue *queue, uint64_t packed, bool is_mixed)
{
	uint32_t n = CLV_FLIGHT_NS(packed) == 0 ? (uint32_t)CLV_FLIGHT_COUNT(packed)
						: is_mixed;
	uint32_t before = atomic_load(&queue->backlog.n_unknown);

	while (n > 0 && !atomic_compare_exchange_weak(&queue->backlog.n_unknown, &before,
				before > n ? before - n : 0))
		;
}

/* Books complete work that was in flight. */
static void book(struct clv_queue *queue, const struct clv_marker *done)
{
	uint64_t now_ns = done->done_ns ? done->done_ns : clv_clock_ns();

	clv_samples_learn(queue, done, now_ns);
	atomic_store(&queue->backlog.progress_ns, now_ns);
	atomic_fetch_sub(&queue->backlog.awaited, done->packed);
	leave_unknown(queue, done->packed, done->is_mixed);
	if (CLV_FLIGHT_COUNT(clv_backlog_in_flight(&queue->backlog)) == 0) {
		atomic_store(&queue->backlog.longest_ns, 0);
		clv_samples_drop(queue);
	}
}

void clv_marker_book(const struct clv_marker *marker)
{
	struct clv_queue *queue = marker->queue;

	clv_gate.api->queues->release_event(queue, marker->event);
	clv_queue_others_done(queue, marker->n_others);
	if (!marker->is_parked)
		book(queue, marker);
	if (clv_queue_drop_marker(queue)) {
		if (CLV_FLIGHT_COUNT(atomic_load(&queue->backlog.unmarked)) == 0)
			atomic_store(&queue->quick_limit, 0);
		mark_if_contended(queue);
	}
	if (!marker->is_parked)
		clv_flight_leave(marker->packed);
	clv_table_unuse(queue);
}

/* The queue for whose marker the helper waits. */
static _Atomic(const struct clv_queue *) waited_for;

/* A wait that is shorter found the marker complete. */
#define FOUND_COMPLETE_NS (20 * CLV_NS_PER_US)

bool clv_queues_wait_for_oldest(void)
{
	struct clv_marker marker;
	uint64_t before_ns;

	if (!clv_marker_pop(&marker))
		return false;

	if (marker.flush_first) {
		clv_queue_flush_others(marker.queue);
		clv_queue_flush(marker.queue);
	}
	atomic_store(&waited_for, marker.queue);
	before_ns = clv_clock_ns();
	clv_gate.api->queues->wait_for_event(marker.queue, marker.event);
	marker.done_ns = clv_clock_ns();
	marker.is_late = marker.done_ns - before_ns < FOUND_COMPLETE_NS;
	marker.alone_ns = marker.done_ns - before_ns;
	atomic_store(&waited_for, NULL);
	clv_marker_book(&marker);
	return true;
}

/* The most markers that are removed from the ring at once. */
#define TAKEN_MAX 16

/* The time at which these are booked is not that of their completion, so they update no
 * estimate. */
static void book_taken(struct clv_marker *taken, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		taken[i].kind = 0;
		taken[i].is_late = true;
		clv_marker_book(&taken[i]);
	}
}

static void book_before(const struct clv_queue *queue, uint64_t before)
{
	const struct clv_marker_filter filter = {.queue = queue, .before = before};
	struct clv_marker taken[TAKEN_MAX];
	size_t n;

	do {
		n = clv_markers_take(&filter, taken, TAKEN_MAX);
		book_taken(taken, n);
	} while (n == TAKEN_MAX);
}

/* Books markers that a thread found complete.  If it has just found the first of them
 * incomplete the time is that of the last one's completion. */
static void book_found(struct clv_marker *found, size_t n, bool is_sharp)
{
	for (size_t i = 0; i < n; i++) {
		found[i].is_late = !is_sharp || i + 1 < n;
		clv_marker_book(&found[i]);
	}
}

/* Twice as long as between the looks of a thread that waits for room. */
#define SHARP_LOOK_NS (500 * CLV_NS_PER_US)

bool clv_queues_look_aside(struct clv_backlog *backlog)
{
	struct clv_queue *queue = backlog ? clv_queue_of_backlog(backlog) : NULL;
	const struct clv_queue *other = atomic_load(&waited_for);
	struct clv_marker_filter filter = {.queue = queue, .before = UINT64_MAX};
	struct clv_marker found[TAKEN_MAX], marker;
	bool is_incomplete = false, is_sharp;
	size_t n = 0;

	if (!queue || !other || other == queue ||
		!clv_gate.api->queues->is_complete_aside)
		return false;
	is_sharp = clv_clock_ns() - atomic_load(&queue->looked_ns) < SHARP_LOOK_NS;
	while (n < TAKEN_MAX && !is_incomplete &&
		clv_markers_take(&filter, &marker, 1) > 0) {
		is_incomplete =
			!clv_gate.api->queues->is_complete_aside(queue, marker.event) &&
			clv_markers_put_first(&marker);
		if (!is_incomplete)
			found[n++] = marker;
	}
	atomic_store(&queue->looked_ns, is_incomplete ? clv_clock_ns() : 0);
	book_found(found, n, is_sharp);
	return is_incomplete || n == TAKEN_MAX;
}

void clv_queues_drain_context(const void *context)
{
	/* Other threads may continue to submit. */
	const struct clv_marker_filter filter = {
		.context = context, .before = clv_markers_serial()};
	struct clv_marker marker;

	while (clv_markers_take(&filter, &marker, 1) > 0) {
		clv_gate.api->queues->wait_for_event(marker.queue, marker.event);
		book_taken(&marker, 1);
	}
}

struct clv_custody clv_custody_take(struct clv_queue *queue)
{
	struct clv_custody custody = {0};

	/* The queue may be released while the program waits for one of its events. */
	if (!queue || !clv_table_try_use(queue))
		return custody;
	custody.queue = queue;
	custody.n_others = atomic_load(&queue->n_others);
	if (atomic_load(&queue->n_markers) > 0)
		custody.before = clv_markers_serial();
	/* The call that waits flushes. */
	atomic_store(&queue->unflushed, 0);
	if (atomic_load(&queue->n_held) > 0)
		return custody;
	/* A queue may be blocked and the wait take arbitrarily long: then a marker is
	 * needed. */
	if (clv_markers_must_poll()) {
		clv_queue_mark(queue);
		return custody;
	}
	atomic_store(&queue->quick_limit, 0);
	custody.packed = clv_queue_take_unmarked(queue);
	custody.since_ns = atomic_load(&queue->unmarked_since_ns);
	custody.kind = atomic_exchange(&queue->unmarked_kind, 0);
	return custody;
}

void clv_custody_book(const struct clv_custody *custody)
{
	struct clv_queue *queue = custody->queue;

	if (!queue)
		return;
	clv_queue_others_done(queue, custody->n_others);
	atomic_store_explicit(&queue->sync_style, 1, memory_order_relaxed);
	if (CLV_FLIGHT_COUNT(custody->packed) > 0) {
		/* Work behind incomplete markers did not begin when it was submitted, so
		 * its time is not learned. */
		const struct clv_marker done = {
			.packed = custody->packed,
			.since_ns = custody->since_ns,
			.kind = custody->before > 0 ? 0 : custody->kind,
			.is_mixed = custody->kind == CLV_COST_MIXED,
		};

		book(queue, &done);
		clv_flight_leave(custody->packed);
	}
	if (custody->before > 0)
		book_before(queue, custody->before);
	clv_table_unuse(queue);
}

void clv_custody_return(const struct clv_custody *custody)
{
	struct clv_queue *queue = custody->queue;

	if (!queue)
		return;
	if (CLV_FLIGHT_COUNT(custody->packed) > 0)
		clv_queue_put_back_unmarked(queue, custody->packed);
	clv_table_unuse(queue);
}

void clv_queues_forget(void)
{
	atomic_store(&waited_for, NULL);
	clv_markers_forget();
	clv_table_forget();
}
