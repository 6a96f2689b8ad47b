/* SPDX-License-Identifier: Apache-2.0 */
/* Checks allowances, and renders tenants as JSON. */
#include "agent/ledger/tenants.h"

#include "agent/auth/caller.h"
#include "agent/config/config.h"
#include "agent/http/problem.h"
#include "agent/ledger/ledger.h"
#include "agent/os/json-fields.h"
#include "agent/record/agent.h"
#include "agent/record/field-json.h"
#include "agent/record/tenant-fields.h"
#include "agent/user/owner.h"
#include "agent/user/users.h"
#include "arbiter/arbiter.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clv_tenant clv_tenant_of_lease(const struct clv_lease *lease)
{
	return (struct clv_tenant){lease->owner, lease->record.gid, lease->record.tenant};
}

struct clv_tenant clv_tenant_of_caller(const struct clv_caller *caller)
{
	return (struct clv_tenant){caller->uid, caller->gid, caller->subject};
}

json_t *clv_tenant_uid_to_json(uid_t owner)
{
	return clv_owner_is_user(owner) ? json_integer(owner) : json_null();
}

/* A lease on several devices has its share of each, so it counts n times. */
void clv_tenants_add_use(const struct clv_lease *lease, struct clv_allowance_use *use)
{
	uint64_t n = lease->n_others + 1;

	use->leases++;
	use->compute_ppm += n * clv_share_most_ppm(&lease->record.share);
	use->memory_bytes += n * lease->record.share.memory_bytes;
}

int clv_tenants_get_allowance(const struct clv_agent *agent, struct clv_tenant tenant,
	struct clv_allowance *ret)
{
	uid_t account = clv_owner_account(tenant.name, tenant.owner);
	struct clv_user user = {.uid = tenant.owner};
	int r = 0;

	*ret = (struct clv_allowance){0};
	if (tenant.owner == 0 || tenant.owner == geteuid() ||
		agent->settings->n_tenants == 0)
		return 0;
	if (account != tenant.owner)
		r = clv_users_by_uid(account, &user);
	if (account == CLV_OWNER_UNKNOWN || r == -EINPROGRESS)
		return -EINPROGRESS;
	if (account != tenant.owner && r == 0)
		return clv_config_allowance(agent->settings, user.name, user.gid, ret);
	return clv_config_allowance(agent->settings, tenant.name, tenant.gid, ret);
}

/* Independent of the settings: each lease costs the agent descriptors and memory. */
int clv_tenants_check_count(
	const struct clv_agent *agent, struct clv_tenant tenant, struct clv_error *err)
{
	const struct clv_lease *lease = NULL;
	uid_t account = clv_owner_account(tenant.name, tenant.owner);
	unsigned int n = 0;

	if (tenant.owner == 0 || tenant.owner == geteuid())
		return 0;
	while ((lease = clv_ledger_next_of(agent->ledger, account, lease)))
		n++;
	if (n < CLV_TENANT_LEASES_MAX)
		return 0;
	return clv_error_set(err, -EBUSY,
		"a user may have at most %u leases at a time, queued ones included: "
		"release one",
		CLV_TENANT_LEASES_MAX);
}

int clv_tenants_check(struct clv_agent *agent, struct clv_tenant tenant,
	const struct clv_lease *without, const struct clv_share *wanted,
	const char *profile, struct clv_error *err)
{
	struct clv_allowance_use use = {0};
	struct clv_allowance allowance;
	const struct clv_lease *lease = NULL;
	uid_t account;

	if (tenant.owner == 0 || tenant.owner == geteuid() ||
		agent->settings->n_tenants == 0)
		return 0;
	if (clv_tenants_get_allowance(agent, tenant, &allowance) == -EINPROGRESS)
		return clv_error_set(err, -CLV_E_UNAVAILABLE,
			"the user database of this machine has not said yet in which "
			"groups %s is: try again, or see what getent initgroups does",
			tenant.name);
	account = clv_owner_account(tenant.name, tenant.owner);
	while ((lease = clv_ledger_next_of(agent->ledger, account, lease))) {
		if (lease != without && !lease->is_left_out && !lease->record.is_queued)
			clv_tenants_add_use(lease, &use);
	}
	return clv_allowance_check(&allowance, &use, wanted, profile, err);
}

/* Tenants as JSON. */

struct tenants {
	struct clv_tenant_record *items;
	size_t n;
};

static struct clv_tenant_record *find(
	struct tenants *tenants, const char *name, uid_t uid, gid_t gid)
{
	struct clv_tenant_record *tenant;

	for (size_t i = 0; i < tenants->n; i++) {
		if (strcmp(tenants->items[i].name, name) == 0)
			return &tenants->items[i];
	}
	tenant = CLV_APPEND(tenants->items, tenants->n);
	if (!tenant)
		return NULL;
	snprintf(tenant->name, sizeof(tenant->name), "%s", name);
	tenant->uid = uid;
	tenant->gid = gid;
	return tenant;
}

static void add_lease(struct tenants *tenants, const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;
	struct clv_tenant_record *tenant =
		find(tenants, record->tenant, lease->owner, record->gid);
	struct clv_allowance_use use = {0};
	struct clv_arbiter_sample sample;

	if (!tenant)
		return;
	clv_lease_sample(lease, &sample);
	tenant->held_ns += sample.held_ns;
	if (record->is_queued) {
		tenant->n_queued++;
		return;
	}
	clv_tenants_add_use(lease, &use);
	tenant->n_leases += use.leases;
	tenant->compute_ppm += use.compute_ppm;
	tenant->memory_bytes += use.memory_bytes;
}

static int add_named(struct tenants *tenants, const char *name)
{
	struct clv_user user = {.uid = CLV_CALLER_NO_UID, .gid = (gid_t)-1};
	int r = clv_users_by_name(name, &user);

	find(tenants, name, user.uid, user.gid);
	return r == -EINPROGRESS ? r : 0;
}

static json_t *or_null(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

static json_t *devices_or_null(uint64_t ppm)
{
	return ppm ? json_real((double)ppm / CLV_PPM) : json_null();
}

static json_t *classes_to_json(uint32_t bits)
{
	json_t *array = json_array();

	for (int i = 0; i < _CLV_CLASS_MAX; i++) {
		if (bits & 1u << i)
			json_array_append_new(array,
				json_string(clv_class_to_string((enum clv_class)i)));
	}
	return array;
}

static json_t *profiles_to_json(const struct clv_allowance *allowance)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < allowance->n_profiles; i++)
		json_array_append_new(array, json_string(allowance->profiles[i]));
	return array;
}

static json_t *allowance_to_json(const struct clv_allowance *allowance)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "share",
		devices_or_null(allowance->compute_ppm), "memory_bytes",
		or_null(allowance->memory_bytes), "leases", or_null(allowance->leases),
		"profiles",
		allowance->n_profiles ? profiles_to_json(allowance) : json_null(),
		"classes",
		allowance->classes ? classes_to_json(allowance->classes) : json_null());
}

struct shown {
	const struct clv_tenant_record *tenant;
	struct clv_allowance allowance;
};

static json_t *show_name(const void *object)
{
	const struct shown *shown = object;

	return clv_json_text(shown->tenant->name);
}

static json_t *show_allowance(const void *object)
{
	const struct shown *shown = object;

	return allowance_to_json(&shown->allowance);
}

static const struct clv_field_show functions[] = {
	{"name", show_name},
	{"allowance", show_allowance},
};

static int add_to_json(const struct clv_agent *agent,
	const struct clv_tenant_record *tenant, json_t *items)
{
	struct clv_tenant who = {tenant->uid, tenant->gid, tenant->name};
	struct shown shown = {.tenant = tenant};
	struct clv_field_view view = {
		.record = tenant,
		.object = &shown,
		.functions = functions,
		.n_functions = CLV_ARRAY_SIZE(functions),
	};

	int r = clv_tenants_get_allowance(agent, who, &shown.allowance);

	json_array_append_new(items, clv_field_to_json(&clv_tenant_fields, &view));
	return r;
}

int clv_tenants_to_json(
	struct clv_agent *agent, const struct clv_caller *caller, json_t **ret)
{
	const struct clv_config *settings = agent->settings;
	struct tenants tenants = {0};
	const struct clv_lease *lease;
	json_t *items = json_array();
	int r = 0;

	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (clv_caller_sees(caller, lease->owner))
			add_lease(&tenants, lease);
	}
	for (size_t i = 0; i < settings->n_tenants; i++) {
		const struct clv_config_subject *who = &settings->tenants[i].who;

		if (who->name[0] != '\0' && !who->is_group &&
			(caller->scope != CLV_SCOPE_TENANT ||
				strcmp(who->name, caller->subject) == 0))
			r |= add_named(&tenants, who->name);
	}
	if (caller->scope == CLV_SCOPE_TENANT)
		find(&tenants, caller->subject, caller->uid, caller->gid);
	for (size_t i = 0; i < tenants.n; i++)
		r |= add_to_json(agent, &tenants.items[i], items);
	free(tenants.items);
	if (r < 0)
		json_decref(items);
	else
		*ret = items;
	return r < 0 ? -EINPROGRESS : 0;
}
