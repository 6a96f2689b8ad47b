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

uint64_t clv_pause_allowed_ns(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	uint64_t ns = holder->pause_ns;

	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l == holder || !clv_policy_is_awake(arbiter->policy, l->policy_lease))
			continue;
		if (l->usual_drain_ns < LONG_NS)
			return 0;
		ns = min_ns(ns, l->usual_drain_ns / WORTH_PART);
	}
	if (ns > 0 &&
		clv_policy_pick(arbiter->policy, now_ns).lease != holder->policy_lease)
		return 0;
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
