/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts of debt: their names, and copying them between the arbiters and the state
 * file. */
#include "agent/lease/debts.h"

#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/lease/attached.h"
#include "agent/lease/lease.h"
#include "agent/os/processes.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/owner.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

static const struct clv_process_id *any_process(const struct clv_lease *lease)
{
	const struct clv_attached *process = TAILQ_FIRST(&lease->processes);

	return process ? &process->record.id : &lease->record.holder;
}

/* The length of the path up to a pod's cgroup, which kubelet names podUID or, with
 * systemd, kubepods-QOS-podUID.slice; without one the whole length. */
static size_t length_of_pod(const char *path)
{
	for (const char *part = path; part; part = strchr(part + 1, '/')) {
		size_t length = strcspn(part + 1, "/");
		const char *pod = strstr(part, "-pod");

		if (strncmp(part, "/pod", 4) == 0 || (pod && pod <= part + length))
			return (size_t)(part - path) + 1 + length;
	}
	return strlen(path);
}

void clv_debts_set_account(struct clv_lease *lease, const struct clv_process_id *id)
{
	enum clv_debts_of debts_of = lease->agent->settings->debts_of;
	char path[CLV_CGROUP_MAX];
	size_t length;

	if (debts_of == CLV_DEBTS_OF_TENANT ||
		clv_process_cgroup(id ? id : any_process(lease), path) < 0) {
		if (lease->record.tenant[0])
			clv_owner_account_name(lease->record.tenant, lease->owner,
				lease->debtor, sizeof(lease->debtor));
		else
			snprintf(lease->debtor, sizeof(lease->debtor), "user %u",
				lease->record.uid);
		return;
	}
	length = debts_of == CLV_DEBTS_OF_POD ? length_of_pod(path) : strlen(path);
	/* Keep the end of a path that is too long: it distinguishes cgroups better. */
	snprintf(lease->debtor, sizeof(lease->debtor), "%.*s",
		(int)(length < sizeof(lease->debtor) ? length
						     : sizeof(lease->debtor) - 1),
		length < sizeof(lease->debtor)
			? path
			: path + length - sizeof(lease->debtor) + 1);
}

static int restore_one(void *userdata, const struct clv_policy_debt *debt)
{
	struct clv_agent_device *device = userdata;

	device->has_stored_debts = true;
	return clv_arbiter_restore_debt(device->arbiter, debt);
}

void clv_debts_restore(struct clv_agent *agent, struct clv_agent_device *device)
{
	struct clv_store *store = clv_state_get_readable(agent, NULL);
	struct clv_error err = {0};

	if (store && clv_store_read_debts(
			     store, device->info.uuid, restore_one, device, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}

struct writing {
	struct clv_store *store;
	const char *uuid;
	struct clv_error *err;
	int r;
	bool has_any;
};

static void put_one(void *userdata, const struct clv_policy_debt *debt)
{
	struct writing *writing = userdata;

	writing->has_any = true;
	if (writing->r >= 0)
		writing->r = clv_store_put_debt(
			writing->store, writing->uuid, debt, writing->err);
}

int clv_debts_put(
	struct clv_store *store, struct clv_agent_device *device, struct clv_error *err)
{
	struct writing writing = {.store = store, .uuid = device->info.uuid, .err = err};

	if (device->has_stored_debts)
		writing.r = clv_store_clear_debts(store, device->info.uuid, err);
	if (device->arbiter)
		clv_arbiter_each_debt(device->arbiter, put_one, &writing);
	device->has_stored_debts |= writing.has_any;
	return writing.r;
}

static void set_true(void *userdata, const struct clv_policy_debt *debt)
{
	*(bool *)userdata = true;
}

void clv_debts_save(struct clv_agent *agent, struct clv_agent_device *device)
{
	struct clv_error err = {0};
	struct clv_store *store;
	bool has_any = false;
	int r;

	if (device->arbiter)
		clv_arbiter_each_debt(device->arbiter, set_true, &has_any);
	if (!has_any && !device->has_stored_debts)
		return;
	store = clv_state_get(agent, &err);
	if (!store || clv_store_begin(store, true, NULL) < 0)
		return;
	r = clv_debts_put(store, device, &err);
	if (r < 0 || clv_store_commit(store, &err) < 0) {
		clv_store_rollback(store);
		clv_log_warning(0, "%s", err.msg);
		return;
	}
	device->has_stored_debts = has_any;
}

struct sum {
	const char *debtor; /* NULL: sum all debts of past leases */
	uint64_t debt_ns;
};

static void add_one(void *userdata, const struct clv_policy_debt *debt)
{
	struct sum *sum = userdata;

	if (sum->debtor ? strcmp(debt->tenant, sum->debtor) == 0 : debt->is_gone)
		sum->debt_ns += debt->debt_ns;
}

uint64_t clv_debts_of_lease_ns(const struct clv_lease *lease)
{
	struct sum sum = {.debtor = lease->debtor};

	if (lease->arbiter_lease)
		clv_arbiter_each_debt(lease->device->arbiter, add_one, &sum);
	return sum.debt_ns;
}

uint64_t clv_debts_of_past_ns(const struct clv_agent_device *device)
{
	struct sum sum = {0};

	if (device->arbiter)
		clv_arbiter_each_debt(device->arbiter, add_one, &sum);
	return sum.debt_ns;
}
