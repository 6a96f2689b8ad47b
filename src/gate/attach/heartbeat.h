/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "gate/process/view.h"

/* The agent's clock, and whether the agent runs, from the heartbeat in the control
 * page.
 *
 * A process in another time namespace has another CLOCK_MONOTONIC than the agent.
 * Heartbeats bound the difference: each was read from the agent's clock before it was
 * seen, and after the previous one was written.  A difference within both bounds is kept,
 * so a process whose clock is the agent's keeps a difference of exactly 0; another one
 * converges to within the latency of a wake-up.
 *
 * An agent that is stopped or hangs writes no heartbeat.  Then waiting commands enter
 * without a turn, as if the agent were dead, but one command of each queue at a time: see
 * is_open() and fits() of gate/window/flight.c.  With the next heartbeat turns are
 * enforced again. */

/* The agent's clock, with which times in the pages are compared.  No system call. */
static inline uint64_t clv_agent_clock_ns(const struct clv_view *view)
{
	return clv_clock_ns() -
	       atomic_load_explicit(&view->clock_ahead_ns, memory_order_relaxed);
}

/* One thread's observations of the heartbeat, by the process's clock.  All zero: none
 * yet. */
struct clv_heartbeat {
	const struct clv_view *view;
	/* The last heartbeat, and when it was first seen. */
	uint64_t beat_ns, since_ns;
	uint64_t looked_ns; /* when it was last seen unchanged */
	uint64_t before_ns; /* the last look before it appeared; 0: none */
	uint32_t n_looks;   /* looks without a new heartbeat */
};

/* Reads the heartbeat and corrects the view's clock.  Returns whether the agent has been
 * silent for so long that it is taken to be stopped. */
bool clv_heartbeat_look(struct clv_heartbeat *heartbeat, struct clv_view *view);

/* The same for a thread that does not know whether a heartbeat is due: tells no other
 * thread of the silence. */
bool clv_heartbeat_has_ended(struct clv_heartbeat *heartbeat, struct clv_view *view);

/* Sets the view's clock at the attach: asked_ns was read before the request, to which the
 * agent replies after writing a heartbeat. */
void clv_heartbeat_set_clock(struct clv_view *view, uint64_t asked_ns);

/* Whether the agent was found silent, and no heartbeat was written since. */
bool clv_heartbeat_is_silent(const struct clv_view *view);
