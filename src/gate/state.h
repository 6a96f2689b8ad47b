/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/gate.h"

#include <pthread.h>

struct clv_queue;
extern struct clv_queue clv_no_queue __attribute__((visibility("hidden")));

/* What the common part's files share.  Process-wide. */
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

/* A detached thread with all signals blocked.  False: there is none. */
bool clv_helper_spawn(void *(*function)(void *));

/* In a child: no helper, nothing in flight. */
void clv_gate_forget_parent(void);

/* Now and then: what threads counted in the view before this one. */
void clv_gate_carry_leftovers(void);

/* Tells the arbiter when this process has just drained (closed) or fallen idle (granted).
 */
void clv_flight_report_idle(struct clv_view *view, bool after_grace);
