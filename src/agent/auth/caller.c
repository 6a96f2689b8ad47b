/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/auth/caller.h"

#include "agent/config/config.h"
#include "agent/os/processes.h"
#include "agent/record/agent.h"
#include "agent/user/owner.h"
#include "agent/user/users.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

const char *clv_caller_cgroup_tenant(
	const struct clv_agent *agent, const struct clv_process_id *id)
{
	char path[CLV_CGROUP_MAX];

	if (clv_process_cgroup(id, path) < 0)
		return NULL;
	return clv_config_cgroup_tenant(agent->settings, path);
}

int clv_caller_of_peer(const struct clv_agent *agent, const struct clv_peer *peer,
	const char *cgroup_tenant, struct clv_caller *ret, struct clv_error *err)
{
	struct clv_user user = {.account = peer->uid}, other;

	*ret = (struct clv_caller){
		.scope = CLV_SCOPE_TENANT,
		.uid = peer->uid,
		.gid = peer->gid,
		.from = "unix",
	};
	if (cgroup_tenant) {
		snprintf(ret->subject, sizeof(ret->subject), "%s", cgroup_tenant);
		ret->uid = clv_owner_of(cgroup_tenant, peer->uid);
		return 0;
	}
	/* The user whose uid it is, if that is a subordinate one, has the allowance. */
	if (clv_users_by_uid(peer->uid, &user) == -EINPROGRESS ||
		(user.account != peer->uid &&
			clv_users_by_uid(user.account, &other) == -EINPROGRESS))
		return -EINPROGRESS;
	clv_owner_name(peer->uid, ret->subject, sizeof(ret->subject));
	if (peer->uid == 0 || peer->uid == geteuid())
		ret->scope = CLV_SCOPE_ADMIN;
	else if (!agent->config.is_system)
		return clv_error_set(err, -EPERM,
			"this agent belongs to user %u and you are user %u: use your own "
			"agent or the system's",
			geteuid(), peer->uid);
	else
		return clv_config_scope(
			agent->settings, ret->subject, peer->gid, &ret->scope);
	return 0;
}

bool clv_caller_sees(const struct clv_caller *caller, uid_t owner)
{
	return caller->scope != CLV_SCOPE_TENANT || caller->uid == owner;
}
