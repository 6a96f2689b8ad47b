/* SPDX-License-Identifier: Apache-2.0 */
/* Sums what is promised on a device. */
#include "agent/ledger/promises.h"

#include "agent/device/devices.h"
#include "agent/lease/lease.h"
#include "agent/ledger/standing.h"
#include "agent/record/agent.h"

void clv_promises_add_up(const struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_lease *without,
	const char *standing, struct clv_promised *ret)
{
	const struct clv_lease *lease;

	*ret = (struct clv_promised){0};
	clv_standing_add_promised(agent->standing, device, standing, ret);
	for (size_t i = 0; i < device->n_leases; i++) {
		lease = device->leases[i];
		if (lease == without || lease->is_left_out || lease->record.is_queued)
			continue;
		ret->compute_ppm += clv_share_promise_ppm(&lease->record.share);
		ret->memory_bytes += lease->record.share.memory_bytes;
	}
}
