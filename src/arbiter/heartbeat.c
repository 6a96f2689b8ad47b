/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes the heartbeat, and takes the agent's own absence out of all timers and
 * accounts. */
#include "arbiter/heartbeat.h"

#include "arbiter/preempt.h"
#include "base/clock.h"

/* Gates assume after this delay that the agent is stopped (gate/attach/heartbeat.c). */
#define ABSENT_NS (3 * CLV_HEARTBEAT_NS)

void clv_heartbeat_publish(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l->n_slots > 0)
			atomic_store_explicit(&l->pages.control->heartbeat_ns, now_ns,
				memory_order_release);
	}
}

/* UINT64_MAX: there is no gate that reads it. */
static uint64_t oldest_beat_ns(const struct clv_arbiter *arbiter)
{
	uint64_t oldest_ns = UINT64_MAX;

	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		uint64_t beat_ns =
			l->n_slots > 0
				? atomic_load_explicit(&l->pages.control->heartbeat_ns,
					  memory_order_relaxed)
				: UINT64_MAX;

		if (beat_ns < oldest_ns)
			oldest_ns = beat_ns;
	}
	return oldest_ns;
}

void clv_heartbeat_keep(struct clv_arbiter *arbiter)
{
	uint64_t beat_ns = oldest_beat_ns(arbiter), now_ns = clv_clock_ns();

	if (beat_ns < now_ns && now_ns - beat_ns >= CLV_HEARTBEAT_NS)
		clv_heartbeat_publish(arbiter, now_ns);
}

static bool is_anybody_waiting(const struct clv_arbiter *arbiter)
{
	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (clv_lease_is_in_line(l))
			return true;
	}
	return false;
}

uint64_t clv_heartbeat_due_ns(const struct clv_arbiter *arbiter, uint64_t now_ns)
{
	const struct clv_arbiter_lease *holder = arbiter->holder;

	if ((holder && !clv_lease_is_relaxed(holder)) || is_anybody_waiting(arbiter))
		return now_ns + CLV_HEARTBEAT_NS;
	return UINT64_MAX;
}

static void shift(uint64_t *time_ns, uint64_t by_ns)
{
	if (*time_ns > 0)
		*time_ns += by_ns;
}

/* A step that took long itself has kept the heartbeat. */
static uint64_t absent_since_ns(const struct clv_arbiter *arbiter)
{
	uint64_t beat_ns = oldest_beat_ns(arbiter), due_ns = arbiter->due_ns;

	if (beat_ns != UINT64_MAX && beat_ns + CLV_HEARTBEAT_NS > due_ns)
		due_ns = beat_ns + CLV_HEARTBEAT_NS;
	return due_ns;
}

void clv_heartbeat_note_absence(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	uint64_t due_ns = absent_since_ns(arbiter), absent_ns;

	if (due_ns == 0 || due_ns == UINT64_MAX || now_ns < due_ns + ABSENT_NS)
		return;
	absent_ns = now_ns - due_ns;
	arbiter->due_ns = now_ns;
	shift(&arbiter->closing_since_ns, absent_ns);
	shift(&arbiter->handover.ends_ns, absent_ns);
	shift(&arbiter->handover.latest_ns, absent_ns);
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		shift(&l->charged_until_ns, absent_ns);
		shift(&l->stray_since_ns, absent_ns);
		shift(&l->overdue_at_ns, absent_ns);
		shift(&l->idle_seen_ns, absent_ns);
		shift(&l->idle_since_ns, absent_ns);
		shift(&l->lingers_until_ns, absent_ns);
		/* Halted threads continue when the heartbeat stops. */
		clv_preempt_halt_again(arbiter, l);
	}
}
