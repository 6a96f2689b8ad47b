/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the agent's own absence out of all timers and accounts. */
#include "arbiter/absence.h"

#include "arbiter/heartbeat.h"
#include "arbiter/preempt.h"

/* Gates assume after this delay that the agent is stopped (gate/attach/heartbeat.c). */
#define ABSENT_NS (3 * CLV_HEARTBEAT_NS)

static void shift(uint64_t *time_ns, uint64_t by_ns)
{
	if (*time_ns > 0)
		*time_ns += by_ns;
}

/* A step that took long itself has kept the heartbeat. */
static uint64_t absent_since_ns(const struct clv_arbiter *arbiter)
{
	uint64_t beat_ns = clv_heartbeat_oldest_ns(arbiter), due_ns = arbiter->due_ns;

	if (beat_ns != UINT64_MAX && beat_ns + CLV_HEARTBEAT_NS > due_ns)
		due_ns = beat_ns + CLV_HEARTBEAT_NS;
	return due_ns;
}

void clv_absence_note(struct clv_arbiter *arbiter, uint64_t now_ns)
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
