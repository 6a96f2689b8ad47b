/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/allowance.h"
#include "core/share/share.h"

#include <jansson.h>
#include <sys/types.h>

struct clv_agent;
struct clv_caller;
struct clv_error;
struct clv_lease;

/* Tenants: what each has, and whether another lease is within its allowance.  Loop thread
 * only. */

/* The tenant of a lease or of a caller.  The name is borrowed. */
struct clv_tenant {
	uid_t owner; /* clv_owner_of() */
	gid_t gid;
	const char *name;
};

struct clv_tenant clv_tenant_of_lease(const struct clv_lease *lease);
struct clv_tenant clv_tenant_of_caller(const struct clv_caller *caller);

/* The user's uid, or null if the owner is not a user. */
json_t *clv_tenant_uid_to_json(uid_t owner);

/* Checks that the tenant may have `wanted`, all devices of the lease together, beside the
 * active leases of its account except `without` (may be NULL). 0, -EPERM or -EBUSY as
 * clv_allowance_check(), or -CLV_E_UNAVAILABLE while its user is not known.  Root and the
 * agent's own user have no limits. */
int clv_tenants_check(struct clv_agent *agent, struct clv_tenant tenant,
	const struct clv_lease *without, const struct clv_share *wanted,
	const char *profile, struct clv_error *err);

/* -EBUSY if the tenant's account has CLV_TENANT_LEASES_MAX leases, queued ones included.
 */
#define CLV_TENANT_LEASES_MAX 1024u
int clv_tenants_check_count(
	const struct clv_agent *agent, struct clv_tenant tenant, struct clv_error *err);

/* The tenant's allowance by the settings; all zero: no limits.  0 or -EINPROGRESS: the
 * user database has not answered yet. */
int clv_tenants_get_allowance(const struct clv_agent *agent, struct clv_tenant tenant,
	struct clv_allowance *ret);
/* Adds what the lease uses of its tenant's allowance. */
void clv_tenants_add_use(const struct clv_lease *lease, struct clv_allowance_use *use);

/* *ret: an array of the tenants that have leases or are named in the settings, as far as
 * the caller may see them.  0 or -EINPROGRESS. */
int clv_tenants_to_json(
	struct clv_agent *agent, const struct clv_caller *caller, json_t **ret);
