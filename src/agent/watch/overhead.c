/* SPDX-License-Identifier: Apache-2.0 */
/* The overhead is the driver's figure less what gates charged.  The two are not taken at
 * one moment, and memory that a program frees or allocates in between would count as
 * overhead.  So the larger charge of before and after the reading is used, and the least
 * difference of several readings. */
#include "agent/watch/overhead.h"

#include "agent/device/devices.h"
#include "agent/record/agent.h"
#include "agent/watch/driver-processes.h"
#include "arbiter/arbiter.h"

static uint64_t difference(
	const struct clv_lease *lease, const struct clv_driver_processes_total *total)
{
	struct clv_arbiter_sample now;
	uint64_t ledger_bytes = lease->observed.noted_bytes, now_bytes;

	if (total->memory_bytes == CLV_READING_UNKNOWN)
		return 0;
	clv_lease_sample(lease, &now);
	now_bytes = now.memory_used_bytes - now.memory_overhead_bytes;
	if (now_bytes > ledger_bytes)
		ledger_bytes = now_bytes;
	return total->memory_bytes > ledger_bytes ? total->memory_bytes - ledger_bytes
						  : 0;
}

void clv_overhead_take(
	struct clv_lease *lease, const struct clv_driver_processes_total *total)
{
	struct clv_lease_observed *observed = &lease->observed;
	uint64_t least_bytes = UINT64_MAX;

	if (!lease->arbiter_lease)
		return;
	observed->overheads[observed->n_overheads++ % CLV_OVERHEADS] =
		difference(lease, total);
	for (size_t i = 0; i < CLV_OVERHEADS; i++) {
		if (observed->overheads[i] < least_bytes)
			least_bytes = observed->overheads[i];
	}
	clv_arbiter_set_overhead(
		lease->device->arbiter, lease->arbiter_lease, least_bytes);
}
