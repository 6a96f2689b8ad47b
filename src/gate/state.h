/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/gate.h"

#include <pthread.h>

/* What the common part's files share.  Process-wide. */
struct clv_gate_state {
	const struct clv_gate_api *api;
	pthread_mutex_t attach_lock;
	_Atomic uint64_t flight;          /* packed: all that is in flight or held back */
	_Atomic uint32_t flight_sequence; /* a futex: bumped when the window moves */
	_Atomic uint32_t n_window_waiters;
	_Atomic uint32_t helper_word; /* a futex: bumped to wake the helper */
	_Atomic uint32_t helper_started;
	_Atomic uint32_t helper_sleeps;
	_Atomic uint64_t
		rung_for; /* the phase word and count for which idleness was told */
	_Atomic uint64_t busy_since_ns;
};

extern struct clv_gate_state clv_gate;
extern __thread uint32_t clv_gate_callback_depth;

/* In a child: no helper, nothing in flight. */
void clv_gate_forget_parent(void);

/* Tells the arbiter when this process has just drained (closed) or fallen idle (granted).
 */
void clv_flight_report_idle(struct clv_view *view, bool after_grace);
bool clv_flight_is_idle(const struct clv_view *view);
