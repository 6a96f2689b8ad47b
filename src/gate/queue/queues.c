/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, and when their commands get markers.  A marker is the gate's own event behind a
 * batch of the program's commands; it is followed by a flush where a driver does not
 * start unflushed work.  completion.c books the complete ones. */
#include "gate/queue/queues.h"

#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "gate/queue/booking.h"
#include "gate/queue/markers.h"
#include "gate/queue/parked.h"
#include "gate/queue/places.h"
#include "gate/queue/queues-internal.h"
#include "gate/queue/table.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static bool are_many_out(void)
{
	return clv_markers_n() + atomic_load(&clv_parked.n_polled) >= CLV_MARKERS_MANY;
}

void clv_queue_retain(const void *handle)
{
	struct clv_queue *queue = clv_queue_add(handle);

	if (queue)
		atomic_fetch_add(&queue->application_references, 1);
}

static void abandon(uint64_t packed)
{
	if (CLV_FLIGHT_COUNT(packed) > 0)
		clv_flight_leave(packed);
}

void clv_queue_put_back_unmarked(struct clv_queue *queue, uint64_t packed)
{
	clv_queue_note_kind(queue, CLV_COST_MIXED);
	atomic_fetch_add(&queue->backlog.unmarked, packed);
	atomic_fetch_sub(&queue->backlog.awaited, packed);
	if (atomic_load(&queue->released))
		abandon(atomic_exchange(&queue->backlog.unmarked, 0));
}

static void abandon_awaited(struct clv_queue *queue, uint64_t packed)
{
	atomic_fetch_sub(&queue->backlog.awaited, packed);
	abandon(packed);
}

/* The driver has the event, and there is no memory to record it: a later marker covers
 * this work too. */
static void forget_marker(struct clv_queue *queue, const struct clv_marker *marker)
{
	clv_gate.api->queues->release_event(queue, marker->event);
	if (clv_gate.api->queues->unmark)
		clv_gate.api->queues->unmark(queue);
	clv_queue_put_back_unmarked(queue, marker->packed);
}

/* A callback inside the vendor's call for a marker may have released the queue. */
static void flush_unlocked(struct clv_queue *queue)
{
	if (clv_gate.api->queues->flush && !atomic_load(&queue->released))
		clv_gate.api->queues->flush(queue);
}

/* Each marker is a user of the record until it is booked. */
static void add_marker(struct clv_queue *queue)
{
	clv_table_use(queue);
	if (atomic_fetch_add(&queue->n_markers, 1) == 0)
		atomic_fetch_add(&clv_gate.n_busy_queues, 1);
}

/* A driver that refuses a marker may accept the next one, which covers the same work.
 * After this many refusals the end of the queue's work is the marker.  Where that cannot
 * be awaited, a driver that never accepts a marker, as after a fault of the device, would
 * leave the lease busy for ever: then the work counts as complete. */
#define REFUSALS_MAX 16

/* With the queue's mark_lock held, as note_next() and place_marker().  NULL: refused. */
static void *make_marker(struct clv_queue *queue)
{
	const struct clv_queue_ops *ops = clv_gate.api->queues;
	void *event = ops->mark(queue);

	if (event)
		queue->n_refused = 0;
	else if (++queue->n_refused >= REFUSALS_MAX && ops->mark_end)
		event = ops->mark_end(queue);
	return event;
}

static void note_refused(struct clv_queue *queue, uint64_t packed)
{
	if (queue->n_refused < REFUSALS_MAX)
		clv_queue_put_back_unmarked(queue, packed);
	else
		abandon_awaited(queue, packed);
}

/* If markers are behind fewer commands, each long command has one: then all commands take
 * the slow path, so that each gets its marker. */
#define MANY_COMMANDS 4

/* Commands after a marker of many commands are mostly of the same kind, so kind and time
 * are set here and the fast path need not.  Otherwise the next command takes the slow
 * path, which sets its own. */
static void note_next(struct clv_queue *queue, uint64_t packed, uint64_t kind)
{
	uint64_t none = 0;

	if (kind == 0 || kind == CLV_COST_MIXED ||
		CLV_FLIGHT_COUNT(packed) < MANY_COMMANDS) {
		atomic_store(&queue->quick_limit, 0);
		return;
	}
	atomic_store(&queue->unmarked_since_ns, clv_clock_ns());
	atomic_compare_exchange_strong(&queue->unmarked_kind, &none, kind);
}

static bool place_marker(struct clv_queue *queue)
{
	struct clv_marker marker = {
		.queue = queue,
		.n_others = atomic_load(&queue->n_others),
		.packed = clv_queue_take_unmarked(queue),
		.since_ns = atomic_load(&queue->unmarked_since_ns),
		.kind = atomic_exchange(&queue->unmarked_kind, 0),
	};

	/* The caller has the queue's mark_lock. */
	assert(clv_gate_thread.n_marking > 0);
	marker.is_mixed = marker.kind == CLV_COST_MIXED;
	if (CLV_FLIGHT_COUNT(marker.packed) == 0)
		return false;
	marker.event = make_marker(queue);
	if (!marker.event) {
		note_refused(queue, marker.packed);
		return false;
	}
	atomic_store(&queue->wants_marker, 0);
	note_next(queue, marker.packed, marker.kind);
	add_marker(queue);
	atomic_store(&queue->unflushed, 0);
	if (!clv_markers_push(&marker)) {
		clv_queue_drop_marker(queue);
		forget_marker(queue, &marker);
		clv_table_unuse(queue);
		return false;
	}
	flush_unlocked(queue);
	return true;
}

static bool can_have_markers(const struct clv_queue *queue)
{
	const struct clv_queue_ops *ops = clv_gate.api->queues;

	return !atomic_load(&queue->released) && atomic_load(&queue->n_held) == 0 &&
	       !atomic_load(&queue->is_blocked) &&
	       (!ops->can_mark || ops->can_mark(queue));
}

static bool can_be_marked(const struct clv_queue *queue)
{
	return !are_many_out() && can_have_markers(queue);
}

/* A callback may run inside the vendor's calls below, on the thread that holds a queue's
 * lock. */
static bool lock_to_mark(struct clv_queue *queue)
{
	if (clv_gate_thread.n_marking == 0)
		pthread_mutex_lock(&queue->mark_lock);
	else if (pthread_mutex_trylock(&queue->mark_lock) != 0)
		return false;
	clv_gate_thread.n_marking++;
	return true;
}

static void unlock_marked(struct clv_queue *queue)
{
	assert(clv_gate_thread.n_marking > 0);
	clv_gate_thread.n_marking--;
	pthread_mutex_unlock(&queue->mark_lock);
}

void clv_queue_flush(struct clv_queue *queue)
{
	if (!lock_to_mark(queue))
		return;
	flush_unlocked(queue);
	unlock_marked(queue);
}

/* Whether no other queue has earlier commands: one that is new since then has none.  A
 * released queue is no longer in the table, from which it is removed after it is recorded
 * as released. */
static bool is_alone(struct clv_queue *queue)
{
	uint32_t n = clv_table_n();

	return n == 0 || (n == 1 && !atomic_load(&queue->released));
}

/* A command in queue B may wait for one in queue A that was never flushed; the marker
 * behind it would then never complete.  It can only wait for commands submitted earlier,
 * so flushing now is enough. */
void clv_queue_flush_others(struct clv_queue *marked)
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	if (!clv_gate.api->queues->flush || is_alone(marked))
		return;
	while ((queue = clv_table_next(&walk))) {
		if (queue != marked && atomic_exchange(&queue->unflushed, 0))
			clv_queue_flush(queue);
	}
}

static void follow_up(struct clv_queue *marked)
{
	clv_queue_flush_others(marked);
	clv_helper_start();
	clv_helper_wake();
}

static bool mark(struct clv_queue *queue, bool (*can_mark)(const struct clv_queue *queue))
{
	bool placed = false;

	if (!lock_to_mark(queue)) {
		clv_helper_start();
		clv_helper_wake();
		return false;
	}
	if (can_mark(queue))
		placed = place_marker(queue);
	unlock_marked(queue);
	if (placed)
		follow_up(queue);
	return placed;
}

bool clv_queue_mark(struct clv_queue *queue)
{
	return CLV_FLIGHT_COUNT(atomic_load(&queue->backlog.unmarked)) > 0 &&
	       mark(queue, can_be_marked);
}

bool clv_queue_mark_at_once(struct clv_queue *queue)
{
	return mark(queue, can_have_markers);
}

void clv_queue_mark_before(struct clv_queue *queue, uint64_t kind, uint64_t packed)
{
	if (CLV_FLIGHT_NS(packed) == 0 && kind != CLV_COST_MIXED &&
		!clv_queue_is_nearly_full(queue))
		clv_queue_mark(queue);
}

/* Before a release, and before a command is held.  Retries, because no later marker will
 * cover the work if the driver refuses this one. */
static bool place_last_marker(struct clv_queue *queue)
{
	for (int i = 0; i < REFUSALS_MAX && can_have_markers(queue); i++) {
		if (place_marker(queue))
			return true;
		if (CLV_FLIGHT_COUNT(atomic_load(&queue->backlog.unmarked)) == 0)
			break;
	}
	return false;
}

void clv_queue_hold(struct clv_queue *queue)
{
	bool locked = lock_to_mark(queue), placed = false;

	if (locked)
		placed = place_last_marker(queue);
	clv_queue_set_held(queue);
	clv_table_use(queue);
	atomic_fetch_add(&queue->n_held, 1);
	if (locked)
		unlock_marked(queue);
	if (placed)
		follow_up(queue);
}

void clv_queue_unhold(struct clv_queue *queue)
{
	if (atomic_fetch_sub(&queue->n_held, 1) == 1)
		clv_queue_mark(queue);
	clv_table_unuse(queue);
}

/* After this no thread uses the handle: after the program's release it may be invalid. */
void clv_queue_release(const void *handle)
{
	struct clv_queue *queue = clv_queue_find_known(handle);
	bool placed = false, is_locked, is_first;

	if (!queue || atomic_fetch_sub(&queue->application_references, 1) != 1)
		return;
	is_locked = pthread_mutex_lock(&queue->mark_lock) == 0;
	if (is_locked) {
		clv_gate_thread.n_marking++;
		clv_parked_take_back(queue);
		placed = place_last_marker(queue);
	} else {
		/* A callback runs inside the vendor's call for a marker of this queue.
		 * That call's thread, this one, uses the record afterwards, so the record
		 * is never reused. */
		clv_table_use(queue);
	}
	is_first = atomic_exchange(&queue->released, 1) == 0;
	abandon(atomic_exchange(&queue->backlog.unmarked, 0));
	if (is_locked)
		unlock_marked(queue);
	if (is_first && clv_gate.api->queues->end)
		clv_gate.api->queues->end(queue);
	if (placed) {
		clv_helper_start();
		clv_helper_wake();
	}
	if (is_first)
		clv_table_remove(queue);
}

void clv_queue_forget(struct clv_queue *queue)
{
	bool is_first;

	pthread_mutex_lock(&queue->mark_lock);
	clv_parked_take_back(queue);
	is_first = atomic_exchange(&queue->released, 1) == 0;
	abandon(atomic_exchange(&queue->backlog.unmarked, 0));
	pthread_mutex_unlock(&queue->mark_lock);
	if (is_first)
		clv_table_remove(queue);
}

/* Another thread that has the lock may be in a driver call that blocks. */
static enum clv_queue_rest ask_rest(struct clv_queue *queue)
{
	enum clv_queue_rest rest = CLV_QUEUE_BUSY;

	if (!clv_gate.api->queues->ask_rest)
		return atomic_load(&queue->n_markers) == 0 ? CLV_QUEUE_EMPTY
							   : CLV_QUEUE_BUSY;
	if (pthread_mutex_trylock(&queue->mark_lock) != 0)
		return CLV_QUEUE_BUSY;
	clv_gate_thread.n_marking++;
	if (!atomic_load(&queue->released))
		rest = clv_gate.api->queues->ask_rest(queue);
	unlock_marked(queue);
	return rest;
}

bool clv_queue_may_block(struct clv_queue *queue)
{
	uint32_t depth = clv_gate.api->queues->depth;
	uint64_t n_others = atomic_load(&queue->n_others);
	enum clv_queue_rest rest;

	if (depth == 0 || clv_queue_n_places(queue) < depth)
		return false;
	rest = ask_rest(queue);
	if (rest == CLV_QUEUE_EMPTY)
		clv_queue_others_done(queue, n_others);
	return rest == CLV_QUEUE_BUSY;
}

static bool mark_unless_full(
	struct clv_queue *queue, bool (*mark_it)(struct clv_queue *queue))
{
	if (!clv_queue_is_nearly_full(queue))
		return mark_it(queue);
	atomic_store(&queue->wants_marker, 1);
	/* The last one may have been booked before this wish was there to be seen. */
	return atomic_load(&queue->n_markers) == 0 && mark_it(queue);
}

bool clv_queue_mark_own(struct clv_queue *queue)
{
	return mark_unless_full(queue, clv_queue_mark);
}

bool clv_queues_mark_tails(bool lingering)
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;
	bool placed = false;

	while ((queue = clv_table_next(&walk))) {
		if (CLV_FLIGHT_COUNT(atomic_load(&queue->backlog.unmarked)) == 0 ||
			clv_queue_may_block(queue))
			continue;
		/* The program does not wait for its own work. */
		if (lingering)
			atomic_store(&queue->sync_style, 0);
		placed |= clv_queue_mark_own(queue);
	}
	return placed;
}

/* The most estimated time between two markers of the fast path; with the shortest
 * estimates it bounds the count. */
#define QUICK_NS_MAX (8 * CLV_NS_PER_MS)

/* The most of a queue's work that may be unmarked.  If the program waits for its work
 * itself, and no other lease for the device, its wait mostly comes before the window is
 * full: then no marker is needed, and otherwise the last eighth of the window is left for
 * the helper's wake-up. */
static uint64_t marker_ns(const struct clv_queue *queue, const struct clv_view *view)
{
	uint64_t window_ns = atomic_load(&view->control->window_ns);
	uint64_t ns = window_ns / CLV_FLIGHT_MARKS_PER_WINDOW;
	uint64_t late_ns = window_ns - window_ns / 8;

	if (ns > CLV_FLIGHT_MARK_NS_MAX)
		ns = CLV_FLIGHT_MARK_NS_MAX;
	if (!atomic_load(&queue->sync_style) || late_ns > QUICK_NS_MAX ||
		CLV_PHASE_OF(atomic_load(&view->control->phase)) != CLV_PHASE_SHARED)
		return ns;
	return late_ns;
}

static void set_quick_limit(struct clv_queue *queue, uint64_t ns)
{
	const struct clv_queue_ops *ops = clv_gate.api->queues;

	if (!ops->may_be_quick)
		return;
	if (ns > QUICK_NS_MAX)
		ns = QUICK_NS_MAX;
	atomic_store(&queue->quick_limit, ns << CLV_FLIGHT_COUNT_BITS);
	/* The fast path may have been closed just before. */
	if (!ops->may_be_quick(queue) ||
		(ops->marks_at_once && ops->marks_at_once(queue, CLV_PHASE_SHARED)))
		atomic_store(&queue->quick_limit, 0);
}

/* Whether the unmarked work calls for a marker.  If so the program has not waited in
 * time. */
static bool fills_marker(
	struct clv_queue *queue, enum clv_phase phase, uint64_t ns, uint64_t unmarked)
{
	if (CLV_FLIGHT_NS(unmarked) < ns && !(unmarked & CLV_FLIGHT_MAX_UNMARKED))
		return false;
	if (phase == CLV_PHASE_SHARED)
		atomic_store(&queue->sync_style, 0);
	return true;
}

void clv_queues_forbid_quick(void)
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	while ((queue = clv_table_next(&walk)))
		atomic_store(&queue->quick_limit, 0);
}

void clv_queue_book(struct clv_queue *queue, const struct clv_view *view, uint64_t kind,
	const void *event, uint64_t packed)
{
	const struct clv_queue_ops *ops = clv_gate.api->queues;
	enum clv_phase phase = CLV_PHASE_OF(atomic_load(&view->control->phase));
	uint64_t ns = marker_ns(queue, view), unmarked;

	/* With nothing unmarked, a kind was only guessed by note_next(). */
	if (CLV_FLIGHT_COUNT(atomic_load(&queue->backlog.unmarked)) == 0)
		atomic_store(&queue->unmarked_kind, 0);
	clv_queue_note_kind(queue, kind);
	clv_queue_count_unknown(queue, packed);
	unmarked = clv_queue_submitted(queue, event, packed);
	/* Before the marker, which may complete at once and close the fast path again. */
	set_quick_limit(queue, ns);
	if (ops->marks_at_once && ops->marks_at_once(queue, phase))
		mark_unless_full(queue, clv_queue_mark_at_once);
	else if (CLV_FLIGHT_NS(packed) == 0 || fills_marker(queue, phase, ns, unmarked) ||
		 clv_flight_wants_marker_now(view, atomic_load(&queue->n_markers),
			 atomic_load(&queue->sync_style)))
		clv_queue_mark_own(queue);
}

void clv_queue_mark_with_event(
	struct clv_queue *queue, void *event, uint64_t packed, uint64_t kind)
{
	struct clv_marker marker = {
		.event = event,
		.queue = queue,
		.packed = packed,
		.since_ns = clv_clock_ns(),
		.kind = kind,
		.is_mixed = kind == CLV_COST_MIXED,
		.flush_first = true,
	};

	if (CLV_FLIGHT_COUNT(clv_backlog_in_flight(&queue->backlog)) == 0)
		atomic_store(&queue->backlog.progress_ns, marker.since_ns);
	clv_backlog_await(&queue->backlog, packed);
	add_marker(queue);
	if (!clv_markers_push(&marker)) {
		clv_queue_drop_marker(queue);
		forget_marker(queue, &marker);
		clv_table_unuse(queue);
		return;
	}
	clv_helper_start();
	clv_helper_wake();
}
