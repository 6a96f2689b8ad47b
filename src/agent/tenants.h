/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/allowance.h"
#include "core/share.h"

#include <jansson.h>
#include <sys/types.h>

struct clv_agent;
struct clv_caller;
struct clv_error;
struct clv_lease;

/* Tenants: what each has, and whether one lease more is within what he may have.  Loop
 * thread only. */

/* without: a lease that does not count, or NULL.  0, -EPERM or -EBUSY as
 * clv_allowance_check().  Root and an agent's own user may have anything. */
int clv_tenants_check(struct clv_agent *agent, uid_t uid, gid_t gid,
	const struct clv_lease *without, const struct clv_share *wanted,
	const char *profile, struct clv_error *err);

/* What a tenant has, and may have. */
struct clv_tenant_use {
	struct clv_allowance_use has;
	struct clv_allowance allowance;
};
void clv_tenants_use(
	struct clv_agent *agent, uid_t uid, gid_t gid, struct clv_tenant_use *ret);

/* Those who have leases, and those whom the settings name, as far as the caller sees. */
json_t *clv_tenants_to_json(struct clv_agent *agent, const struct clv_caller *caller);
