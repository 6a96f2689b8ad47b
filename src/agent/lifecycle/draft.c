/* SPDX-License-Identifier: Apache-2.0 */
/* What a request becomes: where it goes, whether its tenant may have it, its record. */
#include "agent/lifecycle/draft.h"

#include "agent/attach/lease-open.h"
#include "agent/auth/caller.h"
#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/lease/lease.h"
#include "agent/lease/sm.h"
#include "agent/lease/time-limit.h"
#include "agent/ledger/naming.h"
#include "agent/ledger/tenants.h"
#include "agent/os/processes.h"
#include "agent/record/agent.h"
#include "agent/record/lease-fields.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A request that may wait also waits for other leases of its own tenant to end. */
static int check_allowance(struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_placing *placing,
	const struct clv_caller *caller, struct clv_error *err)
{
	struct clv_share all = placing->share;
	int r;

	all.compute_ppm *= (uint32_t)(placing->n_others + 1);
	all.memory_bytes *= placing->n_others + 1;
	r = clv_tenants_check(agent, clv_tenant_of_caller(caller), NULL, &all,
		placing->device->info.profile, err);
	if (r == -EBUSY && request->wait) {
		placing->must_wait = true;
		return 0;
	}
	return r;
}

/* Whole devices together, and a standing share by its whole name, are those that were
 * chosen. */
static struct clv_lease_asked describe_request(const struct clv_lease_request *request)
{
	struct clv_lease_asked asked = {
		.may_move = !strchr(request->in, '/') && request->count <= 1 &&
			    request->devices[0] == '\0',
		.compute_ppm = request->share.compute_ppm,
		.memory_bytes = request->share.memory_bytes,
	};

	snprintf(asked.device, sizeof(asked.device), "%s", request->device);
	snprintf(asked.profile, sizeof(asked.profile), "%s", request->profile);
	return asked;
}

int clv_draft_make(struct clv_agent *agent, const struct clv_lease_request *request,
	const struct clv_caller *caller, const struct clv_peer *peer,
	struct clv_lease_record *ret, struct clv_placing *placing, struct clv_error *err)
{
	struct clv_lease_record record = {
		.uid = peer->uid,
		.gid = peer->gid,
		.holder = peer->id,
		.is_kept = request->keep,
		.created_real_ns = clv_clock_real_ns(),
	};
	int r;

	if (request->overcommit && agent->config.is_system &&
		!agent->config.allow_overcommit && !agent->settings->allow_overcommit &&
		caller->uid != 0)
		return clv_error_set(err, -EPERM,
			"this node does not allow overcommitment: request what is free, "
			"or wait with --wait");
	r = clv_tenants_check_count(agent, clv_tenant_of_caller(caller), err);
	if (r < 0)
		return r;
	r = clv_lease_make_id(record.id);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot make a lease id");
	r = clv_naming_choose(agent->ledger, request, caller->uid, record.name, err);
	if (r < 0)
		return r;
	r = clv_placing_choose(agent, request, placing, err);
	if (r < 0)
		return r;

	r = check_allowance(agent, request, placing, caller, err);
	if (r < 0)
		return r;

	record.share = placing->share;
	if (placing->must_wait)
		record.asked = describe_request(request);
	record.sm = clv_sm_place_on(placing->device, request->sm_ppm);
	record.is_queued = placing->must_wait;
	clv_time_limit_begin(&record, request->time_s);
	memcpy(record.standing, placing->standing, sizeof(record.standing));
	clv_field_copy_request(&clv_lease_fields, request, &record);
	snprintf(record.device_uuid, sizeof(record.device_uuid), "%s",
		placing->device->info.uuid);
	memcpy(record.tenant, caller->subject, sizeof(record.tenant));
	clv_process_boot_id(record.boot_id);
	*ret = record;
	return 0;
}

struct clv_lease *clv_draft_lease(struct clv_agent *agent,
	const struct clv_placing *placing, const struct clv_lease_record *record)
{
	struct clv_lease *lease = clv_lease_new(agent, placing->device, record);

	for (size_t i = 0; lease && i < placing->n_others; i++) {
		if (clv_lease_add_device(lease, placing->others[i]) < 0)
			lease = clv_lease_free(lease);
	}
	return lease;
}

void clv_draft_unclaim(struct clv_agent *agent, const struct clv_placing *placing)
{
	if (!placing->device)
		return;
	clv_devices_unclaim(agent->devices, placing->device);
	for (size_t i = 0; i < placing->n_others; i++)
		clv_devices_unclaim(agent->devices, placing->others[i]);
}
