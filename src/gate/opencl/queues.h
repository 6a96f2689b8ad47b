/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/flight.h"
#include "gate/opencl/costs.h"

#include <CL/cl.h>
#include <pthread.h>

/* What the gate knows of each command queue, and the markers that tell what is complete.
 * Records are found without a lock; they are reused, never unmapped, so a look-up that
 * races with a release reads stale data and never wild memory. */

/* What a look along the line of held commands has seen of a queue so far. */
struct clv_held_line {
	uint32_t look;
	bool any_before, barrier_before;
};

struct clv_cl_queue {
	cl_command_queue handle;
	cl_context context;
	bool out_of_order;
	_Atomic uint32_t application_references;
	_Atomic uint32_t released;

	/* Submitted since the last marker: packed as in gate.h. */
	_Atomic uint64_t unmarked;
	_Atomic uint64_t unmarked_since_ns;
	_Atomic uint64_t unmarked_kind; /* cost key, or CLV_COST_MIXED; 0: none */
	_Atomic uint32_t unflushed;
	_Atomic uint32_t n_markers;

	/* The program itself waits for what it submits: it needs fewer markers. */
	_Atomic uint32_t sync_style;
	_Atomic(cl_event) tail_event;

	/* Commands that the vendor has and that may not run yet (held.h).  While there
	 * are any, no marker is placed: it could wait for them. */
	_Atomic uint32_t n_held;
	struct clv_held_line line; /* guarded by the lock in held.c */

	/* It had a held command once.  From then on a submission has the lock from its
	 * last look at what is held until it is booked, so that none that is in flight
	 * comes to stand behind one that is held.  Recursive: a vendor may run callbacks
	 * inside its calls. */
	_Atomic uint32_t has_held;
	pthread_mutex_t order_lock;

	pthread_mutex_t mark_lock;
	struct clv_cl_queue *next_free;
};

/* NULL only when memory ran out.  A released record has no handle, so what a thread
 * remembers is never taken for its successor. */
struct clv_cl_queue *clv_queue_find(cl_command_queue handle);

void clv_queue_retain(cl_command_queue handle);

/* Before the program's release: marks the tail if it is the last one. */
void clv_queue_release(cl_command_queue handle);

/* One more command will be held: what is before it gets its marker now. */
void clv_queue_hold(struct clv_cl_queue *queue);

/* Puts a marker behind what has none.  False: nothing to mark, or not possible now. */
bool clv_queue_mark(struct clv_cl_queue *queue);
bool clv_queues_mark_tails(bool lingering);

/* Before the vendor's call: of what kind the commands without a marker are. */
CLV_HOT void clv_queue_note_kind(struct clv_cl_queue *queue, uint64_t kind)
{
	uint64_t before =
		atomic_load_explicit(&queue->unmarked_kind, memory_order_relaxed);

	if (CLV_UNLIKELY(before != kind))
		atomic_store_explicit(&queue->unmarked_kind,
			before ? CLV_COST_MIXED : kind, memory_order_relaxed);
}

/* Books a command that the vendor accepted.  Returns all that has no marker now. */
CLV_HOT uint64_t clv_queue_submitted(
	struct clv_cl_queue *queue, const cl_event *event, uint64_t packed)
{
	uint64_t before;

	/* First, so that whoever takes this command into custody sees that it is the
	 * last. */
	atomic_store_explicit(
		&queue->tail_event, event ? *event : NULL, memory_order_relaxed);
	before = atomic_fetch_add(&queue->unmarked, packed);
	atomic_store_explicit(&queue->unflushed, 1, memory_order_relaxed);
	if (CLV_UNLIKELY(CLV_FLIGHT_COUNT(before) == 0))
		atomic_store_explicit(
			&queue->unmarked_since_ns, clv_clock_ns(), memory_order_relaxed);
	return before + packed;
}

/* A command's own event (reference taken over) serves as its marker. */
void clv_queue_mark_with_event(
	struct clv_cl_queue *queue, cl_event event, uint64_t packed, uint64_t kind);

/* The program waits until all submitted so far is complete: what it observes needs no
 * marker. Take before the wait, book after it. */
struct clv_custody {
	struct clv_cl_queue *queue;
	uint64_t packed;
	uint64_t since_ns;
	uint64_t kind;
};
struct clv_custody clv_custody_take(struct clv_cl_queue *queue);
void clv_custody_book(const struct clv_custody *custody);

/* Nothing was observed after all. */
void clv_custody_return(const struct clv_custody *custody);

bool clv_queues_wait_for_marker(void);
void clv_queues_forget_parent(void);
