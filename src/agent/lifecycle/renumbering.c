/* SPDX-License-Identifier: Apache-2.0 */
/* Resumes what waited for device numbers. */
#include "agent/lifecycle/renumbering.h"

#include "agent/attach/gate-server.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/lease.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/record/agent.h"

void clv_renumbering_ended(struct clv_agent *agent)
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
			clv_lifecycle_serve(agent->lifecycle, device);
	}
}
