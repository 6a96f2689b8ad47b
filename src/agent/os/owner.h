/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Tenants are users, or cgroups whom the settings name.  An owner is a number for each:
 * the user's own, or for a cgroup's tenant one that no user has, made from the name. */

/* The names of tenants that are cgroups begin so; no user's does. */
#define CLV_OWNER_CGROUP '@'

uid_t clv_owner_of(const char *tenant, uid_t uid);
bool clv_owner_is_user(uid_t owner);

/* The user's name, or the number where there is none. */
void clv_owner_name(uid_t uid, char *ret, size_t ret_bytes);
