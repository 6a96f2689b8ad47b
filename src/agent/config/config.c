/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the settings file by tables of its keys.  docs/agent.md documents them. */
#include "agent/config/config.h"

#include "agent/config/config-internal.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Default: a context and the code of its kernels take some hundred MiB of a GPU. */
#define TOLERANCE_BYTES (UINT64_C(512) << 20)
#define GRACE_NS (10 * CLV_NS_PER_S)
#define HANG_NS (60 * CLV_NS_PER_S)
#define EVERY_S 2u
#define EVERY_MAX_S 3600u

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	return clv_yaml_read_number(value, 1, 1, &version, err);
}

static int read_bool(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
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
	return clv_config_read_bytes(value, into, err);
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

	return program ? clv_config_read_path(value, *program, err)
		       : clv_config_no_memory(value, err);
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
	return CLV_CONFIG_MAP(watch_fields, value, into, err);
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
	{"listen", clv_config_read_listen, false, 0},
	{"origins", clv_config_read_origins, false, 0},
	{"admins", clv_config_read_admins, false, 0},
	{"viewers", clv_config_read_viewers, false, 0},
	{"tenants", clv_config_read_tenants, false, 0},
	{"overcommit", read_bool, false, offsetof(struct clv_config, allow_overcommit)},
	{"executor", read_executor, false, offsetof(struct clv_config, executor)},
	{"debts", read_debts, false, offsetof(struct clv_config, debts_of)},
	{"watch", read_watch, false, 0},
	{"nodes", clv_config_read_nodes, false, 0},
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

static int parse(struct clv_config *config, const char *data, size_t n_bytes,
	const char *name, struct clv_yaml_mistakes *mistakes, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r = clv_yaml_parse(data, n_bytes, name, &yaml, err);

	if (r < 0)
		return r;
	clv_yaml_set_mistakes(yaml, mistakes);
	r = CLV_CONFIG_MAP(config_fields, clv_yaml_root(yaml), config, err);
	clv_yaml_free(yaml);
	return r;
}

int clv_config_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_config **ret, struct clv_error *err)
{
	struct clv_config *config = make();
	int r;

	if (!config)
		return clv_error_errno(err, ENOMEM, "cannot read %s", name);
	r = parse(config, data, n_bytes, name, NULL, err);
	if (r < 0) {
		clv_config_free(config);
		return r;
	}
	*ret = config;
	return 0;
}

int clv_config_read(const char *path, unsigned flags, struct clv_yaml_mistakes *mistakes,
	struct clv_config **ret, struct clv_error *err)
{
	struct clv_config *config = make();
	_cleanup_free_ char *data = NULL;
	size_t n_bytes = 0;
	int r;

	if (!config)
		return clv_error_errno(err, ENOMEM, "cannot read %s", path);
	*ret = config;
	snprintf(config->path, sizeof(config->path), "%s", path);
	if (!(flags & CLV_CONFIG_MUST_EXIST) && access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = clv_file_read_regular(path, CLV_YAML_MAX_BYTES, &data, &n_bytes, err);
	/* A user who can change the settings can make itself an admin. */
	if (r >= 0 && !(flags & CLV_CONFIG_NOT_USED))
		r = clv_file_check_writers(path, err);
	if (r >= 0)
		r = parse(config, data, n_bytes, path, mistakes, err);
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
