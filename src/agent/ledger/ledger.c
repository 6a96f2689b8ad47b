/* SPDX-License-Identifier: Apache-2.0 */
/* The table of leases. lifecycle.c makes and ends them. */
#include "agent/ledger/ledger.h"

#include "agent/auth/caller.h"
#include "agent/device/devices.h"
#include "agent/lease/lease-index.h"
#include "agent/record/agent.h"
#include "agent/user/owner.h"
#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clv_ledger {
	struct clv_agent *agent;
	struct clv_lease_list leases;
	struct clv_lease_index *index;
	uint64_t last_sequence;
};

int clv_ledger_new(
	struct clv_agent *agent, struct clv_ledger **ret, struct clv_error *err)
{
	struct clv_ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger)
		ledger->index = clv_lease_index_new();
	if (!ledger || !ledger->index) {
		free(ledger);
		return clv_error_errno(err, ENOMEM, "cannot keep leases");
	}
	ledger->agent = agent;
	TAILQ_INIT(&ledger->leases);
	*ret = ledger;
	return 0;
}

struct clv_ledger *clv_ledger_free(struct clv_ledger *ledger)
{
	if (!ledger)
		return NULL;
	assert(TAILQ_EMPTY(&ledger->leases));
	clv_lease_index_free(ledger->index);
	free(ledger);
	return NULL;
}

struct clv_lease_list *clv_ledger_leases(struct clv_ledger *ledger)
{
	return &ledger->leases;
}

/* Finds by name among the leases of all owners, of which several may have the name. */
static struct clv_lease *find_of_any_owner(
	struct clv_ledger *ledger, const char *name, struct clv_error *err)
{
	struct clv_lease *lease, *found = NULL;

	TAILQ_FOREACH(lease, &ledger->leases, entry)
	{
		if (strcmp(lease->record.name, name) != 0)
			continue;
		if (found) {
			clv_error_set(err, -EINVAL,
				"several users have a lease of this name: use its id");
			return NULL;
		}
		found = lease;
	}
	if (!found)
		clv_error_set(err, -ENOENT,
			"there is no such lease: cleave ps lists the leases");
	return found;
}

struct clv_lease *clv_ledger_find(struct clv_ledger *ledger, const char *id_or_name,
	const struct clv_caller *caller, struct clv_error *err)
{
	struct clv_lease *lease = clv_lease_index_by_id(ledger->index, id_or_name);

	if (lease && (!caller || clv_caller_sees(caller, lease->owner)))
		return lease;
	lease = caller ? clv_lease_index_by_name(ledger->index, caller->uid, id_or_name)
		       : NULL;
	if (lease)
		return lease;
	if (!caller || caller->scope != CLV_SCOPE_TENANT)
		return find_of_any_owner(ledger, id_or_name, err);
	clv_error_set(err, -ENOENT, "there is no such lease: cleave ps lists the leases");
	return NULL;
}

struct clv_lease *clv_ledger_find_id(struct clv_ledger *ledger, const char *id)
{
	return clv_lease_index_by_id(ledger->index, id);
}

bool clv_ledger_has_name(const struct clv_ledger *ledger, uid_t uid, const char *name)
{
	return clv_lease_index_by_name(ledger->index, uid, name) != NULL;
}

struct clv_lease *clv_ledger_next_of(
	const struct clv_ledger *ledger, uid_t account, const struct clv_lease *after)
{
	return clv_lease_index_next_of(ledger->index, account, after);
}

void clv_ledger_find_accounts(struct clv_ledger *ledger)
{
	struct clv_lease *lease = clv_ledger_next_of(ledger, CLV_OWNER_UNKNOWN, NULL);

	while (lease) {
		struct clv_lease *next =
			clv_ledger_next_of(ledger, CLV_OWNER_UNKNOWN, lease);

		clv_lease_index_remove(lease);
		lease->account = clv_owner_account(lease->record.tenant, lease->owner);
		clv_lease_index_add(ledger->index, lease);
		lease = next;
	}
}

const struct clv_lease *clv_ledger_standing(
	const struct clv_ledger *ledger, const char *name)
{
	const struct clv_lease *lease;

	TAILQ_FOREACH(lease, &ledger->leases, entry)
	{
		if (!lease->record.is_queued && strcmp(lease->record.standing, name) == 0)
			return lease;
	}
	return NULL;
}

static void remove_from_device(
	struct clv_agent_device *device, const struct clv_lease *lease)
{
	for (size_t i = 0; i < device->n_leases; i++) {
		if (device->leases[i] != lease)
			continue;
		memmove(&device->leases[i], &device->leases[i + 1],
			(--device->n_leases - i) * sizeof(device->leases[0]));
		return;
	}
}

static void remove_from_devices(const struct clv_lease *lease)
{
	struct clv_agent_device *device;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++)
		remove_from_device(device, lease);
}

int clv_ledger_add(
	struct clv_ledger *ledger, struct clv_lease *lease, struct clv_error *err)
{
	struct clv_agent_device *device;
	struct clv_lease **slot;

	assert(lease->agent == ledger->agent);
	assert(!clv_lease_index_by_id(ledger->index, lease->record.id));
	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		slot = CLV_APPEND(device->leases, device->n_leases);
		if (!slot) {
			remove_from_devices(lease);
			return clv_error_errno(err, ENOMEM, "cannot keep the lease");
		}
		*slot = lease;
	}
	ledger->agent->n_leases++;
	ledger->agent->n_queued += lease->record.is_queued;
	ledger->agent->n_expiring += lease->record.expires_real_ns > 0;
	ledger->agent->ranked_ns = 0;
	lease->sequence = ++ledger->last_sequence;
	TAILQ_INSERT_TAIL(&ledger->leases, lease, entry);
	clv_lease_index_add(ledger->index, lease);
	return 0;
}

void clv_ledger_remove(struct clv_ledger *ledger, struct clv_lease *lease)
{
	assert(clv_lease_index_by_id(ledger->index, lease->record.id) == lease);
	assert(ledger->agent->n_leases > 0);
	assert(ledger->agent->n_queued >= lease->record.is_queued);
	remove_from_devices(lease);
	ledger->agent->n_leases--;
	ledger->agent->n_queued -= lease->record.is_queued;
	ledger->agent->n_expiring -= lease->record.expires_real_ns > 0;
	ledger->agent->ranked_ns = 0;
	TAILQ_REMOVE(&ledger->leases, lease, entry);
	clv_lease_index_remove(lease);
}

int clv_ledger_move(struct clv_ledger *ledger, struct clv_lease *lease,
	struct clv_agent_device *device)
{
	struct clv_lease **slot;

	assert(lease->record.is_queued && lease->n_others == 0);
	assert(!clv_lease_is_on(lease, device));
	slot = CLV_APPEND(device->leases, device->n_leases);
	if (!slot)
		return -ENOMEM;
	*slot = lease;
	remove_from_device(lease->device, lease);
	lease->device = device;
	snprintf(lease->record.device_uuid, sizeof(lease->record.device_uuid), "%s",
		device->info.uuid);
	ledger->agent->ranked_ns = 0;
	return 0;
}
