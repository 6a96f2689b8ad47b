/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the settings file by tables of its keys.  docs/agent.md documents them. */
#include "agent/config/config.h"

#include "agent/user/owner.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "base/yaml.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT_MAX 65535u
#define LEASES_MAX 1000000u
#define DEVICES_MAX 100000.0
/* Default: a context and the code of its kernels take some hundred MiB of a GPU. */
#define TOLERANCE_BYTES (UINT64_C(512) << 20)
#define GRACE_NS (10 * CLV_NS_PER_S)
#define HANG_NS (60 * CLV_NS_PER_S)
#define EVERY_S 2u
#define EVERY_MAX_S 3600u
#define VIEWER "clv_viewer_"
#define SECRET_LEAST 32u

#define MAP(fields, value, into, err) \
	clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err)

static int no_memory(struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -ENOMEM, "out of memory");
}

/* Scalars. */

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	return clv_yaml_read_number(value, 1, 1, &version, err);
}

static int read_port(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t port;
	int r = clv_yaml_read_number(value, 1, PORT_MAX, &port, err);

	if (r >= 0)
		*(uint16_t *)into = (uint16_t)port;
	return r;
}

static int read_address(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, 64, err);
}

static int read_text(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, CLV_CONFIG_TEXT_MAX, err);
}

static int read_path(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = read_text(value, into, err);

	if (r >= 0 && ((const char *)into)[0] != '/')
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.100s' is not an absolute path: begin it with /",
			(const char *)into);
	return r;
}

static int read_bool(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}

static int read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_units_parse_bytes(clv_yaml_text(value), into, err);

	return r < 0 ? clv_yaml_prefix_position(value, err) : r;
}

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

static int read_policy(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_WATCH_MAX] = {
		[CLV_WATCH_REPORT] = "report",
		[CLV_WATCH_THROTTLE] = "throttle",
		[CLV_WATCH_END] = "end",
	};
	int which = clv_yaml_read_choice(value, names, _CLV_WATCH_MAX, err);

	if (which >= 0)
		*(enum clv_watch_policy *)into = (enum clv_watch_policy)which;
	return which < 0 ? which : 0;
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

/* Whether a part of the path is "", "." or "..", which no cgroup is called. */
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
	int r = read_path(value, cgroup, err);

	if (r >= 0 && has_no_name(cgroup))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.100s' is the path of no cgroup: write it as /proc/PID/cgroup "
			"does, without '.', '..', and a '/' too many",
			cgroup);
	return r;
}

/* The name is stored behind a sign with which no user's name begins. */
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
		return no_memory(value, err);
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

static int read_admins(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_admin, into, err);
}

static int read_viewers(struct clv_yaml_value value, void *into, struct clv_error *err)
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
	{"memory", read_bytes, false, TENANT(allowance.memory_bytes)},
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

/* The first entry that matches applies, so one behind another for the same tenants, or
 * for all others, never does. */
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
		return no_memory(value, err);
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
	r = MAP(tenant_fields, value, tenant, err);
	tenant->who.line = clv_yaml_line(value);
	if (r >= 0)
		r = check_reached(config, value, err);
	return r < 0 ? r : check_unique(config, value, err);
}

static int read_tenants(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_tenant, into, err);
}

/* The network. */

/* The token is read here, so that a reload reads the file again. */
static int read_viewer_token(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	char path[CLV_CONFIG_TEXT_MAX];
	_cleanup_free_ char *text = NULL;
	struct clv_error why = {};
	int r = read_path(value, path, err);

	if (r < 0)
		return r;
	r = clv_file_read_regular(path, CLV_CONFIG_TEXT_MAX - 1, &text, NULL, &why);
	if (r >= 0)
		r = clv_file_check_secret(path, &why);
	if (r < 0)
		return clv_yaml_fail(value, err, r, "%s", why.msg);
	text[strcspn(text, " \t\r\n")] = '\0';
	if (strncmp(text, VIEWER, strlen(VIEWER)) != 0 ||
		strlen(text) < strlen(VIEWER) + SECRET_LEAST)
		return clv_yaml_fail(value, err, -EINVAL,
			"%.100s has no token: write " VIEWER
			" and at least 32 random letters and digits",
			path);
	snprintf(into, CLV_CONFIG_TEXT_MAX, "%s", text + strlen(VIEWER));
	return 0;
}

static const struct clv_yaml_field listen_fields[] = {
	{"address", read_address, false, offsetof(struct clv_config, address)},
	{"port", read_port, true, offsetof(struct clv_config, port)},
	{"certificate", read_path, false, offsetof(struct clv_config, certificate)},
	{"key", read_path, false, offsetof(struct clv_config, key)},
	{"viewer", read_viewer_token, false, offsetof(struct clv_config, viewer_secret)},
};

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static int read_listen(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	int r = MAP(listen_fields, value, config, err);

	if (r < 0)
		return r;
	if ((config->certificate[0] == '\0') != (config->key[0] == '\0'))
		return clv_yaml_fail(
			value, err, -EINVAL, "TLS needs both a certificate and a key");
	if (config->certificate[0] == '\0' && !is_loopback(config->address))
		return clv_yaml_fail(value, err, -EINVAL,
			"tokens would cross the network without encryption: give "
			"certificate and key, or the address 127.0.0.1");
	config->listen_line = clv_yaml_line(value);
	return 0;
}

/* Whether this begins with HOST or HOST:PORT, up to a path.  An IPv6 address is in
 * brackets. */
static bool is_authority(const char *text)
{
	size_t length = strcspn(text, "/?#");
	const char *bracket = text[0] == '[' ? memchr(text, ']', length) : NULL;
	size_t n_host = bracket ? (size_t)(bracket - text) + 1 : strcspn(text, ":/?#");
	const char *port = text + n_host + 1;
	unsigned long number;
	char *end;

	if (n_host == 0 || memchr(text, '@', length))
		return false;
	if (n_host == length)
		return true;
	if (text[n_host] != ':' || *port < '0' || *port > '9')
		return false;
	number = strtoul(port, &end, 10);
	return end == text + length && number >= 1 && number <= PORT_MAX;
}

/* The host of a URL of HTTP, with what follows it; NULL: it is none. */
static const char *host_of(const char *url)
{
	static const char *const schemes[] = {"https://", "http://"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(schemes); i++) {
		size_t length = strlen(schemes[i]);

		if (strncmp(url, schemes[i], length) == 0 && is_authority(url + length))
			return url + length;
	}
	return NULL;
}

static int read_url(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = read_text(value, into, err);

	if (r >= 0 && !host_of(into))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.80s' is no address of an agent: write https://HOST:PORT, "
			"with a port from 1 to 65535",
			(const char *)into);
	return r;
}

/* As browsers send it. */
static int read_one_origin(struct clv_yaml_value value, char *into, struct clv_error *err)
{
	int r = read_text(value, into, err);
	const char *host = r < 0 ? NULL : host_of(into);

	if (r >= 0 && (!host || strpbrk(host, "/?#@*")))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.80s' is no origin, so no page has it: write "
			"https://HOST or https://HOST:PORT, with a port from 1 to 65535",
			into);
	return r;
}

static int read_origin(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	char(*origin)[CLV_CONFIG_TEXT_MAX] =
		CLV_APPEND(config->origins, config->n_origins);

	return origin ? read_one_origin(value, *origin, err) : no_memory(value, err);
}

static int read_origins(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_origin, into, err);
}

static int read_node_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, 64, err);
}

static const struct clv_yaml_field node_fields[] = {
	{"name", read_node_name, true, offsetof(struct clv_config_node, name)},
	{"url", read_url, true, offsetof(struct clv_config_node, url)},
};

static int read_node(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	struct clv_config_node *node = CLV_APPEND(config->nodes, config->n_nodes);
	int r = node ? MAP(node_fields, value, node, err) : no_memory(value, err);

	for (size_t i = 0; r >= 0 && i + 1 < config->n_nodes; i++) {
		if (strcmp(config->nodes[i].name, node->name) == 0)
			r = clv_yaml_fail(value, err, -EINVAL,
				"two nodes have the name '%s': give one of them another",
				node->name);
	}
	return r;
}

static int read_nodes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_node, into, err);
}

/* The watchdog, and the file as a whole. */

/* The policy throttle needs a gate that the work passes through. */
static int read_without_throttle(struct clv_yaml_value value, const char *why,
	enum clv_watch_policy *into, struct clv_error *err)
{
	int r = read_policy(value, into, err);

	if (r >= 0 && *into == CLV_WATCH_THROTTLE)
		return clv_yaml_fail(value, err, -EINVAL, "%s: report it or end it", why);
	return r;
}

static int read_no_lease(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_without_throttle(value,
		"a process without a lease has no gate that could throttle it", into,
		err);
}

static int read_past_gate(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_without_throttle(
		value, "a gate cannot throttle work that bypasses it", into, err);
}

static int read_ungated(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_without_throttle(
		value, "an API without a gate cannot be throttled", into, err);
}

static int read_duration(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_units_parse_duration(clv_yaml_text(value), into, err);

	return r < 0 ? clv_yaml_prefix_position(value, err) : r;
}

static int read_tolerance(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	*(uint64_t *)into = 0;
	if (strcmp(clv_yaml_text(value), "0") == 0)
		return 0;
	return read_bytes(value, into, err);
}

/* "off" is stored as 0: the drivers are not sampled. */
static int read_every(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t ns = 0;
	int r = 0;

	if (strcmp(clv_yaml_text(value), "off") != 0)
		r = clv_units_parse_duration(clv_yaml_text(value), &ns, err);
	if (r < 0)
		return clv_yaml_prefix_position(value, err);
	if (ns % CLV_NS_PER_S != 0 || ns > EVERY_MAX_S * CLV_NS_PER_S)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a number of seconds up to an hour: write 2s, or "
			"off",
			clv_yaml_text(value));
	*(uint32_t *)into = (uint32_t)(ns / CLV_NS_PER_S);
	return 0;
}

static int read_program(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	char(*program)[CLV_CONFIG_TEXT_MAX] =
		CLV_APPEND(config->ignored, config->n_ignored);

	return program ? read_path(value, *program, err) : no_memory(value, err);
}

static int read_ignored(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_program, into, err);
}

static const struct clv_yaml_field watch_fields[] = {
	{"over-quota", read_policy, false, offsetof(struct clv_config, over_quota)},
	{"no-lease", read_no_lease, false, offsetof(struct clv_config, no_lease)},
	{"past-gate", read_past_gate, false, offsetof(struct clv_config, past_gate)},
	{"ungated-api", read_ungated, false, offsetof(struct clv_config, ungated)},
	{"tolerance", read_tolerance, false,
		offsetof(struct clv_config, tolerance_bytes)},
	{"grace", read_duration, false, offsetof(struct clv_config, grace_ns)},
	{"hang", read_duration, false, offsetof(struct clv_config, hang_ns)},
	{"ignore", read_ignored, false, 0},
	{"every", read_every, false, offsetof(struct clv_config, watch_every_s)},
};

static int read_watch(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return MAP(watch_fields, value, into, err);
}

static int read_executor(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_EXECUTOR_MAX] = {
		[CLV_EXECUTOR_AUTO] = "auto",
		[CLV_EXECUTOR_CPU] = "cpu",
		[CLV_EXECUTOR_GATE] = "gate",
	};
	int which = clv_yaml_read_choice(value, names, _CLV_EXECUTOR_MAX, err);

	if (which >= 0)
		*(enum clv_executor_choice *)into = (enum clv_executor_choice)which;
	return which < 0 ? which : 0;
}

static int read_debts(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_DEBTS_OF_MAX] = {
		[CLV_DEBTS_OF_TENANT] = "tenant",
		[CLV_DEBTS_OF_CONTAINER] = "container",
		[CLV_DEBTS_OF_POD] = "pod",
	};
	int which = clv_yaml_read_choice(value, names, _CLV_DEBTS_OF_MAX, err);

	if (which >= 0)
		*(enum clv_debts_of *)into = (enum clv_debts_of)which;
	return which < 0 ? which : 0;
}

static const struct clv_yaml_field config_fields[] = {
	{"version", read_version, true, 0},
	{"listen", read_listen, false, 0},
	{"origins", read_origins, false, 0},
	{"admins", read_admins, false, 0},
	{"viewers", read_viewers, false, 0},
	{"tenants", read_tenants, false, 0},
	{"overcommit", read_bool, false, offsetof(struct clv_config, allow_overcommit)},
	{"executor", read_executor, false, offsetof(struct clv_config, executor)},
	{"debts", read_debts, false, offsetof(struct clv_config, debts_of)},
	{"watch", read_watch, false, 0},
	{"nodes", read_nodes, false, 0},
};

static struct clv_config *make(void)
{
	struct clv_config *config = calloc(1, sizeof(*config));

	if (!config)
		return NULL;
	snprintf(config->address, sizeof(config->address), "127.0.0.1");
	config->tolerance_bytes = TOLERANCE_BYTES;
	config->grace_ns = GRACE_NS;
	config->hang_ns = HANG_NS;
	config->watch_every_s = EVERY_S;
	return config;
}

int clv_config_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_config **ret, struct clv_error *err)
{
	struct clv_config *config = make();
	struct clv_yaml *yaml = NULL;
	int r;

	if (!config)
		return clv_error_errno(err, ENOMEM, "cannot read %s", name);
	r = clv_yaml_parse(data, n_bytes, name, &yaml, err);
	if (r >= 0)
		r = MAP(config_fields, clv_yaml_root(yaml), config, err);
	clv_yaml_free(yaml);
	if (r < 0) {
		clv_config_free(config);
		return r;
	}
	*ret = config;
	return 0;
}

int clv_config_read(const char *path, bool must_exist, struct clv_yaml_mistakes *mistakes,
	struct clv_config **ret, struct clv_error *err)
{
	struct clv_config *config = make();
	_cleanup_free_ char *data = NULL;
	struct clv_yaml *yaml = NULL;
	size_t n_bytes = 0;
	int r;

	if (!config)
		return clv_error_errno(err, ENOMEM, "cannot read %s", path);
	*ret = config;
	snprintf(config->path, sizeof(config->path), "%s", path);
	if (!must_exist && access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = clv_file_read_regular(path, CLV_YAML_MAX_BYTES, &data, &n_bytes, err);
	/* Who can change the settings can be an admin. */
	if (r >= 0)
		r = clv_file_check_writers(path, err);
	if (r >= 0)
		r = clv_yaml_parse(data, n_bytes, path, &yaml, err);
	if (r >= 0) {
		clv_yaml_set_mistakes(yaml, mistakes);
		r = MAP(config_fields, clv_yaml_root(yaml), config, err);
	}
	clv_yaml_free(yaml);
	if (r < 0 && mistakes && mistakes->n == 0)
		clv_config_note(mistakes, err);
	if (r < 0 && !mistakes)
		*ret = clv_config_free(config);
	return r;
}

struct clv_config *clv_config_free(struct clv_config *config)
{
	if (!config)
		return NULL;
	free(config->origins);
	free(config->admins);
	free(config->viewers);
	free(config->tenants);
	free(config->nodes);
	free(config->ignored);
	free(config);
	return NULL;
}
