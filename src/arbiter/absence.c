/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the agent's own absence out of all timers and accounts. */
#include "arbiter/absence.h"

#include "arbiter/heartbeat.h"
#include "arbiter/preempt.h"

static void shift(uint64_t *time_ns, uint64_t by_ns)
{
	if (*time_ns > 0)
		*time_ns += by_ns;
}

/* For how long a step has been late that was due, and gates have seen no heartbeat; 0 if
 * they have not yet taken the agent to be stopped.  A step that took long itself has kept
 * the heartbeat. */
static uint64_t late_ns(const struct clv_arbiter *arbiter, uint64_t now_ns)
{
	uint64_t beat_ns, since_ns = arbiter->due_ns, opened_ns;

	if (since_ns == 0 || since_ns == UINT64_MAX)
		return 0;
	opened_ns = since_ns + CLV_HEARTBEAT_ABSENT_NS - CLV_HEARTBEAT_NS;
	beat_ns = clv_heartbeat_oldest_ns(arbiter);
	if (beat_ns != UINT64_MAX && beat_ns + CLV_HEARTBEAT_ABSENT_NS > opened_ns)
		opened_ns = beat_ns + CLV_HEARTBEAT_ABSENT_NS;
	if (beat_ns != UINT64_MAX && beat_ns > since_ns)
		since_ns = beat_ns;
	return now_ns >= opened_ns ? now_ns - since_ns : 0;
}

void clv_absence_note(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	uint64_t late = late_ns(arbiter, now_ns), absent_ns = arbiter->hole_ns + late;

	if (absent_ns == 0)
		return;
	arbiter->hole_ns = 0;
	if (late > 0)
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
