/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/queue.h"

#include "agent/agent.h"
#include "agent/ledger.h"
#include "agent/tenants.h"

/* What the lease's tenant would have with it, with what he has and what he waits for
 * longer.  One who may not have it at present, by his allowance, is behind all others. */
static uint64_t would_have(struct clv_ledger *ledger, const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;
	uint64_t sum_ppm = 0;
	const struct clv_lease *other;

	if (clv_tenants_check(lease->agent, record->uid, record->gid, lease,
		    &record->share, "", NULL) < 0)
		return UINT64_MAX;
	TAILQ_FOREACH(other, clv_ledger_leases(ledger), entry)
	{
		bool is_earlier = other->sequence <= lease->sequence;

		if (other->record.uid == record->uid &&
			(!other->record.is_queued || is_earlier))
			sum_ppm += (uint64_t)other->record.share.compute_ppm *
				   (other->n_others + 1);
	}
	return sum_ppm;
}

static bool waits_for(
	const struct clv_lease *lease, const struct clv_agent_device *device)
{
	return lease->record.is_queued && clv_lease_is_on(lease, device);
}

struct clv_lease *clv_queue_first(
	struct clv_ledger *ledger, const struct clv_agent_device *device)
{
	struct clv_lease *lease, *first = NULL;
	uint64_t least = UINT64_MAX;

	TAILQ_FOREACH(lease, clv_ledger_leases(ledger), entry)
	{
		uint64_t has =
			waits_for(lease, device) ? would_have(ledger, lease) : UINT64_MAX;

		if (has < least) {
			least = has;
			first = lease;
		}
	}
	return first;
}

uint32_t clv_queue_position(struct clv_ledger *ledger, const struct clv_lease *lease)
{
	const struct clv_lease *other;
	uint32_t position = 1;
	uint64_t has;

	if (!lease->record.is_queued)
		return 0;
	has = would_have(ledger, lease);
	TAILQ_FOREACH(other, clv_ledger_leases(ledger), entry)
	{
		uint64_t others;

		if (other == lease || !waits_for(other, lease->device))
			continue;
		others = would_have(ledger, other);
		position += others < has ||
			    (others == has && other->sequence < lease->sequence);
	}
	return position;
}
