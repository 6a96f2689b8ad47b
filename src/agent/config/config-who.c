/* SPDX-License-Identifier: Apache-2.0 */
/* Who is whom by the settings: look-ups by user, group and cgroup. */
#include "agent/config/config.h"

#include "agent/os/users.h"

#include <errno.h>
#include <fnmatch.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_MAX_BYTES ((size_t)16 << 20)

/* getgrnam_r() needs room for all members of the group, who may be many. */
bool clv_config_find_group(const char *name, gid_t *ret)
{
	struct group entry, *found = NULL;
	int r = ERANGE;

	for (size_t size = 4096; r == ERANGE && size <= GROUP_MAX_BYTES; size *= 4) {
		char *room = malloc(size);

		if (!room)
			return false;
		r = getgrnam_r(name, &entry, room, size, &found);
		if (r == 0 && found)
			*ret = found->gr_gid;
		free(room);
	}
	return r == 0 && found;
}

static bool is_in_group(
	const char *user, gid_t primary, const struct clv_config_subject *who)
{
	gid_t group = who->gid;

	if (!who->has_gid && !clv_config_find_group(who->name, &group))
		return false;
	return clv_users_is_in(user, primary, group);
}

static bool matches_user(
	const struct clv_config_subject *who, const char *user, gid_t group)
{
	if (who->name[0] == '\0')
		return true;
	return who->is_group ? is_in_group(user, group, who)
			     : strcmp(who->name, user) == 0;
}

bool clv_config_has_tenant(const struct clv_config *config, const char *name)
{
	for (size_t i = 0; i < config->n_tenants; i++) {
		const struct clv_config_subject *who = &config->tenants[i].who;

		if (who->cgroup[0] != '\0' && strcmp(who->name, name) == 0)
			return true;
	}
	return false;
}

bool clv_config_has_cgroups(const struct clv_config *config)
{
	for (size_t i = 0; i < config->n_tenants; i++) {
		if (config->tenants[i].who.cgroup[0] != '\0')
			return true;
	}
	return false;
}

const char *clv_config_cgroup_tenant(const struct clv_config *config, const char *cgroup)
{
	for (size_t i = 0; i < config->n_tenants; i++) {
		const struct clv_config_subject *who = &config->tenants[i].who;

		if (who->cgroup[0] != '\0' &&
			fnmatch(who->cgroup, cgroup, FNM_PATHNAME | FNM_LEADING_DIR) == 0)
			return who->name;
	}
	return NULL;
}

static bool is_listed(const struct clv_config_subject *list, size_t n_list,
	const char *user, gid_t group)
{
	for (size_t i = 0; i < n_list; i++) {
		if (matches_user(&list[i], user, group))
			return true;
	}
	return false;
}

enum clv_scope clv_config_scope(
	const struct clv_config *config, const char *user, gid_t group)
{
	if (is_listed(config->admins, config->n_admins, user, group))
		return CLV_SCOPE_ADMIN;
	if (is_listed(config->viewers, config->n_viewers, user, group))
		return CLV_SCOPE_VIEWER;
	return CLV_SCOPE_TENANT;
}

struct clv_allowance clv_config_allowance(
	const struct clv_config *config, const char *user, gid_t group)
{
	for (size_t i = 0; i < config->n_tenants; i++) {
		if (matches_user(&config->tenants[i].who, user, group))
			return config->tenants[i].allowance;
	}
	return (struct clv_allowance){0};
}
