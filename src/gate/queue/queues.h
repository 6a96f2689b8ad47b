/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/queue/booking.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"

#include <stddef.h>

/* The markers that tell what of a queue is complete, and what is submitted to it. */

void clv_queue_retain(const void *handle);

/* Before the program's release: marks the tail if it is the last one. */
void clv_queue_release(const void *handle);

/* What it is a part of has gone, and all its work with it. */
void clv_queue_forget(struct clv_queue *queue);

/* One more command will be held: what is before it gets its marker now.  And one is no
 * more, and has its marker if it needs one. */
void clv_queue_hold(struct clv_queue *queue);
void clv_queue_unhold(struct clv_queue *queue);

/* A marker is complete. */
struct clv_marker;
void clv_marker_book(const struct clv_marker *marker);

/* Puts a marker behind what has none.  False: nothing to mark, or not possible now. */
bool clv_queue_mark(struct clv_queue *queue);

/* The same, however many are out.  A marker that another thread is placing is there
 * afterwards. */
bool clv_queue_mark_at_once(struct clv_queue *queue);

/* A marker would block this thread, which may not be the one that fills the queue.  One
 * that is out is booked first then, and the tail gets another behind it. */
bool clv_queue_is_nearly_full(const struct clv_queue *queue);

/* All queues.  lingering: the program did not come back to them in time. */
bool clv_queues_mark_tails(bool lingering);

/* After the vendor took a command that did not go in the quick way. */
void clv_queue_book(struct clv_queue *queue, const struct clv_view *view, uint64_t kind,
	const void *event, uint64_t packed);

/* A command's own event (reference taken over) serves as its marker. */
void clv_queue_mark_with_event(
	struct clv_queue *queue, void *event, uint64_t packed, uint64_t kind);

/* Waits for the oldest marker and books it.  False: there is none. */
bool clv_queues_wait_for_oldest(void);

/* For a thread that waits for room in a queue while the helper waits for another queue's
 * marker, which may be a long time: books what is complete.  Returns whether the queue
 * has a marker that is not, so that this is to be called again soon. */
bool clv_queues_look_aside(struct clv_backlog *backlog);

/* Waits for the markers of a context's queues and books them, whatever the helper waits
 * for.  The one that it has in hand may be one of them, and stays with it. */
void clv_queues_drain_context(const void *context);

void clv_queues_forget(void);

/* The common case of a submission, inline: an attached process that nobody contends with,
 * no callback (there last_queue is never set), an in-order queue seen before, a command
 * of known length that does not block, nothing held.  True: the command is counted in,
 * make the call and end it with clv_quick_end.  False: nothing happened, take the long
 * way. */
struct clv_quick {
	struct clv_view *view;
	struct clv_queue *queue;
	uint64_t packed;
};

CLV_HOT bool clv_quick_begin(struct clv_quick *quick, const void *handle, uint64_t kind)
{
	const struct clv_cost *cost = clv_cost_of(kind);

	if (CLV_UNLIKELY(atomic_load_explicit(&cost->key, memory_order_relaxed) != kind))
		return false;
	quick->view = clv_gate_peek();
	quick->queue = clv_gate_thread.last_queue;
	quick->packed = atomic_load_explicit(&cost->packed, memory_order_relaxed);
	if (CLV_UNLIKELY(
		    !quick->view || quick->queue->handle != handle ||
		    quick->queue->out_of_order ||
		    atomic_load_explicit(&quick->queue->has_held, memory_order_relaxed)))
		return false;
	if (CLV_UNLIKELY(!clv_flight_quick_enter(quick->view, quick->packed)))
		return false;
	clv_queue_note_kind(quick->queue, kind);
	return true;
}

/* After the vendor's call: whether it took the command, and the command's event. */
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
		clv_queue_mark(quick->queue);
}

/* From now on nothing passes quickly until it took the long way once. */
void clv_queues_forbid_quick(void);

/* All of it in one, before the vendor's call, so that the call can be a jump: for queues
 * of which none is ever held back.  It calls nothing and needs no clock: the first
 * command of an idle queue, and one that fills a marker, take the long way, which also
 * says up to where others may pass (quick_limit).  Behind a marker that is out the next
 * ones count from when it was placed: they cannot have started to run before it was
 * complete anyway.
 *
 * A marker that another thread places just now covers the command before it is there;
 * that can only happen where the gate closes within these few instructions, and lets that
 * one command run beside whoever comes next.  A command that the vendor then refuses is
 * complete with the next marker.  Kinds that are mixed teach nothing, but are told as
 * such only after the fact: then one sample is of two kinds.  True: counted in, make the
 * call. False: nothing happened, take the long way. */
CLV_HOT bool clv_quick_pass(const void *handle, uint64_t kind)
{
	const struct clv_cost *cost = clv_cost_of(kind);
	struct clv_queue *queue = clv_gate_thread.last_queue;
	struct clv_view *view = clv_gate_peek();
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
	/* Of other queues too: the next one takes the long way, which looks at its own.
	 */
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
