/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees leases, and opens and closes their sockets. */
#include "agent/attach/lease-open.h"

#include "agent/attach/gate-server.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/lease/kernel-quota.h"
#include "agent/lease/orphaned-memory.h"
#include "agent/record/agent.h"
#include "agent/user/owner.h"

#include <assert.h>
#include <stdlib.h>

struct clv_lease *clv_lease_new(struct clv_agent *agent, struct clv_agent_device *device,
	const struct clv_lease_record *record)
{
	struct clv_lease *lease = calloc(1, sizeof(*lease));

	if (!lease)
		return NULL;
	lease->agent = agent;
	lease->device = device;
	lease->record = *record;
	lease->owner = clv_owner_of(record->tenant, record->uid);
	lease->account = clv_owner_account(record->tenant, lease->owner);
	TAILQ_INIT(&lease->processes);
	TAILQ_INIT(&lease->orphaned);
	return lease;
}

struct clv_lease *clv_lease_free(struct clv_lease *lease)
{
	if (!lease)
		return NULL;
	clv_gate_server_free(lease->gate);
	clv_fd_filter_end(&lease->fd_filter, lease->record.tenant);
	while (!TAILQ_EMPTY(&lease->processes))
		clv_attached_free(TAILQ_FIRST(&lease->processes));
	clv_orphaned_memory_forget(lease);
	clv_holder_forget(lease);
	free(lease->others);
	free(lease->seen);
	clv_kernel_quota_forget(lease);
	sd_event_source_disable_unref(lease->ending_timer);
	sd_event_source_disable_unref(lease->settle_timer);
	free(lease);
	return NULL;
}

int clv_lease_activate(struct clv_lease *lease, struct clv_error *err)
{
	int r;

	assert(!lease->gate && !lease->record.is_queued);
	r = clv_gate_server_new(lease, &lease->gate, err);
	if (r < 0)
		clv_lease_remove_folder(lease);
	else
		clv_kernel_quota_set(lease);
	return r;
}

void clv_lease_deactivate(struct clv_lease *lease)
{
	clv_kernel_quota_clear(lease);
	lease->gate = clv_gate_server_free(lease->gate);
	clv_lease_remove_folder(lease);
}
