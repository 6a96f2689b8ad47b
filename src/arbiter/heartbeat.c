/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes the heartbeat. */
#include "arbiter/heartbeat.h"

#include "base/clock.h"

void clv_heartbeat_publish(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l->n_slots > 0)
			atomic_store_explicit(&l->pages.control->heartbeat_ns, now_ns,
				memory_order_release);
	}
}

uint64_t clv_heartbeat_oldest_ns(const struct clv_arbiter *arbiter)
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
	uint64_t beat_ns = clv_heartbeat_oldest_ns(arbiter), now_ns = clv_clock_ns();

	if (beat_ns >= now_ns || now_ns - beat_ns < CLV_HEARTBEAT_NS)
		return;
	if (arbiter->is_stepping && now_ns - beat_ns >= CLV_HEARTBEAT_ABSENT_NS)
		arbiter->hole_ns += now_ns - beat_ns - CLV_HEARTBEAT_NS;
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
