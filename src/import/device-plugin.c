/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files of NVIDIA's Kubernetes device plugin.  Names of Kubernetes
 * resources and flags of the plugin have no counterpart in a layout. */
#include "import/device-plugin.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- A resource --- */

static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin_resource *resource = into;
	char name[CLV_PLUGIN_NAME_MAX];
	int r = clv_yaml_read_text(value, name, sizeof(name), err);
	bool has_prefix;

	if (r < 0)
		return r;
	has_prefix = strncmp(name, CLV_PLUGIN_PREFIX, strlen(CLV_PLUGIN_PREFIX)) == 0;
	snprintf(resource->name, sizeof(resource->name), "%s",
		has_prefix ? name + strlen(CLV_PLUGIN_PREFIX) : name);
	return 0;
}

static int read_rename(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin_resource *resource = into;

	return clv_import_remark(resource->plugin->job, value, err,
		"a layout names no Kubernetes resources: ask for what was '%.60s' by the "
		"size of the share",
		clv_yaml_text(value));
}

static int read_devices(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin_resource *resource = into;

	if (strcmp(clv_yaml_text(value), "all") == 0)
		return 0;
	if (clv_yaml_kind(value) == CLV_YAML_LIST && clv_yaml_count(value) == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"an empty list selects nothing: write all, or list devices");
	resource->has_devices = true;
	resource->devices = value;
	return 0;
}

static int read_replicas(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin_resource *resource = into;
	uint64_t replicas;
	int r = clv_yaml_read_number(value, 2, CLV_IMPORT_NUMBER_MAX, &replicas, err);

	if (r >= 0)
		resource->replicas = (uint32_t)replicas;
	return r;
}

static const struct clv_yaml_field resource_fields[] = {
	{"name", read_name, true},
	{"rename", read_rename, false},
	{"devices", read_devices, false},
	{"replicas", read_replicas, true},
};

/* "gpu", "mig-1g.10gb", "mig" for all MIG resources, with or without the prefix. */
static bool is_selected(const struct clv_plugin_resource *resource)
{
	const char *select = resource->plugin->job->options->select;

	if (!select)
		return true;
	if (strncmp(select, CLV_PLUGIN_PREFIX, strlen(CLV_PLUGIN_PREFIX)) == 0)
		select += strlen(CLV_PLUGIN_PREFIX);
	if (strcmp(select, "mig") == 0)
		return strncmp(resource->name, "mig-", strlen("mig-")) == 0;
	return strcmp(select, resource->name) == 0;
}

static int remark_strategy(struct clv_plugin_resource *resource, struct clv_error *err)
{
	struct clv_plugin *plugin = resource->plugin;

	if (!plugin->is_mps)
		return clv_import_remark_time_slices(
			plugin->job, resource->place, resource->replicas, err);
	return clv_import_remark(plugin->job, resource->place, err,
		"MPS limits each replica to 1/%" PRIu32
		" of the compute, a share may use "
		"what others leave idle: list shares with a cap to keep the limit",
		resource->replicas);
}

static int read_resource(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin_resource resource = {.plugin = into, .place = value};
	int r = clv_yaml_read_map(
		value, resource_fields, CLV_ARRAY_SIZE(resource_fields), &resource, err);

	if (r < 0 || !is_selected(&resource))
		return r;
	resource.plugin->n_selected++;
	r = clv_plugin_share(&resource, err);
	if (r < 0 || !resource.is_shared)
		return r;
	return remark_strategy(&resource, err);
}

static int read_resources(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_yaml_kind(value) != CLV_YAML_LIST || clv_yaml_count(value) == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"a list of resources is expected here: - {name: nvidia.com/gpu, "
			"replicas: 4}");
	return clv_yaml_read_list(value, read_resource, into, err);
}

/* --- Strategies of sharing --- */

static int read_rename_by_default(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;
	bool is_on;
	int r = clv_yaml_read_bool(value, &is_on, err);

	if (r < 0 || !is_on)
		return r;
	return clv_import_remark(plugin->job, value, err,
		"a layout names no Kubernetes resources: ask for what was '.shared' by "
		"the size of the share");
}

static int read_fail_requests(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;
	bool is_on;
	int r = clv_yaml_read_bool(value, &is_on, err);

	if (r < 0 || !is_on)
		return r;
	return clv_import_remark(plugin->job, value, err,
		"failRequestsGreaterThanOne has no counterpart: what needs twice as "
		"much asks for a share of twice the size");
}

static const struct clv_yaml_field strategy_fields[] = {
	{"renameByDefault", read_rename_by_default, false},
	{"failRequestsGreaterThanOne", read_fail_requests, false},
	{"resources", read_resources, true},
};

static int read_strategy(
	struct clv_plugin *plugin, struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_read_map(
		value, strategy_fields, CLV_ARRAY_SIZE(strategy_fields), plugin, err);
}

static int note_time_slicing(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;

	plugin->has_time_slicing = clv_yaml_count(value) > 0;
	plugin->time_slicing = value;
	return 0;
}

static int note_mps(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;

	plugin->has_mps = clv_yaml_count(value) > 0;
	plugin->mps = value;
	return 0;
}

static const struct clv_yaml_field sharing_fields[] = {
	{"timeSlicing", note_time_slicing, false},
	{"mps", note_mps, false},
};

static int read_sharing(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;
	int r = 0;

	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	r = clv_yaml_read_map(
		value, sharing_fields, CLV_ARRAY_SIZE(sharing_fields), plugin, err);
	if (r >= 0 && plugin->has_mps && plugin->has_time_slicing)
		r = clv_import_remark(plugin->job, plugin->time_slicing, err,
			"if both are given the plugin uses MPS, and so does this: "
			"remove 'mps' to import the time-slices");
	plugin->is_mps = plugin->has_mps;
	if (r >= 0 && (plugin->has_mps || plugin->has_time_slicing))
		r = read_strategy(plugin,
			plugin->has_mps ? plugin->mps : plugin->time_slicing, err);
	return r;
}

/* --- The file --- */

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const versions[] = {"v1"};

	if (clv_yaml_text(value)[0] == '\0')
		return 0; /* the plugin assumes v1 then */
	return clv_yaml_read_choice(value, versions, CLV_ARRAY_SIZE(versions), err);
}

/* Read first, because it determines what nvidia.com/gpu means. */
static int read_mig_strategy(
	struct clv_plugin *plugin, struct clv_yaml_value root, struct clv_error *err)
{
	static const char *const strategies[] = {"none", "single", "mixed"};
	struct clv_yaml_value flags, value;
	int which;

	if (!clv_yaml_find(root, "flags", &flags) ||
		!clv_yaml_find(flags, "migStrategy", &value))
		return 0;
	which = clv_yaml_read_choice(value, strategies, CLV_ARRAY_SIZE(strategies), err);
	plugin->is_single = which == 1;
	return which < 0 ? which : 0;
}

static int read_flags(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;
	struct clv_yaml_value found;
	size_t n = clv_yaml_count(value);

	if (clv_yaml_find(value, "migStrategy", &found))
		n--;
	if (n == 0)
		return 0;
	return clv_import_remark(plugin->job, value, err,
		"the flags are about the plugin, not about GPUs: keep them with the "
		"plugin");
}

static int read_patterns(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;

	if (clv_yaml_count(value) == 0)
		return 0;
	return clv_import_remark(plugin->job, value, err,
		"a layout names no Kubernetes resources: where models differ, write a "
		"rule for each, with select: {model: ...}");
}

static int read_imex(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin *plugin = into;

	if (clv_yaml_count(value) == 0)
		return 0;
	return clv_import_remark(plugin->job, value, err,
		"IMEX channels are no part of a GPU: keep them with the plugin");
}

int clv_import_device_plugin(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"version", read_version, false},
		{"flags", read_flags, false},
		{"resources", read_patterns, false},
		{"sharing", read_sharing, false},
		{"imex", read_imex, false},
	};
	struct clv_plugin plugin = {.job = job};
	int r = read_mig_strategy(&plugin, root, err);

	if (r >= 0)
		r = clv_yaml_read_map(root, fields, CLV_ARRAY_SIZE(fields), &plugin, err);
	if (r >= 0 && job->options->select && plugin.n_selected == 0)
		return clv_yaml_fail(root, err, -EINVAL,
			"no resource is called '%.60s': see 'name' in 'resources'",
			job->options->select);
	return r < 0 ? r : clv_plugin_check_fit(&plugin, err);
}
