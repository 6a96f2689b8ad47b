/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/queue.h"

#include "agent/agent.h"
#include "agent/devices.h"
#include "agent/ledger.h"
#include "agent/tenants.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <stdlib.h>

/* A tenant who waits for the device: what he has on the node, and what those of his that
 * were looked at by now would add. */
struct waiting {
	uid_t uid;
	struct clv_tenant_use use;
	uint64_t more_ppm;
};

struct queue {
	struct clv_ledger *ledger;
	struct waiting *tenants;
	size_t n_tenants;
};

static uint64_t compute_of(const struct clv_lease *lease)
{
	return (uint64_t)lease->record.share.compute_ppm * (lease->n_others + 1);
}

static struct waiting *find(struct queue *queue, const struct clv_lease *lease)
{
	struct waiting *tenant;

	for (size_t i = 0; i < queue->n_tenants; i++) {
		if (queue->tenants[i].uid == lease->record.uid)
			return &queue->tenants[i];
	}
	tenant = CLV_APPEND(queue->tenants, queue->n_tenants);
	if (!tenant)
		return NULL;
	tenant->uid = lease->record.uid;
	clv_tenants_use(lease->agent, lease->record.uid, lease->record.gid, &tenant->use);
	return tenant;
}

/* What the tenant would have with this one and those of his that came before it.  One who
 * may not have it at present, by his allowance, is behind all others. */
static uint64_t would_have(struct queue *queue, const struct clv_lease *lease)
{
	struct waiting *tenant = find(queue, lease);

	if (!tenant)
		return UINT64_MAX;
	tenant->more_ppm += compute_of(lease);
	if (clv_allowance_check(&tenant->use.allowance, &tenant->use.has,
		    &lease->record.share, "", NULL) < 0)
		return UINT64_MAX - 1;
	return tenant->use.has.compute_ppm + tenant->more_ppm;
}

struct clv_lease *clv_queue_first(
	struct clv_ledger *ledger, const struct clv_agent_device *device)
{
	struct queue queue = {.ledger = ledger};
	struct clv_lease *first = NULL;
	uint64_t least = UINT64_MAX - 1;

	for (size_t i = 0; i < device->n_leases; i++) {
		struct clv_lease *lease = device->leases[i];
		uint64_t has;

		if (!lease->record.is_queued)
			continue;
		has = would_have(&queue, lease);
		if (has < least) {
			least = has;
			first = lease;
		}
	}
	free(queue.tenants);
	return first;
}

/* Those who are served before: with less, or with as much and longer there. */
static uint32_t count_before(const struct clv_agent_device *device, const uint64_t *would,
	const struct clv_lease *lease)
{
	uint64_t own = 0;
	uint32_t n = 0;
	size_t at = 0;

	for (size_t i = 0; i < device->n_leases; i++) {
		if (device->leases[i] == lease) {
			own = would[i];
			at = i;
		}
	}
	for (size_t i = 0; i < device->n_leases; i++)
		n += device->leases[i]->record.is_queued && i != at &&
		     (would[i] < own || (would[i] == own && i < at));
	return n;
}

uint32_t clv_queue_position(struct clv_ledger *ledger, const struct clv_lease *lease)
{
	const struct clv_agent_device *device = lease->device;
	struct queue queue = {.ledger = ledger};
	_cleanup_free_ uint64_t *would = NULL;
	uint32_t position = 0;

	if (!lease->record.is_queued)
		return 0;
	would = calloc(device->n_leases + 1, sizeof(*would));
	for (size_t i = 0; would && i < device->n_leases; i++) {
		if (device->leases[i]->record.is_queued)
			would[i] = would_have(&queue, device->leases[i]);
	}
	if (would)
		position = 1 + count_before(device, would, lease);
	free(queue.tenants);
	return position;
}
