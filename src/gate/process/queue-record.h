/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/page.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The work of one queue that is in flight: what one more command of the queue is measured
 * against.  Work of other queues of the process never keeps a command back. */
struct clv_backlog {
	_Atomic uint64_t unmarked;    /* submitted since the last marker; packed */
	_Atomic uint64_t awaited;     /* has a marker, or a thread waits for it; packed */
	_Atomic uint64_t progress_ns; /* when last some of it was complete, or the first
				       * was submitted */
};

static inline uint64_t clv_backlog_in_flight(const struct clv_backlog *backlog)
{
	return backlog ? atomic_load(&backlog->unmarked) + atomic_load(&backlog->awaited)
		       : 0;
}

/* What the gate knows of each queue: OpenCL's command queues, the streams of CUDA and
 * HIP.  Records are found without a lock;
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
	/* The program has released it for the last time, and its handle is still good;
	 * NULL: there is nothing to do. */
	void (*end)(struct clv_queue *queue);
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
	/* Its last marker is released before it was waited for: the next one has to say
	 * what that one did.  NULL: each does. */
	void (*unmark)(struct clv_queue *queue);
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
