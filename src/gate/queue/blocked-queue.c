/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked queues.  A stream may wait for a word in memory, or for a function of the
 * program to return; what is behind that wait does not run, and the program may need a
 * turn of its lease before it lets the stream continue.  Such work is not in flight: it
 * is parked, so that the lease drains without it.  When the stream continues the work is
 * in flight again, at once and whichever lease has the turn, and is charged.
 *
 * The oldest marker may be one that does not complete.  So while any queue may be
 * blocked, the helper polls all markers instead of waiting for one. */
#include "gate/queue/blocked-queue.h"

#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/queue/markers.h"
#include "gate/queue/parked.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/window/flight.h"

#include <stdlib.h>
#include <string.h>

/* A stream that is blocked for less is counted as in flight. */
#define PATIENCE_NS (2 * CLV_NS_PER_MS)
#define POLL_NS (100 * CLV_NS_PER_US)
#define PARKED_POLL_NS (500 * CLV_NS_PER_US)

static struct {
	struct clv_marker *list;
	uint32_t size;
	uint32_t n_looks;
} polled;

static const struct clv_queue_ops *ops(void)
{
	return clv_gate.api->queues;
}

uint64_t clv_queues_poll_ns(void)
{
	if (!clv_markers_must_poll())
		return 0;
	if (CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0)
		return POLL_NS;
	return atomic_load(&clv_parked.n_standing) > 0 ? PARKED_POLL_NS : 0;
}

static void leave_flight(uint64_t packed)
{
	if (CLV_FLIGHT_COUNT(packed) > 0)
		clv_flight_leave(packed);
}

static void take_back_marker(struct clv_marker *marker)
{
	marker->is_parked = false;
	marker->since_ns = clv_clock_ns();
	clv_backlog_await(&marker->queue->backlog, marker->packed);
	atomic_store(&marker->queue->backlog.progress_ns, marker->since_ns);
	clv_parked_resume(marker->packed);
}

/* With the queue's mark_lock held, as park(): the work of a queue that has continued is
 * in flight again. */
static void resume(struct clv_queue *queue)
{
	queue->blocked_since_ns = 0;
	if (!atomic_load(&queue->is_blocked))
		return;
	for (uint32_t i = 0; i < clv_parked.n_polled; i++) {
		if (polled.list[i].queue == queue && polled.list[i].is_parked)
			take_back_marker(&polled.list[i]);
	}
	clv_parked_take_back(queue);
	queue->resumed_in_poll = polled.n_looks;
}

/* Parks the work of a blocked queue, also what was submitted since the last call. */
static void park(struct clv_queue *queue)
{
	uint64_t packed;

	if (!atomic_exchange(&queue->is_blocked, 1))
		atomic_fetch_add(&clv_parked.n_standing, 1);
	atomic_store(&queue->quick_limit, 0);
	for (uint32_t i = 0; i < clv_parked.n_polled; i++) {
		struct clv_marker *marker = &polled.list[i];

		if (marker->queue != queue || marker->is_parked ||
			ops()->is_complete(queue, marker->event))
			continue;
		marker->is_parked = true;
		atomic_fetch_sub(&queue->backlog.awaited, marker->packed);
		leave_flight(marker->packed);
	}
	packed = atomic_exchange(&queue->backlog.unmarked, 0);
	atomic_fetch_add(&queue->parked, packed);
	leave_flight(packed);
}

static void poll_unreleased(struct clv_queue *queue)
{
	bool went_on = false, is_blocked = ops()->is_blocked(queue, &went_on);
	uint64_t now_ns = clv_clock_ns();

	if (!is_blocked || went_on)
		resume(queue);
	if (!is_blocked)
		return;
	if (queue->blocked_since_ns == 0)
		queue->blocked_since_ns = now_ns;
	if (now_ns - queue->blocked_since_ns >= PATIENCE_NS)
		park(queue);
}

static void poll_queue(struct clv_queue *queue)
{
	pthread_mutex_lock(&queue->mark_lock);
	if (!atomic_load(&queue->released))
		poll_unreleased(queue);
	pthread_mutex_unlock(&queue->mark_lock);
	if (queue->resumed_in_poll == polled.n_looks && !clv_queue_may_block(queue))
		clv_queue_mark(queue);
}

static void poll_queues(void)
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	while ((queue = clv_table_next(&walk)))
		poll_queue(queue);
}

static bool make_room(void)
{
	uint32_t size = polled.size > 0 ? 2 * polled.size : CLV_MARKERS_MANY;
	struct clv_marker *list;

	if (clv_parked.n_polled < polled.size)
		return true;
	list = realloc(polled.list, size * sizeof(*list));
	if (!list)
		return false;
	polled.list = list;
	polled.size = size;
	return true;
}

/* Markers for which there is no memory stay in the ring until the next poll. */
static void take_markers(void)
{
	while (make_room() && clv_marker_pop(&polled.list[clv_parked.n_polled]))
		atomic_fetch_add(&clv_parked.n_polled, 1);
}

/* Whether a marker stays in the list.  Work of a queue that was found to have continued
 * in this poll may have been running since the last one: it counts until the next. */
static bool must_keep(struct clv_marker *marker)
{
	struct clv_queue *queue = marker->queue;

	if (marker->is_parked && atomic_load(&queue->released))
		take_back_marker(marker);
	if (queue->resumed_in_poll == polled.n_looks ||
		queue->busy_in_poll == polled.n_looks)
		return true;
	if (ops()->is_complete(queue, marker->event))
		return false;
	queue->busy_in_poll = polled.n_looks;
	return true;
}

static bool book_complete(void)
{
	uint32_t n_before = clv_parked.n_polled, n_kept = 0;

	for (uint32_t i = 0; i < n_before; i++) {
		if (must_keep(&polled.list[i]))
			polled.list[n_kept++] = polled.list[i];
		else
			clv_marker_book(&polled.list[i]);
	}
	atomic_store(&clv_parked.n_polled, n_kept);
	return n_kept < n_before;
}

static bool poll_all(void)
{
	polled.n_looks++;
	take_markers();
	poll_queues();
	return book_complete();
}

bool clv_queues_wait_for_marker(void)
{
	return clv_markers_must_poll() ? poll_all() : clv_queues_wait_for_oldest();
}

void clv_queues_forget_parent(void)
{
	memset(&polled, 0, sizeof(polled));
	clv_parked = (struct clv_parked){0};
	clv_queues_forget();
}
