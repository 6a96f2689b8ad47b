/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/recount.h"

#include "agent/agent.h"
#include "agent/devices.h"
#include "agent/gate-server.h"
#include "agent/hardware.h"
#include "agent/lease.h"
#include "agent/ledger.h"

bool clv_recount_is_under_way(
	const struct clv_agent *agent, const struct clv_agent_device *device)
{
	return device->info.visible[0] != '\0' &&
	       clv_hardware_is_recounting(agent->hardware);
}

void clv_recount_ended(struct clv_agent *agent)
{
	struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (lease->gate && !lease->settle_timer)
			clv_gate_server_resume(lease->gate);
	}
	for (size_t i = 0; i < clv_devices_count(agent->devices) && agent->n_queued > 0;
		i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (!device->parent)
			clv_ledger_serve(agent->ledger, device);
	}
}
