/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/owner.h"

#include <stdint.h>

/* Numbers of users, and of those that machines make for containers, are below. */
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
	/* The last number is nobody's. */
	return FIRST_CGROUP | (hash % (FIRST_CGROUP - 1));
}
