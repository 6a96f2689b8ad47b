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

/* Tenants: what each has, and whether one lease more is within what he may have.  Loop
 * thread only. */

/* Whose a lease is, or would be.  The name is borrowed. */
struct clv_tenant {
	uid_t owner; /* clv_owner_of() */
	gid_t gid;
	const char *name;
};

struct clv_tenant clv_tenant_of_lease(const struct clv_lease *lease);
struct clv_tenant clv_tenant_of_caller(const struct clv_caller *caller);

/* The number of a user; null for what is none. */
json_t *clv_tenant_uid_to_json(uid_t owner);

/* without: a lease that does not count, or NULL.  0, -EPERM or -EBUSY as
 * clv_allowance_check().  Root and an agent's own user may have anything. */
int clv_tenants_check(struct clv_agent *agent, struct clv_tenant tenant,
	const struct clv_lease *without, const struct clv_share *wanted,
	const char *profile, struct clv_error *err);

/* -EBUSY: he has as many leases as anybody may have. */
#define CLV_TENANT_LEASES_MAX 1024u
int clv_tenants_check_count(
	const struct clv_agent *agent, uid_t owner, struct clv_error *err);

/* All zero: anything. */
void clv_tenants_get_allowance(const struct clv_agent *agent, struct clv_tenant tenant,
	struct clv_allowance *ret);
void clv_tenants_add_use(const struct clv_lease *lease, struct clv_allowance_use *use);

/* Those who have leases, and those whom the settings name, as far as the caller sees. */
json_t *clv_tenants_to_json(struct clv_agent *agent, const struct clv_caller *caller);
