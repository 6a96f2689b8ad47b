/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a lease to its device's arbiter. */
#include "agent/lease/lease-arbiter.h"

#include "agent/device/devices.h"
#include "agent/lease/debts.h"
#include "agent/lease/executor.h"
#include "agent/lease/lease.h"
#include "agent/lease/sm.h"
#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"

#include <assert.h>
#include <string.h>

/* Opens the slots of living processes again, and clears those of dead ones, so that the
 * quota does not count memory that was freed. */
static void restore_slots(struct clv_lease *lease)
{
	struct clv_arbiter *arbiter = lease->device->arbiter;
	struct clv_attached *process;
	uint32_t slot;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (!process->has_slot &&
			clv_arbiter_open_slot(arbiter, lease->arbiter_lease,
				process->record.slot, &slot, NULL) >= 0) {
			process->record.slot = slot;
			process->has_slot = true;
		}
	}
	for (uint32_t i = 0; i < CLV_SLOTS; i++) {
		if (!(lease->dead_slots[i / 64] >> (i % 64) & 1))
			continue;
		lease->dead_slots[i / 64] &= ~(UINT64_C(1) << (i % 64));
		if (clv_arbiter_open_slot(
			    arbiter, lease->arbiter_lease, i, &slot, NULL) >= 0)
			clv_arbiter_close_slot(arbiter, lease->arbiter_lease, slot);
	}
}

/* Starts the device's arbiter unless it runs. */
static int start_arbiter(
	struct clv_agent *agent, struct clv_agent_device *device, struct clv_error *err)
{
	struct clv_arbiter_config config = {
		.device_memory_bytes = device->info.memory_bytes,
		.is_processor = strcmp(device->info.type, "cpu") == 0};
	int r;

	if (device->arbiter)
		return 0;
	r = clv_arbiter_new(&config, &device->arbiter, err);
	if (r < 0)
		return r;
	clv_executor_begin(agent, device);
	clv_debts_restore(agent, device);
	return 0;
}

int clv_lease_open_arbiter(struct clv_lease *lease, const struct clv_process_id *id,
	int report_fd, struct clv_error *err)
{
	struct clv_share share = clv_lease_enforced_share(lease);
	struct clv_arbiter *arbiter;
	int r;

	assert(!lease->record.is_queued && !lease->is_dormant);
	if (lease->arbiter_lease)
		return 0;
	r = start_arbiter(lease->agent, lease->device, err);
	if (r < 0)
		return r;
	arbiter = lease->device->arbiter;
	clv_debts_set_account(lease, id);
	r = clv_arbiter_add(
		arbiter, &share, lease->debtor, report_fd, &lease->arbiter_lease, NULL);
	/* An invalid report page is no reason to refuse the program: make a new one. */
	if (r < 0)
		r = clv_arbiter_add(
			arbiter, &share, lease->debtor, -1, &lease->arbiter_lease, err);
	if (r < 0)
		return r;
	clv_sm_publish(lease);
	LIST_INSERT_HEAD(&lease->agent->in_use, lease, of_use);
	lease->agent->n_changes++;
	lease->samples[1].time_ns = lease->usage.seen_ns = clv_clock_ns();
	lease->samples[1].held_ns = lease->record.held_ns;
	restore_slots(lease);
	return 0;
}
