/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the settings by user, group and cgroup. */
#include "agent/config/config.h"

#include "agent/user/users.h"

#include <errno.h>
#include <fnmatch.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_MAX_BYTES ((size_t)16 << 20)

/* getgrnam_r() needs room for all members of the group, which can be many. */
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

/* 1, 0 or -EINPROGRESS.  clv_config_check() has found the groups. */
static int matches_user(
	const struct clv_config_subject *who, const char *user, gid_t group)
{
	if (who->name[0] == '\0')
		return 1;
	if (who->is_group)
		return who->has_gid ? clv_users_is_in(user, group, who->gid) : 0;
	return strcmp(who->name, user) == 0;
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

/* 1, 0 or -EINPROGRESS. */
static int is_listed(const struct clv_config_subject *list, size_t n_list,
	const char *user, gid_t group)
{
	int r = 0;

	for (size_t i = 0; i < n_list && r == 0; i++)
		r = matches_user(&list[i], user, group);
	return r;
}

int clv_config_scope(const struct clv_config *config, const char *user, gid_t group,
	enum clv_scope *ret)
{
	int is_admin = is_listed(config->admins, config->n_admins, user, group);
	int is_viewer =
		is_admin == 0 ? is_listed(config->viewers, config->n_viewers, user, group)
			      : 0;

	if (is_admin < 0 || is_viewer < 0)
		return -EINPROGRESS;
	*ret = is_admin    ? CLV_SCOPE_ADMIN
	       : is_viewer ? CLV_SCOPE_VIEWER
			   : CLV_SCOPE_TENANT;
	return 0;
}

int clv_config_allowance(const struct clv_config *config, const char *user, gid_t group,
	struct clv_allowance *ret)
{
	*ret = (struct clv_allowance){0};
	for (size_t i = 0; i < config->n_tenants; i++) {
		int r = matches_user(&config->tenants[i].who, user, group);

		if (r > 0)
			*ret = config->tenants[i].allowance;
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return 0;
}
