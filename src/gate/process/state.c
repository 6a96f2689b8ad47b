/* SPDX-License-Identifier: Apache-2.0 */
/* The process-wide and per-thread state, and the counters of callbacks and waits. */
#include "gate/process/state.h"

#include "gate/process/queue-record.h"
#include "gate/process/view.h"

struct clv_gate_state clv_gate;
struct clv_queue clv_no_queue;

/* Used until clv_gate_init(), and if the page of attachment.c could not be mapped. */
static struct clv_wiped_on_fork unattached;
struct clv_wiped_on_fork *clv_wiped_on_fork = &unattached;

__thread struct clv_gate_thread clv_gate_thread = {.last_queue = &clv_no_queue};

void clv_gate_callback_begin(void)
{
	clv_gate_thread.callback_depth++;
	atomic_fetch_add(&clv_gate.n_in_callback, 1);
	clv_gate_thread.last_queue = &clv_no_queue;
}

/* A child that was forked in a callback, and returns from it, has counted none. */
void clv_gate_callback_end(void)
{
	if (clv_gate_thread.callback_depth == 0)
		return;
	if (atomic_fetch_sub(&clv_gate.n_in_callback, 1) == 1)
		atomic_fetch_add(&clv_gate.n_callback_ends, 1);
	clv_gate_thread.callback_depth--;
}

void clv_gate_wait_begin(void)
{
	atomic_fetch_add(&clv_gate.n_in_wait, 1);
}

void clv_gate_wait_end(void)
{
	atomic_fetch_sub(&clv_gate.n_in_wait, 1);
}
