/* SPDX-License-Identifier: Apache-2.0 */
/* One lease: its account, its place in the arbiter, its memory.  Which leases there are,
 * and what they may have, is the ledger's. */
#include "agent/lease.h"

#include "agent/agent.h"
#include "agent/attached.h"
#include "agent/debts.h"
#include "agent/devices.h"
#include "agent/enforce.h"
#include "agent/gate-server.h"
#include "agent/holder.h"
#include "agent/kernel-quota.h"
#include "agent/owner.h"
#include "agent/sm.h"
#include "arbiter/arbiter.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

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
	TAILQ_INIT(&lease->processes);
	return lease;
}

struct clv_lease *clv_lease_free(struct clv_lease *lease)
{
	if (!lease)
		return NULL;
	clv_gate_server_free(lease->gate);
	while (!TAILQ_EMPTY(&lease->processes))
		clv_attached_free(TAILQ_FIRST(&lease->processes));
	clv_holder_forget(lease);
	free(lease->others);
	clv_kernel_quota_forget(lease);
	sd_event_source_disable_unref(lease->ending_timer);
	sd_event_source_disable_unref(lease->settle_timer);
	free(lease);
	return NULL;
}

int clv_lease_activate(struct clv_lease *lease, struct clv_error *err)
{
	int r = clv_gate_server_new(lease, &lease->gate, err);

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

struct clv_agent_device *clv_lease_device(const struct clv_lease *lease, size_t at)
{
	if (at == 0)
		return lease->device;
	return at <= lease->n_others ? lease->others[at - 1] : NULL;
}

bool clv_lease_is_on(const struct clv_lease *lease, const struct clv_agent_device *device)
{
	for (size_t i = 0; i <= lease->n_others; i++) {
		if (clv_lease_device(lease, i) == device)
			return true;
	}
	return false;
}

int clv_lease_add_device(struct clv_lease *lease, struct clv_agent_device *device)
{
	struct clv_agent_device **slot;

	if (lease->n_others == CLV_LEASE_DEVICES_MAX - 1)
		return -E2BIG;
	slot = CLV_APPEND(lease->others, lease->n_others);
	if (!slot)
		return -ENOMEM;
	*slot = device;
	return 0;
}

int clv_lease_make_id(char ret[CLV_LEASE_ID_MAX])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(ret, CLV_LEASE_ID_MAX, "l%016" PRIx64, number);
	return 0;
}

void clv_lease_sample(const struct clv_lease *lease, struct clv_arbiter_sample *ret)
{
	*ret = (struct clv_arbiter_sample){0};
	if (lease->arbiter_lease)
		clv_arbiter_sample(lease->device->arbiter, lease->arbiter_lease, ret);
	ret->held_ns += lease->record.held_ns;
	ret->throttled_ns += lease->record.throttled_ns;
	ret->turns += lease->record.turns;
	ret->revocations += lease->record.revocations;
	ret->overdue += lease->record.overdue;
}

void clv_lease_snapshot(const struct clv_lease *lease, struct clv_lease_record *ret)
{
	struct clv_arbiter_sample sample;

	clv_lease_sample(lease, &sample);
	*ret = lease->record;
	ret->held_ns = sample.held_ns;
	ret->throttled_ns = sample.throttled_ns;
	ret->turns = sample.turns;
	ret->revocations = sample.revocations;
	ret->overdue = sample.overdue;
}

double clv_lease_share_used(const struct clv_lease *lease)
{
	struct clv_arbiter_sample now;
	uint64_t held_ns, time_ns;
	double used;

	if (lease->samples[1].time_ns == 0)
		return 0;
	if (lease->samples[0].time_ns != 0) {
		held_ns = lease->samples[1].held_ns - lease->samples[0].held_ns;
		time_ns = lease->samples[1].time_ns - lease->samples[0].time_ns;
	} else { /* in its first second */
		clv_lease_sample(lease, &now);
		held_ns = now.held_ns - lease->samples[1].held_ns;
		time_ns = clv_clock_ns() - lease->samples[1].time_ns;
	}
	used = time_ns > 0 ? (double)held_ns / (double)time_ns : 0;
	return used > 1 ? 1 : used;
}

/* Slots of the living are theirs again; those of the dead are cleared, so that the quota
 * does not count what no longer is. */
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

int clv_lease_open_arbiter(struct clv_lease *lease, const struct clv_process_id *id,
	int report_fd, struct clv_error *err)
{
	struct clv_share share = clv_enforce_share(lease);
	struct clv_arbiter *arbiter;
	int r;

	if (lease->arbiter_lease)
		return 0;
	r = clv_devices_arbiter(lease->agent->devices, lease->device, &arbiter, err);
	if (r < 0)
		return r;
	clv_debts_name(lease, id);
	r = clv_arbiter_add(
		arbiter, &share, lease->debtor, report_fd, &lease->arbiter_lease, NULL);
	/* An old page that is none of ours is not a reason to refuse the program. */
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

static void describe_compute(const struct clv_share *share, char ret[40])
{
	char first[16], most[16];

	if (share->range.most_ppm == 0) {
		clv_units_format_fraction(share->compute_ppm, ret);
		return;
	}
	clv_units_format_fraction(share->range.least_ppm, first);
	clv_units_format_fraction(share->range.most_ppm, most);
	snprintf(ret, 40, "%s..%s", first, most);
}

void clv_lease_describe_share(const struct clv_share *share, char *ret, size_t ret_bytes)
{
	char fraction[40], cap[16] = "none", memory[32], spill[64] = "";

	describe_compute(share, fraction);
	if (share->cap_ppm > 0)
		clv_units_format_fraction(share->cap_ppm, cap);
	if (share->spill_bytes > 0) {
		char bytes[32];

		clv_units_format_bytes(share->spill_bytes, bytes);
		snprintf(spill, sizeof(spill), " and %s of the host's", bytes);
	}
	clv_units_format_bytes(share->memory_bytes, memory);
	snprintf(ret, ret_bytes, "share %s, cap %s, memory %s%s, class %s", fraction, cap,
		memory, spill, clv_class_to_string(share->class));
}

void clv_lease_describe(const struct clv_lease *lease, char *ret, size_t ret_bytes)
{
	int used = snprintf(ret, ret_bytes, "%s on %s: ", lease->record.name,
		lease->device->info.name);

	if (used > 0 && (size_t)used < ret_bytes)
		clv_lease_describe_share(
			&lease->record.share, ret + used, ret_bytes - (size_t)used);
}

bool clv_lease_is_below(
	const struct clv_lease *lease, const struct clv_agent_device *root)
{
	struct clv_agent_device *device;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		if (clv_devices_root(device) == root)
			return true;
	}
	return false;
}
