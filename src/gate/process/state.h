/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

#include <stdatomic.h>

/* State that the gates of all APIs share: the attachment to a lease, the turn, the window
 * of work in flight, the memory ledger.  The common part needs libc only; it never exits,
 * never logs on a path that a workload waits on, and preserves errno.  All functions may
 * be called from any thread. */

struct clv_backlog;
struct clv_queue;
struct clv_queue_ops;

/* The operations that an API's gate supplies to the common part. */
struct clv_gate_api {
	uint32_t attach_api;         /* enum clv_attach_api */
	void *(*run_helper)(void *); /* clv_helper_run() */
	/* Places a marker behind all work that has none.  lingering: the program did not
	 * come back to wait for its work in time.  Returns whether it placed any. */
	bool (*mark_tails)(bool lingering);
	/* Waits for the oldest marker and books it.  False: there is none. */
	bool (*wait_for_marker)(void);
	/* For a thread that waits for room in a queue: books completed work that the
	 * helper does not get to.  Returns whether to call it again soon.  NULL:
	 * never. */
	bool (*book_queue)(struct clv_backlog *backlog);
	/* How soon the helper must poll markers although it is not woken; 0: it need not.
	 * NULL: never. */
	uint64_t (*poll_ns)(void);
	/* The queue operations, for gate/queue, which mostly implements the functions
	 * above. */
	const struct clv_queue_ops *queues;
	/* Releases held commands as far as the turn and the window allow.  Returns
	 * whether any is left that waits for these.  NULL: the API has none. */
	bool (*let_go)(void);
	/* In a forked child, before it attaches: drops the parent's state. */
	void (*forget_parent)(void);
	/* Reports the process's objects to another agent, which knows none yet.  NULL:
	 * there are none. */
	void (*report_again)(const struct clv_view *view);
	/* Books memory that the vendor has freed by itself; returns whether there was
	 * any.  NULL: it never does that. */
	bool (*settle_memory)(void);
};

extern struct clv_queue clv_no_queue __attribute__((visibility("hidden")));

/* The process-wide state of the common part. */
struct clv_gate_state {
	const struct clv_gate_api *api;
	_Atomic uint64_t flight;           /* packed: everything in flight */
	_Atomic uint32_t n_busy_queues;    /* queues with an incomplete marker */
	_Atomic uint32_t flight_sequence;  /* a futex: incremented as work completes */
	_Atomic uint32_t n_window_waiters; /* threads that wait for room or for a turn */
	_Atomic uint32_t n_in_callback;    /* callbacks of the program that are running */
	_Atomic uint32_t n_callback_ends;  /* how often n_in_callback fell to 0 */
	_Atomic uint32_t n_in_wait;   /* threads in a call that waits for the device */
	_Atomic uint32_t helper_word; /* a futex: incremented to wake the helper */
	_Atomic uint32_t helper_started;
	_Atomic uint32_t helper_sleeps;
	_Atomic uint32_t turnstile_word; /* a futex: incremented to wake the turnstile */
	_Atomic uint32_t turnstile_started;
	_Atomic uint32_t seeking; /* a thread is looking for the next agent */
	/* The phase word and the low bits of `done` for which idleness was last
	 * reported. */
	_Atomic uint64_t idle_reported_key;
	/* The phase word of the turn that the helper watches. */
	_Atomic uint32_t watched_turn;
	/* Since when the process is idle in its turn without having reported it; 0: it is
	 * not. */
	_Atomic uint64_t idle_since_ns;
	/* See gate/window/grace.c. */
	_Atomic int32_t grace_score;
	_Atomic uint32_t n_grace_denied;
	/* When by estimate every queue with work of a granted turn may be empty, by the
	 * agent's clock; UINT64_MAX: unknown. */
	_Atomic uint64_t ends_ns;
};

extern struct clv_gate_state clv_gate __attribute__((visibility("hidden")));
/* Per-thread state: the queue that the thread used last, which it mostly uses next.
 * In a callback (depth above 0) last_queue is never set, so that the fast path need
 * not check. */
struct clv_gate_thread {
	/* Never NULL; &clv_no_queue, which has no handle, where none is known. */
	struct clv_queue *last_queue;
	/* The handles of the default queues, if known: of the current context, and of
	 * this thread in that context. */
	const void *default_handle, *own_default_handle;
	uint32_t callback_depth;
	uint32_t n_marking; /* nesting of vendor calls that place a marker */
};

extern __thread struct clv_gate_thread clv_gate_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Between these two calls no call on this thread waits for a turn. */
void clv_gate_callback_begin(void);
void clv_gate_callback_end(void);

/* Between these two calls this thread waits for commands to complete. */
void clv_gate_wait_begin(void);
void clv_gate_wait_end(void);
