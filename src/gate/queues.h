/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/costs.h"
#include "gate/flight.h"

#include <pthread.h>
#include <stddef.h>

/* What the gate knows of each queue (OpenCL's command queues, the streams of CUDA and
 * HIP), and the markers that tell what is complete.  Records are found without a lock;
 * they are reused, never unmapped, so a look-up that races with a release reads stale
 * data and never wild memory.  A record is another queue's only when nobody uses it any
 * more: the program, its markers, its held commands. */

struct clv_queue {
	const void *handle; /* what the API calls it by; unique in the process */
	void *context;
	_Atomic uint64_t unmarked_kind; /* cost key, or CLV_COST_MIXED; 0: none */
	/* From so much unmarked on nothing passes quickly.  0 while nothing at all is in
	 * flight: whoever comes then has to look at the clock. */
	_Atomic uint64_t quick_limit;
	struct clv_backlog backlog;
	_Atomic uint64_t unmarked_since_ns;

	bool out_of_order;
	_Atomic uint32_t n_uses;
	_Atomic uint32_t application_references;
	_Atomic uint32_t released;
	_Atomic uint32_t unflushed;
	_Atomic uint32_t n_markers;

	/* Which thread uses it, and whether others do too: then commands are booked in
	 * another order, maybe, than the vendor has them. */
	_Atomic(const void *) user;
	_Atomic uint32_t has_several_users;

	/* The program itself waits for what it submits: it needs fewer markers. */
	_Atomic uint32_t sync_style;
	_Atomic(const void *) tail_event; /* the last command's, where it has one */

	/* Commands that the vendor has and that may not run yet.  While there
	 * are any, no marker is placed: it could wait for them. */
	_Atomic uint32_t n_held;
	_Atomic uint32_t has_held; /* it had one once */

	/* It stands still (queue_ops.stands): what is behind that is not in flight, and
	 * counted here as far as it has no marker. */
	_Atomic uint32_t stands;
	_Atomic uint64_t parked;
	/* When the last batch of it was seen complete: the next one cannot have started
	 * to run before. */
	_Atomic uint64_t last_done_ns;
	uint32_t n_refused;       /* markers, one after the other; under mark_lock */
	uint64_t stands_since_ns; /* the helper's, as is what follows */
	uint32_t let_go_in_look;
	uint32_t busy_in_look;

	pthread_mutex_t mark_lock;
	struct clv_queue *next_free;
};

static inline struct clv_queue *clv_queue_of_backlog(struct clv_backlog *backlog)
{
	return (struct clv_queue *)((char *)backlog -
				    offsetof(struct clv_queue, backlog));
}

/* What the API's gate does for them. */
struct clv_queue_ops {
	size_t record_bytes; /* a struct clv_queue, followed by the API's own */
	/* From so many commands in a queue on the API's calls may block until one of them
	 * is complete; 0: there is no such bound. */
	uint32_t depth;
	/* A new record: its handle is set, the rest is zero. */
	void (*begin)(struct clv_queue *queue);
	/* Whether nothing forbids it now; NULL: nothing ever does. */
	bool (*can_mark)(const struct clv_queue *queue);
	/* Whether commands may pass quickly, that is uncounted by anything but the
	 * queue's own record (clv_quick_pass); NULL: none ever does. */
	bool (*may_be_quick)(const struct clv_queue *queue);
	/* Whether what was submitted needs its marker before anything else happens; NULL:
	 * it never does. */
	bool (*marks_at_once)(const struct clv_queue *queue, enum clv_phase phase);
	/* Puts an event behind all that was submitted to it.  NULL: that failed. */
	void *(*mark)(struct clv_queue *queue);
	/* What was submitted would not start without it; NULL: there is no such thing. */
	void (*flush)(struct clv_queue *queue);
	void (*wait_for_event)(struct clv_queue *queue, void *event);
	void (*release_event)(struct clv_queue *queue, void *event);
	/* Whether anything may stand still now; NULL: nothing ever does, and the rest of
	 * these is not called.  While something may, the helper asks instead of waiting.
	 */
	bool (*may_stand)(void);
	bool (*is_complete)(struct clv_queue *queue, void *event);
	/* The same, from a thread of the program's, which is left as it was.  NULL: this
	 * cannot be asked. */
	bool (*is_complete_aside)(struct clv_queue *queue, void *event);
	/* Whether nothing of the queue runs until the program, or somebody else, lets it
	 * go on.  *ret_went_on: it has gone on since the last time, and may have done
	 * some of its work. */
	bool (*stands)(struct clv_queue *queue, bool *ret_went_on);
};

/* NULL only when memory ran out.  A released record has no handle, so what a thread
 * remembers is never taken for its successor. */
struct clv_queue *clv_queue_find(const void *handle);

/* NULL: nothing was ever submitted to it. */
struct clv_queue *clv_queue_find_known(const void *handle);

void clv_queue_retain(const void *handle);

/* Before the program's release: marks the tail if it is the last one. */
void clv_queue_release(const void *handle);

/* What it is a part of has gone, and all its work with it. */
void clv_queue_forget(struct clv_queue *queue);

/* One more command will be held: what is before it gets its marker now.  And one is no
 * more, and has its marker if it needs one. */
void clv_queue_hold(struct clv_queue *queue);
void clv_queue_unhold(struct clv_queue *queue);

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

/* Before the vendor's call: of what kind the commands without a marker are. */
CLV_HOT void clv_queue_note_kind(struct clv_queue *queue, uint64_t kind)
{
	uint64_t before =
		atomic_load_explicit(&queue->unmarked_kind, memory_order_relaxed);

	if (CLV_UNLIKELY(before != kind))
		atomic_store_explicit(&queue->unmarked_kind,
			before ? CLV_COST_MIXED : kind, memory_order_relaxed);
}

/* The first command since the last marker. */
CLV_HOT void clv_queue_note_first(struct clv_queue *queue)
{
	uint64_t now_ns = clv_clock_ns();

	atomic_store_explicit(&queue->unmarked_since_ns, now_ns, memory_order_relaxed);
	if (atomic_load_explicit(&queue->backlog.awaited, memory_order_relaxed) == 0)
		atomic_store_explicit(
			&queue->backlog.progress_ns, now_ns, memory_order_relaxed);
}

/* Books a command that the vendor accepted, with its event where it has one.  Returns all
 * that has no marker now. */
CLV_HOT uint64_t clv_queue_submitted(
	struct clv_queue *queue, const void *event, uint64_t packed)
{
	uint64_t before;

	/* First, so that whoever takes this command into custody sees that it is the
	 * last. */
	atomic_store_explicit(&queue->tail_event, event, memory_order_relaxed);
	before = atomic_fetch_add(&queue->backlog.unmarked, packed);
	atomic_store_explicit(&queue->unflushed, 1, memory_order_relaxed);
	if (CLV_UNLIKELY(CLV_FLIGHT_COUNT(before) == 0))
		clv_queue_note_first(queue);
	return before + packed;
}

/* After the vendor took a command that did not go in the quick way. */
void clv_queue_book(struct clv_queue *queue, const struct clv_view *view, uint64_t kind,
	const void *event, uint64_t packed);

/* A command's own event (reference taken over) serves as its marker. */
void clv_queue_mark_with_event(
	struct clv_queue *queue, void *event, uint64_t packed, uint64_t kind);

/* The program waits until all submitted so far is complete: what it observes needs no
 * marker. Take before the wait, book after it. */
struct clv_custody {
	struct clv_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
	uint64_t
		before; /* markers before this one are complete as well; 0: none is out */
};
struct clv_custody clv_custody_take(struct clv_queue *queue);
void clv_custody_book(const struct clv_custody *custody);

/* Nothing was observed after all. */
void clv_custody_return(const struct clv_custody *custody);

/* Waits for the oldest marker and books it, or, while something may stand still, books
 * what is complete.  False: there is none. */
bool clv_queues_wait_for_marker(void);

/* For a thread that waits for room in a queue while the helper waits for another queue's
 * marker, which may be a long time: books what is complete.  Returns whether the queue
 * has a marker that is not, so that this is to be called again soon. */
bool clv_queues_look_aside(struct clv_backlog *backlog);

/* Waits for the markers of a context's queues and books them, whatever the helper waits
 * for.  The one that it has in hand may be one of them, and stays with it. */
void clv_queues_drain_context(const void *context);

/* How soon that is to be called again though nothing says so; 0: it need not. */
uint64_t clv_queues_poll_ns(void);
void clv_queues_forget_parent(void);

/* The common case of a submission, inline: an attached process that nobody contends with,
 * no callback (there last_queue is never set), a queue seen before, a command of known
 * length that does not block, nothing held.  True: the command is counted in, make the
 * call and end it with clv_quick_end.  False: nothing happened, take the long way. */
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
