/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "gate/process/view.h"

/* The agent's clock, and whether the agent runs, by the heartbeat in the control page.
 *
 * A process in a time namespace has another CLOCK_MONOTONIC than the agent.  The
 * difference shows in heartbeats: each was read from the agent's clock before it was
 * seen, and after the one before it was written.  A difference that both hold is left
 * alone, so that a process whose clock is the agent's keeps a difference of 0 exactly;
 * another converges to what a wake-up takes.
 *
 * An agent that is stopped or hangs gives no heartbeat.  Then what waits goes in without
 * a turn, as if the agent were dead, but one command of each queue at a time: see
 * is_open() and fits() of flight.c.  With the next heartbeat turns count again. */

/* What the pages' times are compared with.  No system call. */
static inline uint64_t clv_agent_clock_ns(const struct clv_view *view)
{
	return clv_clock_ns() -
	       atomic_load_explicit(&view->clock_ahead_ns, memory_order_relaxed);
}

/* What one thread saw of the heartbeat, by its own clock.  All zero: nothing yet. */
struct clv_heartbeat {
	const struct clv_view *view;
	uint64_t beat_ns, since_ns;
	uint64_t looked_ns; /* and it was as it is */
	uint64_t before_ns; /* the look before it came; 0: there was none */
	uint32_t n_looks;   /* in vain */
};

/* Looks, and corrects the view's clock.  Returns whether the agent has been silent for so
 * long that it is taken for stopped. */
bool clv_heartbeat_look(struct clv_heartbeat *heartbeat, struct clv_view *view);

/* At the attach: asked_ns is from before the agent was asked, which answers with a
 * heartbeat. */
void clv_heartbeat_set_clock(struct clv_view *view, uint64_t asked_ns);

/* Found so, and not heard since. */
bool clv_heartbeat_is_silent(const struct clv_view *view);
