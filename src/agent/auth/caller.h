/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/scope.h"

#include <stdbool.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;
struct clv_peer;
struct clv_process_id;

/* Who asks: a user of this machine, or whoever has a token. */
struct clv_caller {
	enum clv_scope scope;
	uid_t uid; /* CLV_CALLER_NOBODY: no user of this machine; or clv_owner_of() */
	gid_t gid;
	char subject[64]; /* the user's name, or the token's */
	char token[16];   /* its id; "" on the Unix socket */
	char from[64];    /* "unix", or address and port */
};

/* The tenant in whose cgroup the process is; borrowed from the settings.  NULL: none. */
const char *clv_caller_cgroup_tenant(
	const struct clv_agent *agent, const struct clv_process_id *id);

/* A user by his credentials: root and an agent's own user are admins, members of the
 * configured groups what these say, all others tenants.  Whoever is in a tenant's cgroup
 * (NULL: nobody's) is that tenant, as root too: a container's root is not the machine's.
 * -EPERM: this agent is another user's. */
int clv_caller_of_peer(const struct clv_agent *agent, const struct clv_peer *peer,
	const char *cgroup_tenant, struct clv_caller *ret, struct clv_error *err);

/* Whether he may see, or change, what belongs to this user. */
bool clv_caller_sees(const struct clv_caller *caller, uid_t owner);
bool clv_caller_owns(const struct clv_caller *caller, uid_t owner);
