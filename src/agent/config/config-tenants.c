/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of the settings file that name users, groups and cgroups: admins, viewers
 * and tenants. */
#include "agent/config/config-internal.h"

#include "agent/user/owner.h"
#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASES_MAX 1000000u
#define DEVICES_MAX 100000.0

/* What a tenant may have. */

static int read_leases(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 1, LEASES_MAX, &number, err);

	if (r >= 0)
		*(uint32_t *)into = (uint32_t)number;
	return r;
}

/* A number of devices, 0.5 or 2, stored as parts per million of a device. */
static int read_devices(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	char *end;
	double devices = strtod(text, &end);

	/* strtod() reads hexadecimal numbers and exponents too. */
	if (text[strspn(text, "0123456789.")] != '\0' || *end != '\0' ||
		!(devices * CLV_PPM >= 1 && devices <= DEVICES_MAX))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a number of devices: write a number such as 0.5 "
			"or 2",
			text);
	*(uint64_t *)into = (uint64_t)(devices * CLV_PPM + 0.5);
	return 0;
}

static int read_class(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *names[_CLV_CLASS_MAX];
	int which;

	for (int i = 0; i < _CLV_CLASS_MAX; i++)
		names[i] = clv_class_to_string((enum clv_class)i);
	which = clv_yaml_read_choice(value, names, _CLV_CLASS_MAX, err);
	if (which >= 0)
		*(uint32_t *)into |= 1u << which;
	return which < 0 ? which : 0;
}

/* A list of what a tenant may have.  A key that is left out permits all. */
static int read_permitted(struct clv_yaml_value value,
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err),
	void *into, struct clv_error *err)
{
	if (clv_yaml_kind(value) == CLV_YAML_LIST && clv_yaml_count(value) == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"this list is empty, so nothing would be permitted: name what "
			"is, or leave the key out to permit all");
	return clv_yaml_read_list(value, read, into, err);
}

static int read_classes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_permitted(value, read_class, into, err);
}

/* Users, groups and cgroups. */

static int set_who(struct clv_yaml_value value, const char *name, bool is_group,
	struct clv_config_subject *who, struct clv_error *err)
{
	if (name[0] == '\0' || strlen(name) >= sizeof(who->name))
		return clv_yaml_fail(value, err, -EINVAL, "'%.80s' is not a name of a %s",
			name, is_group ? "group" : "user");
	who->is_group = is_group;
	who->line = clv_yaml_line(value);
	snprintf(who->name, sizeof(who->name), "%s", name);
	return 0;
}

static int read_user(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return set_who(value, clv_yaml_text(value), false, into, err);
}

static int read_group(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return set_who(value, clv_yaml_text(value), true, into, err);
}

/* Whether a part of the path is empty, "." or "..": no cgroup has such a name. */
static bool has_no_name(const char *path)
{
	for (const char *part = path; part && part[1] != '\0';
		part = strchr(part + 1, '/')) {
		size_t length = strcspn(part + 1, "/");

		if (length == 0 || (length <= 2 && strspn(part + 1, ".") == length))
			return true;
	}
	return path[0] != '\0' && path[1] != '\0' && path[strlen(path) - 1] == '/';
}

static int read_cgroup(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	char *cgroup = ((struct clv_config_subject *)into)->cgroup;
	int r = clv_config_read_path(value, cgroup, err);

	if (r >= 0 && has_no_name(cgroup))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.100s' is the path of no cgroup: write it as /proc/PID/cgroup "
			"does, without '.', '..', and a '/' too many",
			cgroup);
	return r;
}

/* The name is stored with a prefix character, with which no user name begins. */
static int read_tenant_name(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config_subject *who = into;

	who->name[0] = CLV_OWNER_CGROUP;
	return clv_yaml_read_text(value, who->name + 1, sizeof(who->name) - 1, err);
}

/* "alice" or "group:staff" */
static int read_who(struct clv_yaml_value value, struct clv_config_subject **list,
	size_t *n_list, struct clv_error *err)
{
	static const char group[] = "group:", user[] = "user:";
	const char *text = clv_yaml_text(value);
	bool is_group = strncmp(text, group, sizeof(group) - 1) == 0;
	struct clv_config_subject who = {0};
	struct clv_config_subject *slot;
	int r;

	if (is_group)
		text += sizeof(group) - 1;
	else if (strncmp(text, user, sizeof(user) - 1) == 0)
		text += sizeof(user) - 1;
	r = set_who(value, text, is_group, &who, err);
	if (r < 0)
		return r;
	slot = CLV_APPEND(*list, *n_list);
	if (!slot)
		return clv_config_no_memory(value, err);
	*slot = who;
	return 0;
}

static int read_admin(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;

	return read_who(value, &config->admins, &config->n_admins, err);
}

static int read_viewer(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;

	return read_who(value, &config->viewers, &config->n_viewers, err);
}

int clv_config_read_admins(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_admin, into, err);
}

int clv_config_read_viewers(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_viewer, into, err);
}

/* Tenants. */

static int read_profile(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_allowance *allowance = into;
	const char *text = clv_yaml_text(value);

	if (!clv_gpu_is_profile(text))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no profile, so no partition has it: cleave profiles "
			"lists those of this machine",
			text);
	if (allowance->n_profiles == CLV_ALLOWANCE_PROFILES)
		return clv_yaml_fail(value, err, -E2BIG,
			"at most %u profiles may be listed", CLV_ALLOWANCE_PROFILES);
	return clv_yaml_read_text(value, allowance->profiles[allowance->n_profiles++],
		sizeof(allowance->profiles[0]), err);
}

static int read_profiles(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_permitted(value, read_profile, into, err);
}

#define TENANT(member) offsetof(struct clv_config_tenant, member)

static const struct clv_yaml_field tenant_fields[] = {
	{"user", read_user, false, TENANT(who)},
	{"group", read_group, false, TENANT(who)},
	{"cgroup", read_cgroup, false, TENANT(who)},
	{"name", read_tenant_name, false, TENANT(who)},
	{"share", read_devices, false, TENANT(allowance.compute_ppm)},
	{"memory", clv_config_read_bytes, false, TENANT(allowance.memory_bytes)},
	{"leases", read_leases, false, TENANT(allowance.leases)},
	{"profiles", read_profiles, false, TENANT(allowance)},
	{"classes", read_classes, false, TENANT(allowance.classes)},
};

/* Two names whose owners have the same number cannot be distinguished. */
static int check_unique(const struct clv_config *config, struct clv_yaml_value value,
	struct clv_error *err)
{
	const struct clv_config_subject *last =
		&config->tenants[config->n_tenants - 1].who;

	for (size_t i = 0; last->cgroup[0] != '\0' && i + 1 < config->n_tenants; i++) {
		const struct clv_config_subject *who = &config->tenants[i].who;

		if (who->cgroup[0] != '\0' &&
			clv_owner_of(who->name, 0) == clv_owner_of(last->name, 0))
			return clv_yaml_fail(value, err, -EINVAL,
				"'%s' and '%s' have the same owner number: give one of "
				"them another name",
				who->name + 1, last->name + 1);
	}
	return 0;
}

static bool is_same(
	const struct clv_config_subject *one, const struct clv_config_subject *other)
{
	if (one->cgroup[0] != '\0' || other->cgroup[0] != '\0')
		return strcmp(one->cgroup, other->cgroup) == 0;
	return one->is_group == other->is_group && strcmp(one->name, other->name) == 0;
}

/* The first entry that matches applies, so an entry after one for the same tenants, or
 * after the one for all others, never applies. */
static int check_reached(const struct clv_config *config, struct clv_yaml_value value,
	struct clv_error *err)
{
	const struct clv_config_subject *last =
		&config->tenants[config->n_tenants - 1].who;

	for (size_t i = 0; i + 1 < config->n_tenants; i++) {
		const struct clv_config_subject *who = &config->tenants[i].who;

		if (who->name[0] == '\0')
			return clv_yaml_fail(value, err, -EINVAL,
				"this entry never applies: the one in line %u, for all "
				"others, comes before it: move that to the end",
				who->line);
		if (is_same(who, last))
			return clv_yaml_fail(value, err, -EINVAL,
				"this entry never applies: line %u has one for the same "
				"%s: make one of the two",
				who->line,
				last->cgroup[0]  ? "cgroup"
				: last->is_group ? "group"
						 : "user");
	}
	return 0;
}

static int read_tenant(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	struct clv_config_tenant *tenant = CLV_APPEND(config->tenants, config->n_tenants);
	struct clv_yaml_value other;
	int r;

	if (!tenant)
		return clv_config_no_memory(value, err);
	if (clv_yaml_find(value, "user", &other) + clv_yaml_find(value, "group", &other) +
			clv_yaml_find(value, "cgroup", &other) >
		1)
		return clv_yaml_fail(value, err, -EINVAL,
			"a tenant is a user, a group or a cgroup: give only one of "
			"these");
	if (clv_yaml_find(value, "cgroup", &other) !=
		clv_yaml_find(value, "name", &other))
		return clv_yaml_fail(value, err, -EINVAL,
			"a tenant has a name if, and only if, it is a cgroup: give both, "
			"cgroup and name, or neither");
	r = CLV_CONFIG_MAP(tenant_fields, value, tenant, err);
	tenant->who.line = clv_yaml_line(value);
	if (r >= 0)
		r = check_reached(config, value, err);
	return r < 0 ? r : check_unique(config, value, err);
}

int clv_config_read_tenants(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_tenant, into, err);
}
