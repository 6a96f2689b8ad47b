/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A tenant is a user, or a cgroup that the settings name.  An owner is the number of a
 * tenant: the uid of a user, or for a cgroup a hash of the tenant's name that no uid
 * equals. */

/* The names of cgroups' tenants begin with this; no user's name does. */
#define CLV_OWNER_CGROUP '@'

/* The owner of a tenant by its name; of a user it is uid. */
uid_t clv_owner_of(const char *tenant, uid_t uid);
bool clv_owner_is_user(uid_t owner);

/* The owner as whom this one is counted, so that a user who can be many is one.  tenant:
 * the name of the owner's tenant, or NULL if that is not known.  _UNKNOWN: the user
 * database has not answered yet. */
#define CLV_OWNER_UNKNOWN ((uid_t)-2)
uid_t clv_owner_account(const char *tenant, uid_t owner);
/* The name of that account. */
void clv_owner_account_name(const char *tenant, uid_t owner, char *ret, size_t ret_bytes);

/* The user's name, or the uid in digits if the user database does not have it, or has not
 * answered yet (agent/user/users.h). */
void clv_owner_name(uid_t uid, char *ret, size_t ret_bytes);
