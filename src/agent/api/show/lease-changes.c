/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/api/show/lease-changes.h"

#include "agent/auth/caller.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/kernel-quota.h"
#include "agent/lease/lease.h"
#include "agent/ledger/queue.h"
#include "agent/record/field.h"
#include "agent/record/lease-fields.h"
#include "arbiter/arbiter.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct ended {
	char id[CLV_LEASE_ID_MAX];
	uid_t owner;
	uint64_t revision;
};

struct clv_lease_changes {
	uint32_t instance;
	uint64_t revision; /* of the last change that was seen; from 1 */
	/* The newest leases that have ended: a ring. */
	struct ended ended[CLV_CHANGES_ENDED];
	uint64_t n_ended;   /* since the agent's start */
	uint64_t forgotten; /* the last revision that the ring no longer has */
};

struct clv_lease_changes *clv_lease_changes_new(void)
{
	struct clv_lease_changes *changes = calloc(1, sizeof(*changes));

	if (!changes)
		return NULL;
	changes->revision = 1;
	if (getrandom(&changes->instance, sizeof(changes->instance), 0) < 0)
		return clv_lease_changes_free(changes);
	return changes;
}

struct clv_lease_changes *clv_lease_changes_free(struct clv_lease_changes *changes)
{
	free(changes);
	return NULL;
}

void clv_lease_changes_ended(
	struct clv_lease_changes *changes, const struct clv_lease *lease)
{
	struct ended *slot = &changes->ended[changes->n_ended++ % CLV_CHANGES_ENDED];

	changes->forgotten = slot->revision;
	*slot = (struct ended){.owner = lease->owner, .revision = ++changes->revision};
	memcpy(slot->id, lease->record.id, sizeof(slot->id));
}

void clv_lease_changes_revision(
	const struct clv_lease_changes *changes, char ret[CLV_REVISION_MAX])
{
	snprintf(ret, CLV_REVISION_MAX, "%08" PRIx32 "-%" PRIu64, changes->instance,
		changes->revision);
}

int clv_lease_changes_since(const struct clv_lease_changes *changes, const char *text,
	uint64_t *ret, struct clv_error *err)
{
	char again[CLV_REVISION_MAX];
	uint32_t instance;
	uint64_t revision;

	if (sscanf(text, "%8" SCNx32 "-%19" SCNu64, &instance, &revision) == 2)
		snprintf(again, sizeof(again), "%08" PRIx32 "-%" PRIu64, instance,
			revision);
	else
		again[0] = '\0';
	if (strcmp(text, again) != 0)
		return clv_error_set(err, -EINVAL,
			"since can only be the revision of an earlier answer: leave it "
			"out "
			"for all leases");
	*ret = instance == changes->instance && revision >= changes->forgotten &&
			       revision <= changes->revision
		       ? revision
		       : 0;
	return 0;
}

/* What the functions of agent/api/show/render-lease.c read besides the fields of the
 * record and of the sample. */
static uint64_t hash_rest(const struct clv_lease *lease, uint64_t hash)
{
	const struct clv_lease_observed *observed = &lease->observed;
	const struct clv_agent_device *device;
	const struct clv_attached *process;
	uint64_t values[] = {
		clv_queue_position(lease),
		observed->is_known ? observed->memory_bytes : UINT64_MAX,
		observed->work.is_known ? (uint64_t)(observed->work.utilization * CLV_PPM)
					: UINT64_MAX,
		observed->is_over,
		observed->work.bypasses_gate,
		observed->is_throttled,
		observed->ungated,
		clv_kernel_quota_is_enforced(lease),
		(uint64_t)(clv_lease_share_used(lease) * CLV_PPM),
	};

	hash = clv_field_hash(values, sizeof(values), hash);
	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		bool has_number =
			!clv_hardware_is_renumbering_device(lease->agent, device);

		hash = clv_field_hash(&has_number, sizeof(has_number), hash);
		hash = clv_field_hash_text(device->info.visible, hash);
	}
	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		uint64_t of_process[] = {
			(uint64_t)process->record.id.pid,
			process->record.attached_real_ns,
			lease->arbiter_lease && process->has_slot
				? clv_arbiter_slot_memory(
					  lease->arbiter_lease, process->record.slot)
				: 0,
			process->sm,
			process->sm_count,
		};

		hash = clv_field_hash(of_process, sizeof(of_process), hash);
	}
	return hash;
}

uint64_t clv_lease_changes_see(struct clv_lease_changes *changes, struct clv_lease *lease)
{
	struct clv_arbiter_sample sample;
	uint64_t hash;

	clv_lease_sample(lease, &sample);
	hash = clv_field_hash_changes(&clv_lease_fields, &lease->record, &sample, 0);
	hash = hash_rest(lease, hash);
	if (lease->seen_revision == 0 || lease->seen_hash != hash) {
		lease->seen_hash = hash;
		lease->seen_revision = ++changes->revision;
	}
	return lease->seen_revision;
}

json_t *clv_lease_changes_list_ended(const struct clv_lease_changes *changes,
	uint64_t since, const struct clv_caller *caller)
{
	json_t *ids = json_array();
	uint64_t at = changes->n_ended > CLV_CHANGES_ENDED
			      ? changes->n_ended - CLV_CHANGES_ENDED
			      : 0;

	for (; at < changes->n_ended; at++) {
		const struct ended *ended = &changes->ended[at % CLV_CHANGES_ENDED];

		if (ended->revision > since && clv_caller_sees(caller, ended->owner))
			json_array_append_new(ids, json_string(ended->id));
	}
	return ids;
}
