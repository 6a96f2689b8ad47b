/* SPDX-License-Identifier: Apache-2.0 */
/* Writes control pages.  A gate may read any field at any time, so every store is
 * atomic. */
#include "arbiter/publish.h"

#include "arbiter/preempt.h"

#include "base/clock.h"
#include "base/futex.h"

/* No other lease waits for the end of this work.  With an API whose queues have no bound,
 * another lease that attaches finds at most one command of this length in flight per
 * queue. */
#define OPEN_WINDOW_NS (1 * CLV_NS_PER_S)
/* Covers the commands that start before the deadline, which the gate checks itself. */
#define GRANTED_WINDOW_NS (8 * CLV_NS_PER_MS)
#define SHARED_WINDOW_NS (4 * CLV_NS_PER_MS)
#define PROMPT_WINDOW_NS (300 * CLV_NS_PER_US)

/* A lease that wakes up this often, with credit, is let in after at most two kernels. */
#define FREQUENT_WAKE_NS (50 * CLV_NS_PER_MS)

void clv_publish_phase(struct clv_arbiter_lease *lease, enum clv_phase phase)
{
	struct clv_control_page *control = lease->pages.control;

	bool for_threads = phase != CLV_PHASE_CLOSED;

	/* With a window of 0 a thread that has just entered but is not yet counted for
	 * the next marker places a marker at once, so the drain does not wait for a
	 * poll. */
	if (!for_threads)
		atomic_store(&control->window_ns, 0);
	lease->phase = phase;
	lease->turn++;
	atomic_store(&control->phase, CLV_PHASE_WORD(lease->turn, phase));
	if (for_threads)
		clv_futex_wake(&control->phase, INT_MAX);
	if (for_threads && lease->n_waiting > 0)
		return;
	atomic_fetch_add(&control->helper_call, 1);
	clv_futex_wake(&control->helper_call, INT_MAX);
}

bool clv_publish_wakes_often(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	return lease->usual_wake_interval_ns > 0 &&
	       lease->usual_wake_interval_ns < FREQUENT_WAKE_NS &&
	       now_ns - lease->last_wake_ns < 2 * FREQUENT_WAKE_NS &&
	       clv_policy_lag_ns(arbiter->policy, lease->policy_lease) >= 0;
}

/* Work that can be stopped delays no other lease.  Its estimate is also too long: it was
 * learned from times that include those for which the work was stopped. */
static uint64_t window_of(bool can_stop, enum clv_phase phase)
{
	if (phase == CLV_PHASE_OPEN || can_stop)
		return OPEN_WINDOW_NS;
	return phase == CLV_PHASE_GRANTED ? GRANTED_WINDOW_NS : SHARED_WINDOW_NS;
}

void clv_publish_window(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	enum clv_phase phase, uint64_t now_ns)
{
	bool can_stop = clv_preempt_may_stop_next_turn(arbiter, lease);
	uint64_t window_ns = window_of(can_stop, phase);
	uint32_t commands = 1;

	for (struct clv_arbiter_lease *other = arbiter->leases;
		other && phase != CLV_PHASE_OPEN && !can_stop; other = other->next) {
		if (other == lease || other->n_slots == 0)
			continue;
		if (other->share.class == CLV_CLASS_LATENCY) {
			window_ns = PROMPT_WINDOW_NS;
			commands = 1;
			break;
		}
		if (clv_publish_wakes_often(arbiter, other, now_ns)) {
			window_ns = PROMPT_WINDOW_NS;
			commands = 2;
		}
	}
	if (lease->n_working_slots > 1)
		window_ns /= lease->n_working_slots;
	atomic_store(&lease->pages.control->is_preemptible, can_stop);
	atomic_store(&lease->pages.control->window_ns, window_ns);
	atomic_store(&lease->pages.control->window_commands, commands);
}
