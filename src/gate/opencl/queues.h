/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/gate.h"

#include <CL/cl.h>
#include <pthread.h>

/* What the gate knows of each command queue, and the markers that tell what is complete.
 * Records are found without a lock; they are reused, never unmapped, so a look-up that
 * races with a release reads stale data and never wild memory. */

struct clv_cl_queue {
	cl_command_queue handle;
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

	/* Commands behind a user event.  Guarded by the lock in blocked.c. */
	_Atomic uint32_t n_blocked;

	pthread_mutex_t mark_lock;
	struct clv_cl_queue *next_free;
};

/* NULL only when memory ran out. */
struct clv_cl_queue *clv_queue_find(cl_command_queue handle);

void clv_queue_retain(cl_command_queue handle);

/* Before the program's release: marks the tail if it is the last one. */
void clv_queue_release(cl_command_queue handle);

/* Books a command that the vendor accepted. */
void clv_queue_submitted(struct clv_view *view, struct clv_cl_queue *queue,
	uint64_t packed, uint64_t kind);

/* Puts a marker behind what has none.  False: nothing to mark, or not possible now. */
bool clv_queue_mark(struct clv_cl_queue *queue);
bool clv_queues_mark_tails(void);

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

bool clv_queues_wait_for_marker(void);
void clv_queues_forget_parent(void);
