/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/page.h"
#include "gate/process/packed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The work of one queue that is in flight, which bounds further commands of that queue.
 * Work of other queues of the process never delays a command. */
struct clv_backlog {
	_Atomic uint64_t unmarked; /* submitted since the last marker; packed */
	_Atomic uint64_t awaited;  /* with a marker, or waited for by a thread; packed */
	/* When work of the queue last completed, or when its first command was
	 * submitted. */
	_Atomic uint64_t progress_ns;
	/* How many of these commands had no estimate when they entered (at most so many;
	 * never more than are in flight), and what commands of the queue took lately,
	 * each. 0: none has completed yet. */
	_Atomic uint32_t n_unknown;
	_Atomic uint64_t each_ns;
	/* The estimated time of the longest batch with a marker since the queue last had
	 * nothing in flight. */
	_Atomic uint64_t longest_ns;
};

static inline uint64_t clv_backlog_in_flight(const struct clv_backlog *backlog)
{
	return backlog ? atomic_load(&backlog->unmarked) + atomic_load(&backlog->awaited)
		       : 0;
}

/* Counts work that has a marker, or that a thread waits for. */
static inline void clv_backlog_await(struct clv_backlog *backlog, uint64_t packed)
{
	uint64_t longest_ns = atomic_load(&backlog->longest_ns);

	while (longest_ns < CLV_FLIGHT_NS(packed) &&
		!atomic_compare_exchange_weak(
			&backlog->longest_ns, &longest_ns, CLV_FLIGHT_NS(packed)))
		;
	atomic_fetch_add(&backlog->awaited, packed);
}

/* So many batches, noticed complete together, are one sample (samples.c). */
#define CLV_KINDS_TOGETHER 8

/* The gate's record of a queue: an OpenCL command queue, or a stream of CUDA or HIP.
 * Records are found without a lock.  They are reused and never unmapped, so a lookup
 * that races with a release reads stale data and never unmapped memory.  A record is
 * reused for another queue only once it has no user left: the program, markers, held
 * commands. */
struct clv_queue {
	/* The API's handle; unique in the process. */
	const void *handle;
	void *context;
	_Atomic uint64_t unmarked_kind; /* cost key, or CLV_COST_MIXED; 0: none */
	/* The fast path is closed once this much is unmarked.  0 while nothing at all is
	 * in flight: the next command must read the clock. */
	_Atomic uint64_t quick_limit;
	struct clv_backlog backlog;
	_Atomic uint64_t unmarked_since_ns;

	bool out_of_order;
	_Atomic uint32_t n_uses;
	_Atomic uint32_t application_references;
	_Atomic uint32_t released;
	_Atomic uint32_t unflushed;
	_Atomic uint32_t n_markers;

	/* The thread that uses the queue, and whether others do too: then commands may be
	 * booked in another order than the vendor has them. */
	_Atomic(const void *) user;
	_Atomic uint32_t has_several_users;

	/* The program itself waits for its work, so the queue needs fewer markers. */
	_Atomic uint32_t sync_style;
	_Atomic(const void *) tail_event; /* of the last command, where it has one */

	/* Held commands: the vendor has them and they may not run yet.  While there are
	 * any no marker is placed, since it could wait for them. */
	_Atomic uint32_t n_held;
	_Atomic uint32_t has_held; /* it has had a held command */
	/* Commands never take the fast path: out_of_order or has_held. */
	_Atomic uint32_t is_never_quick;

	/* The queue is blocked (queue_ops.is_blocked): its work is not in flight, and is
	 * counted in `parked` as far as it has no marker. */
	_Atomic uint32_t is_blocked;
	_Atomic uint64_t parked;
	/* When a batch of the queue was last seen complete: the next one cannot have
	 * started to run before. */
	_Atomic uint64_t last_done_ns;
	/* Since when how many commands have completed that no estimate has yet, and the
	 * kinds of the first of their batches. */
	_Atomic uint64_t each_since_ns;
	_Atomic uint64_t n_each;
	_Atomic uint64_t each_kinds[CLV_KINDS_TOGETHER];
	_Atomic uint32_t n_each_kinds;
	/* When a thread in line last found the queue's oldest marker incomplete. */
	_Atomic uint64_t looked_ns;
	/* Commands that are not counted as work but take a place in the driver's queue,
	 * as events that the program records and waits: submitted, and of these known to
	 * be complete. */
	_Atomic uint64_t n_others, n_others_done;
	/* A marker was left out, because the driver's queue was nearly full. */
	_Atomic uint32_t wants_marker;
	uint32_t n_refused; /* markers refused in succession; under mark_lock */
	/* The following three are used by the helper only.  Since when the queue is
	 * blocked; 0: it is not. */
	uint64_t blocked_since_ns;
	/* The poll (blocked-queue.c) in which the queue resumed, and the last one in
	 * which a marker of the queue was incomplete. */
	uint32_t resumed_in_poll;
	uint32_t busy_in_poll;

	pthread_mutex_t mark_lock;
	struct clv_queue *next_free;
};

static inline void clv_queue_set_held(struct clv_queue *queue)
{
	atomic_store(&queue->has_held, 1);
	atomic_store(&queue->is_never_quick, 1);
}

static inline struct clv_queue *clv_queue_of_backlog(struct clv_backlog *backlog)
{
	return (struct clv_queue *)((char *)backlog -
				    offsetof(struct clv_queue, backlog));
}

/* What a driver has of a queue. */
enum clv_queue_rest {
	CLV_QUEUE_BUSY,    /* something, or it cannot be asked now */
	CLV_QUEUE_EMPTY,   /* nothing */
	CLV_QUEUE_UNASKED, /* not known; a marker takes no place of the queue */
};

/* The operations on queues that the API's gate implements. */
struct clv_queue_ops {
	size_t record_bytes; /* of a record: a struct clv_queue and the API's own data */
	/* With this many commands in a queue the API's calls may block until one of them
	 * is complete; 0: there is no such bound. */
	uint32_t depth;
	/* Initializes a new record, whose handle is set and whose other fields are 0. */
	void (*begin)(struct clv_queue *queue);
	/* Called after the program's last release of the queue, while the handle is still
	 * valid; NULL: nothing to do. */
	void (*end)(struct clv_queue *queue);
	/* Whether a marker may be placed now; NULL: always. */
	bool (*can_mark)(const struct clv_queue *queue);
	/* Whether commands may use clv_quick_pass(), which counts them only in the
	 * queue's own record; NULL: never. */
	bool (*may_be_quick)(const struct clv_queue *queue);
	/* Whether a submitted command needs its marker before anything else happens;
	 * NULL: never. */
	bool (*marks_at_once)(const struct clv_queue *queue, enum clv_phase phase);
	/* Records an event behind everything submitted to the queue.  NULL: that
	 * failed. */
	void *(*mark)(struct clv_queue *queue);
	/* The same where the driver refuses all events: the end of all work of the queue,
	 * also of what is submitted until then.  NULL: not possible. */
	void *(*mark_end)(struct clv_queue *queue);
	/* The queue's last marker is released without having been waited for, so the next
	 * one must cover the same work; NULL: each marker does. */
	void (*unmark)(struct clv_queue *queue);
	/* Flushes the queue, for drivers that do not start unflushed commands; NULL: not
	 * needed. */
	void (*flush)(struct clv_queue *queue);
	void (*wait_for_event)(struct clv_queue *queue, void *event);
	void (*release_event)(struct clv_queue *queue, void *event);
	/* Whether any queue may be blocked now; NULL: none ever is, and the functions
	 * below are not called.  Otherwise the helper polls instead of waiting. */
	bool (*may_block)(void);
	bool (*is_complete)(struct clv_queue *queue, void *event);
	/* The same, on a thread of the program, whose state is preserved.  NULL: not
	 * possible. */
	bool (*is_complete_aside)(struct clv_queue *queue, void *event);
	/* What the driver has of the queue.  NULL: it cannot be asked. */
	enum clv_queue_rest (*ask_rest)(struct clv_queue *queue);
	/* Whether the queue is blocked until the program, or something outside the
	 * process, lets it continue.  *ret_went_on: it has continued since the last call,
	 * and may have done some of its work. */
	bool (*is_blocked)(struct clv_queue *queue, bool *ret_went_on);
};
