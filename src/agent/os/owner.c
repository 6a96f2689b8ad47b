/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/owner.h"

#include "agent/os/users.h"

#include <stdint.h>
#include <stdio.h>

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

void clv_owner_name(uid_t uid, char *ret, size_t ret_bytes)
{
	struct clv_user user;

	if (clv_users_by_uid(uid, &user) == 0)
		snprintf(ret, ret_bytes, "%s", user.name);
	else
		snprintf(ret, ret_bytes, "%u", uid);
}
