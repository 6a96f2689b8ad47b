/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

#include <stdatomic.h>

/* What the gates of all APIs have in common: the attachment to a lease, the turn, the
 * window of work in flight, the memory ledger.  Needs libc only; never exits, never logs
 * on a path that a workload waits on; keeps errno.  All functions may be called from any
 * thread. */

struct clv_backlog;
struct clv_queue;
struct clv_queue_ops;

/* What an API's gate supplies to the common part. */
struct clv_gate_api {
	uint32_t attach_api;         /* enum clv_attach_api */
	void *(*run_helper)(void *); /* clv_helper_run() */
	/* Puts a marker behind everything that has none.  lingering: the program did not
	 * come back to it in time.  Returns whether it placed any. */
	bool (*mark_tails)(bool lingering);
	/* Waits for the oldest marker and books it.  Returns false if there is none. */
	bool (*wait_for_marker)(void);
	/* For a thread that waits for room in a queue: books what is complete and that
	 * the helper does not come to.  Returns whether to call it again soon.  NULL:
	 * never. */
	bool (*look_aside)(struct clv_backlog *backlog);
	/* How soon to call that again though nothing says so; 0: no need.  NULL: never.
	 */
	uint64_t (*poll_ns)(void);
	const struct clv_queue_ops
		*queues; /* for queues.h, whose these three mostly are */
	/* Lets go what the vendor has and the gate keeps, as far as turn and room allow.
	 * Returns whether anything is left that waits for those.  NULL: it keeps nothing.
	 */
	bool (*let_go)(void);
	/* In a forked child, before it attaches: forget what the parent had. */
	void (*forget_parent)(void);
	/* This is the page of a further agent, which knows nothing yet.  NULL: it has
	 * nothing to tell. */
	void (*tell_again)(const struct clv_view *view);
	/* Books what the vendor gave back by itself.  NULL: it never does. */
	bool (*settle_memory)(void);
};

extern struct clv_queue clv_no_queue __attribute__((visibility("hidden")));

/* What the common part's units share.  Process-wide. */
struct clv_gate_state {
	const struct clv_gate_api *api;
	_Atomic uint64_t flight;          /* packed: all that is in flight or held back */
	_Atomic uint32_t n_busy_queues;   /* that have a marker out */
	_Atomic uint32_t flight_sequence; /* a futex: bumped when the window moves */
	_Atomic uint32_t n_window_waiters; /* threads in line, for a turn too */
	_Atomic uint32_t n_in_callback;    /* callbacks of the program that run now */
	_Atomic uint32_t n_callback_ends;  /* how often the last of them returned */
	_Atomic uint32_t n_in_wait; /* threads inside a call that waits for the device */
	_Atomic uint32_t helper_word; /* a futex: bumped to wake the helper */
	_Atomic uint32_t helper_started;
	_Atomic uint32_t helper_sleeps;
	_Atomic uint32_t turnstile_word; /* a futex: bumped to wake the turnstile */
	_Atomic uint32_t turnstile_started;
	_Atomic uint32_t seeking; /* a thread looks for the next agent */
	_Atomic uint64_t
		rung_for; /* the phase word and count for which idleness was told */
	_Atomic uint32_t watched_turn; /* the phase word of the turn the helper watches */
	_Atomic uint64_t idle_since_ns; /* in its turn, and the arbiter not told; 0: no */
	_Atomic int32_t grace_score;
	_Atomic uint32_t n_grace_denied;
	/* By the agent's clock: when each queue may be empty that has work of a granted
	 * turn; UINT64_MAX: it cannot be told. */
	_Atomic uint64_t ends_ns;
};

extern struct clv_gate_state clv_gate __attribute__((visibility("hidden")));
/* What a thread remembers: the queue it used last, which mostly is the one that it uses
 * next.  In a callback (depth above 0) last_queue is never set, so
 * that the quick way need not ask. */
struct clv_gate_thread {
	struct clv_queue *last_queue; /* never NULL; has no handle where none is known */
	/* The handles of the default queues as far as they are known: of the context that
	 * is current, and this thread's own in it. */
	const void *default_handle, *own_default_handle;
	uint32_t callback_depth;
	uint32_t n_marking; /* it is inside the vendor's calls that place a marker */
};

extern __thread struct clv_gate_thread clv_gate_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Between these two no call on this thread waits for a turn. */
void clv_gate_callback_begin(void);
void clv_gate_callback_end(void);

/* Between these two this thread waits for commands to complete. */
void clv_gate_wait_begin(void);
void clv_gate_wait_end(void);
