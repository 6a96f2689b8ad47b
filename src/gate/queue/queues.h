/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/queue/booking.h"
#include "gate/queue/places.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"

#include <stddef.h>

/* Submissions to queues, and the markers that tell when these are complete.  Any
 * thread. */

/* The program has retained the queue. */
void clv_queue_retain(const void *handle);

/* Call before the program's release: marks the tail if this is the last reference. */
void clv_queue_release(const void *handle);

/* The context of the queue is gone, and all its work with it. */
void clv_queue_forget(struct clv_queue *queue);

/* hold: one more command will be held, so the work before it gets its marker now.
 * unhold: a held command was released, and has its marker if it needs one. */
void clv_queue_hold(struct clv_queue *queue);
void clv_queue_unhold(struct clv_queue *queue);

/* Books a complete marker. */
struct clv_marker;
void clv_marker_book(const struct clv_marker *marker);

/* Places a marker behind the unmarked work.  False: there is none, or a marker is not
 * possible now. */
bool clv_queue_mark(struct clv_queue *queue);

/* The same, however many markers are out.  If another thread is placing one, it is placed
 * when this returns. */
bool clv_queue_mark_at_once(struct clv_queue *queue);

/* For a thread that is not the one that fills the queue: whether any marker could block
 * it. */
bool clv_queue_may_block(struct clv_queue *queue);

/* For the thread that fills the queue: places a marker, now or, in a queue that is nearly
 * full, when the one that is out is booked. */
bool clv_queue_mark_own(struct clv_queue *queue);

/* Marks the tails of all queues.  lingering: the program did not come back to wait for
 * them in time. */
bool clv_queues_mark_tails(bool lingering);

/* Call before a command is submitted.  If its duration is unknown the work before it is
 * marked, so that the marker behind the command has its time alone.  In a program of many
 * kinds of commands none would be learned otherwise, and each would get a marker for
 * ever. */
void clv_queue_mark_before(struct clv_queue *queue, uint64_t kind, uint64_t packed);

/* Books a command that the vendor accepted and that did not take the fast path. */
void clv_queue_book(struct clv_queue *queue, const struct clv_view *view, uint64_t kind,
	const void *event, uint64_t packed);

/* Uses a command's own event (reference taken over) as its marker. */
void clv_queue_mark_with_event(
	struct clv_queue *queue, void *event, uint64_t packed, uint64_t kind);

/* Waits for the oldest marker and books it.  False: there is none. */
bool clv_queues_wait_for_oldest(void);

/* For a thread that waits for room in a queue while the helper waits for another queue's
 * marker, which may take long: books the queue's complete markers.  Returns whether the
 * queue has an incomplete one, so that the caller must call again soon. */
bool clv_queues_look_aside(struct clv_backlog *backlog);

/* Waits for the markers of a context's queues and books them, whatever the helper waits
 * for.  The marker that the helper waits for may be one of them, and is left to it. */
void clv_queues_drain_context(const void *context);

void clv_queues_forget(void);

/* The fast path of a submission, inline: an attached process without contention, no
 * callback (there last_queue is never set), an in-order queue seen before, a command
 * of known length that does not block, nothing held.  True: the command has entered;
 * call the vendor and then clv_quick_end().  False: nothing has happened; take the
 * slow path. */
struct clv_quick {
	struct clv_view *view;
	struct clv_queue *queue;
	uint64_t packed;
};

/* Whether this thread is recorded as a user.  It is not where the record was reused since
 * the thread last found it. */
CLV_HOT bool clv_queue_knows_user(const struct clv_queue *queue)
{
	return atomic_load_explicit(&queue->user, memory_order_relaxed) ==
		       &clv_gate_thread ||
	       atomic_load_explicit(&queue->has_several_users, memory_order_relaxed);
}

CLV_HOT bool clv_quick_begin(struct clv_quick *quick, const void *handle, uint64_t kind)
{
	const struct clv_cost *cost = clv_cost_of(kind);

	if (CLV_UNLIKELY(atomic_load_explicit(&cost->key, memory_order_relaxed) != kind))
		return false;
	quick->view = clv_gate_current_view();
	quick->queue = clv_gate_thread.last_queue;
	quick->packed = atomic_load_explicit(&cost->packed, memory_order_relaxed);
	if (CLV_UNLIKELY(!quick->view || quick->queue->handle != handle ||
			 atomic_load_explicit(
				 &quick->queue->is_never_quick, memory_order_relaxed) ||
			 !clv_queue_knows_user(quick->queue)))
		return false;
	if (CLV_UNLIKELY(!clv_flight_quick_enter(quick->view, quick->packed)))
		return false;
	clv_queue_note_kind(quick->queue, kind);
	return true;
}

/* After the vendor's call: whether it accepted the command, and the command's event. */
CLV_HOT void clv_quick_end(
	const struct clv_quick *quick, bool is_accepted, const void *event)
{
	uint64_t unmarked;

	if (CLV_UNLIKELY(!is_accepted)) {
		clv_flight_leave(quick->packed);
		return;
	}
	unmarked = clv_queue_submitted(quick->queue, event, quick->packed);
	if (CLV_UNLIKELY(clv_flight_fills_marker(quick->view, unmarked)))
		clv_queue_mark_own(quick->queue);
}

/* Closes the fast path of each queue until a command has taken the slow path. */
void clv_queues_forbid_quick(void);

/* The whole fast path before the vendor's call, so that the call can be a jump: for
 * queues without held commands.  It calls nothing and reads no clock: the first command
 * of an idle queue, and one that fills a marker, take the slow path, which also sets up
 * to where others may pass (quick_limit).  Commands behind an incomplete marker count
 * from when that was placed: they cannot have started to run before it was complete
 * anyway.
 *
 * A marker that another thread is placing may cover the command before the vendor has it.
 * That can only happen where the gate closes within these few instructions, and lets that
 * one command run beside the next lease.  A command that the vendor then refuses counts
 * as complete with the next marker.  Mixed kinds update no estimate, but are recorded as
 * mixed only after the addition: then one sample may be of two kinds.  True: entered;
 * call the vendor.  False: nothing has happened; take the slow path. */
CLV_HOT bool clv_quick_pass(const void *handle, uint64_t kind)
{
	const struct clv_cost *cost = clv_cost_of(kind);
	struct clv_queue *queue = clv_gate_thread.last_queue;
	struct clv_view *view = clv_gate_current_view();
	uint64_t packed, flight;

	if (CLV_UNLIKELY(atomic_load_explicit(&cost->key, memory_order_relaxed) != kind ||
			 queue->handle != handle || !view))
		return false;
	if (CLV_UNLIKELY(atomic_load_explicit(
				 &queue->backlog.unmarked, memory_order_relaxed) >=
			 atomic_load_explicit(&queue->quick_limit, memory_order_relaxed)))
		return false;
	packed = atomic_load_explicit(&cost->packed, memory_order_relaxed);
	atomic_fetch_add(&view->slot->entered, 1);
	if (CLV_UNLIKELY(
		    CLV_PHASE_OF(atomic_load(&view->control->phase)) - CLV_PHASE_OPEN >
		    CLV_PHASE_SHARED - CLV_PHASE_OPEN)) {
		atomic_fetch_add(&view->slot->done, 1);
		return false;
	}
	flight = atomic_fetch_add(&clv_gate.flight, packed);
	/* The window counts other queues too: the next command takes the slow path, which
	 * checks its own queue. */
	if (CLV_UNLIKELY(CLV_FLIGHT_NS(flight) >=
			 atomic_load_explicit(
				 &view->control->window_ns, memory_order_relaxed)))
		atomic_store_explicit(&queue->quick_limit, 0, memory_order_relaxed);
	atomic_fetch_add(&queue->backlog.unmarked, packed);
	if (CLV_UNLIKELY(atomic_load_explicit(
				 &queue->unmarked_kind, memory_order_relaxed) != kind))
		atomic_store_explicit(
			&queue->unmarked_kind, CLV_COST_MIXED, memory_order_relaxed);
	return true;
}
