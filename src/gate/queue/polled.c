/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that stand still.  A stream waits for a word in memory, or for a function of the
 * program's to return; what is behind that does not run, and the program may need a turn
 * of its lease before it lets it go on.  Such work is not in flight: it is parked, so
 * that the lease drains without it.  When the stream goes on it is in flight again, at
 * once and whoever's turn it is, and is paid for.
 *
 * The oldest marker may be one that does not come.  So while anything may stand, the
 * helper looks at all markers again and again in place of waiting for one. */
#include "gate/queue/polled.h"

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

/* A stream that stands for less is on its way. */
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
	if (!clv_polled_are_meant())
		return 0;
	if (CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0)
		return POLL_NS;
	return atomic_load(&clv_parked.n_standing) > 0 ? PARKED_POLL_NS : 0;
}

static void leave(uint64_t packed)
{
	if (CLV_FLIGHT_COUNT(packed) > 0)
		clv_flight_leave(packed);
}

static void take_back_marker(struct clv_marker *marker)
{
	marker->is_parked = false;
	marker->since_ns = clv_clock_ns();
	atomic_fetch_add(&marker->queue->backlog.awaited, marker->packed);
	atomic_store(&marker->queue->backlog.progress_ns, marker->since_ns);
	clv_parked_enter_again(marker->packed);
}

/* With the queue's mark_lock held, as the next. */
static void let_go(struct clv_queue *queue)
{
	queue->stands_since_ns = 0;
	if (!atomic_load(&queue->stands))
		return;
	for (uint32_t i = 0; i < clv_parked.n_polled; i++) {
		if (polled.list[i].queue == queue && polled.list[i].is_parked)
			take_back_marker(&polled.list[i]);
	}
	clv_parked_take_back(queue);
	queue->let_go_in_look = polled.n_looks;
}

/* Also what has come since the last time. */
static void park(struct clv_queue *queue)
{
	uint64_t packed;

	if (!atomic_exchange(&queue->stands, 1))
		atomic_fetch_add(&clv_parked.n_standing, 1);
	atomic_store(&queue->quick_limit, 0);
	for (uint32_t i = 0; i < clv_parked.n_polled; i++) {
		struct clv_marker *marker = &polled.list[i];

		if (marker->queue != queue || marker->is_parked ||
			ops()->is_complete(queue, marker->event))
			continue;
		marker->is_parked = true;
		atomic_fetch_sub(&queue->backlog.awaited, marker->packed);
		leave(marker->packed);
	}
	packed = atomic_exchange(&queue->backlog.unmarked, 0);
	atomic_fetch_add(&queue->parked, packed);
	leave(packed);
}

static void look_at_unreleased(struct clv_queue *queue)
{
	bool went_on = false, stands = ops()->stands(queue, &went_on);
	uint64_t now_ns = clv_clock_ns();

	if (!stands || went_on)
		let_go(queue);
	if (!stands)
		return;
	if (queue->stands_since_ns == 0)
		queue->stands_since_ns = now_ns;
	if (now_ns - queue->stands_since_ns >= PATIENCE_NS)
		park(queue);
}

static void look_at(struct clv_queue *queue)
{
	pthread_mutex_lock(&queue->mark_lock);
	if (!atomic_load(&queue->released))
		look_at_unreleased(queue);
	pthread_mutex_unlock(&queue->mark_lock);
	if (queue->let_go_in_look == polled.n_looks)
		clv_queue_mark(queue);
}

static void look_at_queues(void)
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	while ((queue = clv_table_next(&walk)))
		look_at(queue);
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

/* For those that find no memory there is the next look. */
static void take_markers(void)
{
	while (make_room() && clv_marker_pop(&polled.list[clv_parked.n_polled]))
		atomic_fetch_add(&clv_parked.n_polled, 1);
}

/* What was let go in this look may have been running for as long as nobody looked: it
 * counts until the next one. */
static bool is_to_keep(struct clv_marker *marker)
{
	struct clv_queue *queue = marker->queue;

	if (marker->is_parked && atomic_load(&queue->released))
		take_back_marker(marker);
	if (queue->let_go_in_look == polled.n_looks ||
		queue->busy_in_look == polled.n_looks)
		return true;
	if (ops()->is_complete(queue, marker->event))
		return false;
	queue->busy_in_look = polled.n_looks;
	return true;
}

static bool book_complete(void)
{
	uint32_t n_before = clv_parked.n_polled, n_kept = 0;

	for (uint32_t i = 0; i < n_before; i++) {
		if (is_to_keep(&polled.list[i]))
			polled.list[n_kept++] = polled.list[i];
		else
			clv_marker_book(&polled.list[i]);
	}
	atomic_store(&clv_parked.n_polled, n_kept);
	return n_kept < n_before;
}

static bool look(void)
{
	polled.n_looks++;
	take_markers();
	look_at_queues();
	return book_complete();
}

bool clv_queues_wait_for_marker(void)
{
	return clv_polled_are_meant() ? look() : clv_queues_wait_for_oldest();
}

void clv_queues_forget_parent(void)
{
	memset(&polled, 0, sizeof(polled));
	clv_parked = (struct clv_parked){0};
	clv_queues_forget();
}
