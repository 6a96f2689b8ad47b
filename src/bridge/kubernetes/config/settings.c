/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of keys of cleave-kubelet's file of settings. */
#include "bridge/kubernetes/config/settings.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "base/yaml.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define TIME_MOST_MS 3600000u

void clv_kube_settings_init(struct clv_kube_settings *settings)
{
	const char *node = getenv("NODE_NAME");

	*settings = (struct clv_kube_settings){
		.kubelet = "/var/lib/kubelet",
		.cdi = "/var/run/cdi",
		.gates = CLV_GATE_DIR,
		.hook = CLV_GATE_DIR "/cleave-cdi-hook",
		.driver_root = "/",
		.undivided = CLV_KUBE_SHARE,
		.replicas = {.name = CLV_KUBE_DOMAIN "/gpu-replica", .count = 2},
		.reconcile_ms = 10000,
		.grace_ms = 20000,
		.driver = "gpu." CLV_KUBE_DOMAIN,
		.version = "v1",
	};
	/* In a pod gethostname() returns the pod's name. */
	if (node)
		snprintf(settings->node, sizeof(settings->node), "%s", node);
	else
		gethostname(settings->node, sizeof(settings->node) - 1);
}

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	return clv_yaml_read_number(value, 1, 1, &version, err);
}

static int read_path(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, CLV_KUBE_PATH_MAX, err);
}

static int read_undivided(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_KUBE_UNDIVIDED_MAX] = {
		[CLV_KUBE_NOTHING] = "off",
		[CLV_KUBE_SHARE] = "share",
		[CLV_KUBE_MEMORY] = "memory",
		[CLV_KUBE_BOTH] = "both",
		[CLV_KUBE_WHOLE] = "whole",
		[CLV_KUBE_REPLICAS] = "replicas",
	};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		*(enum clv_kube_undivided *)into = (enum clv_kube_undivided)r;
	return r < 0 ? r : 0;
}

static int read_naming(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_KUBE_NAMING_MAX] = {
		[CLV_KUBE_NAMES_CLEAVE] = "cleave",
		[CLV_KUBE_NAMES_VENDOR] = "vendor",
		[CLV_KUBE_NAMES_SINGLE] = "vendor-single",
	};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		*(enum clv_kube_naming *)into = (enum clv_kube_naming)r;
	return r < 0 ? r : 0;
}

static int read_strategy(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"auto", "cdi", "cdi-annotations", "plain"};
	static const unsigned ways[] = {
		0, CLV_KUBE_BY_CDI, CLV_KUBE_BY_ANNOTATIONS, CLV_KUBE_BY_MOUNTS};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		*(unsigned *)into = ways[r];
	return r < 0 ? r : 0;
}

static int read_unit(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t bytes;
	int r = clv_units_parse_bytes(clv_yaml_text(value), &bytes, err);

	if (r < 0)
		return clv_yaml_prefix_position(value, err);
	if (bytes % MIB != 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"the unit of memory is a number of mebibytes: 1M, 256M, 1G");
	*(uint64_t *)into = bytes;
	return 0;
}

static int read_time(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t ns;
	int r = clv_units_parse_duration(clv_yaml_text(value), &ns, err);

	if (r < 0)
		return clv_yaml_prefix_position(value, err);
	if (ns / CLV_NS_PER_MS > TIME_MOST_MS || ns < CLV_NS_PER_MS)
		return clv_yaml_fail(
			value, err, -ERANGE, "a time from 1ms to 1h is expected");
	*(uint32_t *)into = (uint32_t)(ns / CLV_NS_PER_MS);
	return 0;
}

/* The syntax of an extended resource of Kubernetes: DOMAIN/NAME. */
static bool is_resource_name(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && slash != name && slash[1] != '\0' && !strchr(slash + 1, '/') &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-_./") == strlen(name);
}

static int read_resource(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_yaml_read_text(value, into, CLV_KUBE_NAME_MAX, err);

	if (r >= 0 && !is_resource_name(into))
		return clv_yaml_fail(value, err, -EINVAL,
			"a resource's name has the form " CLV_KUBE_DOMAIN "/gpu-replica");
	return r;
}

static int read_count(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t count;
	int r = clv_yaml_read_number(value, 2, CLV_KUBE_REPLICAS_MAX, &count, err);

	if (r >= 0)
		*(uint32_t *)into = (uint32_t)count;
	return r;
}

static int read_flag(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}

static const struct clv_yaml_field replica_fields[] = {
	{"name", read_resource, false, offsetof(struct clv_kube_replicas, name)},
	{"count", read_count, true, offsetof(struct clv_kube_replicas, count)},
	{"packed", read_flag, false, offsetof(struct clv_kube_replicas, is_packed)},
};

static int read_replicas(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_map(
		value, replica_fields, CLV_ARRAY_SIZE(replica_fields), into, err);
}

static int read_driver(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, CLV_KUBE_NAME_MAX, err);
}

static int read_api(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"v1", "v1beta2", "v1beta1"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		snprintf(into, sizeof(((struct clv_kube_settings *)NULL)->version), "%s",
			names[r]);
	return r < 0 ? r : 0;
}

#define AT(member) offsetof(struct clv_kube_settings, member)

static const struct clv_yaml_field dra_fields[] = {
	{"node", read_path, false, AT(node)},
	{"kubeconfig", read_path, false, AT(kubeconfig)},
	{"driver", read_driver, false, AT(driver)},
	{"version", read_api, false, AT(version)},
	{"modes", read_flag, false, AT(has_modes)},
};

static int read_dra(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_kube_settings *settings = into;

	settings->has_dra = true;
	return clv_yaml_read_map(
		value, dra_fields, CLV_ARRAY_SIZE(dra_fields), into, err);
}

static const struct clv_yaml_field fields[] = {
	{"version", read_version, true, 0},
	{"kubelet", read_path, false, AT(kubelet)},
	{"cdi", read_path, false, AT(cdi)},
	{"gates", read_path, false, AT(gates)},
	{"hook", read_path, false, AT(hook)},
	{"driver-root", read_path, false, AT(driver_root)},
	{"labels", read_path, false, AT(labels)},
	{"status", read_path, false, AT(status)},
	{"agent", read_path, false, AT(agent)},
	{"undivided", read_undivided, false, AT(undivided)},
	{"names", read_naming, false, AT(naming)},
	{"device-list-strategy", read_strategy, false, AT(ways)},
	{"memory-unit", read_unit, false, AT(memory_unit_bytes)},
	{"replicas", read_replicas, false, AT(replicas)},
	{"reconcile", read_time, false, AT(reconcile_ms)},
	{"grace", read_time, false, AT(grace_ms)},
	{"node", read_path, false, AT(node)},
	{"kubeconfig", read_path, false, AT(kubeconfig)},
	{"announce", read_flag, false, AT(announces)},
	{"dra", read_dra, false, 0},
};

int clv_kube_settings_read(
	const char *path, struct clv_kube_settings *settings, struct clv_error *err)
{
	struct clv_yaml *yaml = NULL;
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r < 0)
		return r;
	r = clv_yaml_read_map(
		clv_yaml_root(yaml), fields, CLV_ARRAY_SIZE(fields), settings, err);
	clv_yaml_free(yaml);
	return r;
}
