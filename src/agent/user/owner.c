/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/user/owner.h"

#include "agent/user/users.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The uids of users, and those mapped into containers, are below this number. */
#define FIRST_CGROUP 0x80000000u

bool clv_owner_is_user(uid_t owner)
{
	return owner < FIRST_CGROUP;
}

uid_t clv_owner_of(const char *tenant, uid_t uid)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	if (tenant[0] != CLV_OWNER_CGROUP)
		return uid;
	for (const char *p = tenant; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	/* The modulus keeps clear of (uid_t)-1, which means "no user". */
	return FIRST_CGROUP | (hash % (FIRST_CGROUP - 1));
}

/* A tenant without an entry in the user database is called by the uid. */
static bool has_entry(const char *tenant)
{
	return tenant && tenant[strspn(tenant, "0123456789")] != '\0';
}

uid_t clv_owner_account(const char *tenant, uid_t owner)
{
	struct clv_user user = {.account = owner};

	if (owner == 0 || owner == geteuid() || !clv_owner_is_user(owner) ||
		has_entry(tenant))
		return owner;
	if (clv_users_by_uid(owner, &user) == -EINPROGRESS)
		return CLV_OWNER_UNKNOWN;
	return user.account;
}

void clv_owner_account_name(const char *tenant, uid_t owner, char *ret, size_t ret_bytes)
{
	uid_t account = clv_owner_account(tenant, owner);

	if (account == owner || account == CLV_OWNER_UNKNOWN)
		snprintf(ret, ret_bytes, "%s", tenant);
	else
		clv_owner_name(account, ret, ret_bytes);
}

void clv_owner_name(uid_t uid, char *ret, size_t ret_bytes)
{
	struct clv_user user;

	if (clv_users_by_uid(uid, &user) == 0)
		snprintf(ret, ret_bytes, "%s", user.name);
	else
		snprintf(ret, ret_bytes, "%u", uid);
}
