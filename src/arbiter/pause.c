/* SPDX-License-Identifier: Apache-2.0 */
#include "arbiter/pause.h"

/* A lease earns a quarter of the time in which it computes, and so keeps the device idle
 * for a fifth of its held time at most. */
#define EARNED_PART 4
#define MOST_EARNED_NS (50 * CLV_NS_PER_MS)

/* Work that goes on for less after its turn delays others little.  Of longer work this
 * part is worth waiting. */
#define LONG_NS (10 * CLV_NS_PER_MS)
#define WORTH_PART 8

/* On a processor the thread that gets the end of a latency tenant's request competes with
 * the next lease's threads, which occupy all processors for milliseconds: the tenant
 * keeps the device for so long, and pays for it. */
#define QUIET_NS (100 * CLV_NS_PER_US)

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void clv_pause_earn(struct clv_arbiter_lease *holder)
{
	uint64_t held_ns = holder->account.held_ns - holder->earned_at_held_ns;

	holder->pause_ns =
		min_ns(holder->pause_ns + held_ns / EARNED_PART, MOST_EARNED_NS);
	holder->earned_at_held_ns = holder->account.held_ns;
}

/* Whether another lease would use the device now. */
static bool is_rival(struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease,
	const struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	return lease != holder &&
	       clv_policy_is_awake(arbiter->policy, lease->policy_lease) &&
	       !clv_policy_is_throttled(arbiter->policy, lease->policy_lease, now_ns);
}

uint64_t clv_pause_allowed_ns(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	uint64_t drain_ns = UINT64_MAX;

	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (is_rival(arbiter, l, holder, now_ns))
			drain_ns = min_ns(drain_ns, l->usual_drain_ns);
	}
	/* Without a rival the pause would only use up the holder's cap. */
	if (drain_ns < LONG_NS || drain_ns == UINT64_MAX || holder->pause_ns == 0 ||
		clv_policy_pick(arbiter->policy, now_ns).lease != holder->policy_lease)
		return 0;
	return min_ns(holder->pause_ns, drain_ns / WORTH_PART);
}

uint64_t clv_pause_after_request_ns(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	uint64_t ns = 0;

	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (!is_rival(arbiter, l, holder, now_ns))
			continue;
		if (l->share.class == CLV_CLASS_LATENCY)
			return 0;
		ns = QUIET_NS;
	}
	return ns;
}

void clv_pause_spend(struct clv_arbiter_lease *holder, uint64_t began_ns, uint64_t now_ns)
{
	holder->pause_ns -= min_ns(holder->pause_ns, now_ns - began_ns);
	/* The pause itself, which is charged later, earns nothing. */
	holder->earned_at_held_ns = holder->account.held_ns;
}

void clv_pause_note_drain(struct clv_arbiter_lease *lease, uint64_t ns)
{
	uint64_t usual_ns = lease->usual_drain_ns - lease->usual_drain_ns / 4;

	lease->usual_drain_ns = ns > usual_ns ? ns : usual_ns;
}
