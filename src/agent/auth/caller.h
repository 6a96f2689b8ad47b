/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/scope.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;
struct clv_peer;
struct clv_process_id;

/* The caller of a request: a user of this machine, or the bearer of a token. */
struct clv_caller {
	enum clv_scope scope;
	uid_t uid; /* the owner, as clv_owner_of(); CLV_CALLER_NO_UID: none */
	gid_t gid;
	char subject[64]; /* name of the user, the tenant or the token */
	char token[16];   /* id of the token; "" on the Unix socket */
	/* SHA-256 of the secret, of the token in the settings, which a reload replaces.
	 */
	uint8_t of_settings[32];
	char from[64]; /* "unix", or address and port */
};

/* The tenant whose cgroup the process is in, borrowed from the settings; NULL: none. */
const char *clv_caller_cgroup_tenant(
	const struct clv_agent *agent, const struct clv_process_id *id);

/* Identifies a process by its credentials.  If cgroup_tenant is not NULL the caller is
 * that tenant, even as root, because the root of a container is not the machine's.
 * Otherwise root and the agent's own user are admins, and the settings give the role of
 * all others.  -EPERM: this agent serves another user only;
 * -EINPROGRESS: CLV_TOPIC_USERS is published when the user is known. */
int clv_caller_of_peer(const struct clv_agent *agent, const struct clv_peer *peer,
	const char *cgroup_tenant, struct clv_caller *ret, struct clv_error *err);

/* Whether the caller may see what belongs to this owner. */
bool clv_caller_sees(const struct clv_caller *caller, uid_t owner);
