/* SPDX-License-Identifier: Apache-2.0 */
/* Turns resources of the device plugin into rules.  The files do not say how GPUs are
 * divided, so nothing is destroyed: partitions that a rule does not list stay. */
#include "import/device-plugin.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIG_PREFIX "mig-"

/* --- Rules --- */

static int add_rule(struct clv_plugin_resource *resource, struct clv_yaml_value place,
	struct clv_layout_rule **ret, struct clv_error *err)
{
	return clv_import_add_rule(
		resource->plugin->job, place, "nvidia", NULL, ret, err);
}

static int share_rule(struct clv_plugin_resource *resource, struct clv_layout_rule **ret,
	struct clv_error *err)
{
	int r = add_rule(resource, resource->place, ret, err);

	if (r < 0)
		return r;
	(*ret)->shares.n_equal = resource->replicas;
	resource->is_shared = true;
	return 0;
}

static int add_name(struct clv_layout_rule *rule, const char *name,
	struct clv_yaml_value place, struct clv_error *err)
{
	if (clv_selector_add_name(&rule->select, name) < 0)
		return clv_import_no_memory(place, err);
	return 0;
}

/* Whose MIG partitions a rule is for: a GPU by name, by index, or (neither) all GPUs.
 * Several resources may be parts of one GPU. */
struct parent {
	const char *name; /* NULL: by index */
	int64_t index;    /* -1: all GPUs */
};

static bool is_of(const struct clv_layout_rule *rule, struct parent parent)
{
	const struct clv_selector *select = &rule->select;

	if (!rule->has_mig)
		return false;
	if (parent.name)
		return select->n_names == 1 && strcmp(select->names[0], parent.name) == 0;
	if (select->n_names > 0)
		return false;
	if (parent.index < 0)
		return select->n_indexes == 0;
	return select->n_indexes == 1 && select->indexes[0] == parent.index;
}

static int get_mig_rule(struct clv_plugin_resource *resource, struct parent parent,
	struct clv_yaml_value place, struct clv_layout_rule **ret, struct clv_error *err)
{
	struct clv_layout *layout = &resource->plugin->job->out->layout;
	struct clv_layout_rule *rule;
	int r;

	for (size_t i = 0; i < layout->n_rules; i++) {
		if (is_of(&layout->rules[i], parent)) {
			*ret = &layout->rules[i];
			return 0;
		}
	}
	r = add_rule(resource, place, &rule, err);
	if (r < 0)
		return r;
	rule->has_mig = true;
	rule->mig = true;
	rule->preserve = true;
	*ret = rule;
	if (parent.name)
		return add_name(rule, parent.name, place, err);
	if (parent.index >= 0)
		return clv_import_add_index(rule, (uint32_t)parent.index, place, err);
	return 0;
}

static struct clv_layout_partition *find_partition(
	struct clv_layout_rule *rule, const char *profile)
{
	for (size_t i = 0; i < rule->n_partitions; i++) {
		if (strcmp(rule->partitions[i].profile, profile) == 0)
			return &rule->partitions[i];
	}
	return NULL;
}

/* Adds one partition of the resource's profile. */
static int add_partition(struct clv_plugin_resource *resource, struct parent parent,
	struct clv_yaml_value place, struct clv_error *err)
{
	struct clv_layout_partition *partition;
	struct clv_layout_rule *rule;
	int r = get_mig_rule(resource, parent, place, &rule, err);

	if (r < 0)
		return r;
	partition = find_partition(rule, resource->profile.name);
	if (!partition) {
		partition = clv_layout_add_partition(rule);
		if (!partition)
			return clv_import_no_memory(place, err);
		rule->has_partitions = true;
		memcpy(partition->profile, resource->profile.name,
			sizeof(partition->profile));
		partition->shares.n_equal = resource->replicas;
		partition->line = clv_yaml_line(place);
	}
	partition->count++;
	resource->is_shared = true;
	return 0;
}

/* --- Which devices --- */

static int fail_with_reference(struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -EINVAL,
		"'%.60s' is no device: use a number, GPU:MIG like 0:1, or a UUID "
		"like GPU-... or MIG-...",
		clv_yaml_text(value));
}

/* Whole GPUs: indexes are in one rule and UUIDs in another, because all conditions of a
 * selector must hold. */
struct picked {
	struct clv_plugin_resource *resource;
	struct clv_layout_rule *rule;
	enum clv_plugin_reference kind;
};

static int pick_gpu(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct picked *picked = into;
	const char *text = clv_yaml_text(value);
	char parent[CLV_PLUGIN_UUID_MAX];
	uint32_t index;
	enum clv_plugin_reference kind = clv_plugin_read_reference(text, &index, parent);
	int r = 0;

	if (kind < 0)
		return fail_with_reference(value, err);
	if (kind != picked->kind)
		return 0;
	if (kind != CLV_PLUGIN_GPU_INDEX && kind != CLV_PLUGIN_GPU_UUID)
		return clv_import_remark(picked->resource->plugin->job, value, err,
			"'%.60s' is a MIG partition, and nvidia.com/gpu are whole GPUs: "
			"list it under its own resource, nvidia.com/mig-...",
			text);
	if (!picked->rule) {
		r = share_rule(picked->resource, &picked->rule, err);
		if (r < 0)
			return r;
	}
	if (kind == CLV_PLUGIN_GPU_UUID)
		return add_name(picked->rule, text, value, err);
	return clv_import_add_index(picked->rule, index, value, err);
}

static int pick_gpus(struct clv_plugin_resource *resource, struct clv_error *err)
{
	int r = 0;

	for (int kind = CLV_PLUGIN_GPU_INDEX; kind < _CLV_PLUGIN_REFERENCE_MAX && r >= 0;
		kind++) {
		struct picked picked = {resource, NULL, (enum clv_plugin_reference)kind};

		r = clv_yaml_read_list(resource->devices, pick_gpu, &picked, err);
	}
	return r;
}

static int pick_partition(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_plugin_resource *resource = into;
	struct clv_import_job *job = resource->plugin->job;
	const char *text = clv_yaml_text(value);
	char parent[CLV_PLUGIN_UUID_MAX];
	uint32_t index;

	switch (clv_plugin_read_reference(text, &index, parent)) {
	case CLV_PLUGIN_MIG_INDEX:
		return add_partition(resource, (struct parent){NULL, index}, value, err);
	case CLV_PLUGIN_MIG_PARENT:
		return add_partition(resource, (struct parent){parent, -1}, value, err);
	case CLV_PLUGIN_MIG_UUID:
		return clv_import_remark(job, value, err,
			"%.60s does not say which GPU it is on: write it as GPU:MIG, "
			"like 0:1",
			text);
	case CLV_PLUGIN_GPU_INDEX:
	case CLV_PLUGIN_GPU_UUID:
		return clv_import_remark(job, value, err,
			"'%.60s' is a whole GPU, and %s%.60s are parts of one: write "
			"GPU:MIG, like 0:1",
			text, CLV_PLUGIN_PREFIX, resource->name);
	default:
		return fail_with_reference(value, err);
	}
}

/* --- The two kinds of resources --- */

static int share_first_gpus(
	struct clv_plugin_resource *resource, uint32_t count, struct clv_error *err)
{
	struct clv_layout_rule *rule;
	int r = share_rule(resource, &rule, err);

	for (uint32_t i = 0; i < count && r >= 0; i++)
		r = clv_import_add_index(rule, i, resource->devices, err);
	if (r < 0)
		return r;
	return clv_import_remark(resource->plugin->job, resource->devices, err,
		"which %" PRIu32 " GPUs is left to the plugin: the first are taken, name "
		"others in the rule's select",
		count);
}

static int share_gpus(struct clv_plugin_resource *resource, struct clv_error *err)
{
	struct clv_layout_rule *rule;
	uint64_t count;
	int r;

	if (resource->plugin->is_single)
		return clv_import_remark(resource->plugin->job, resource->place, err,
			"with migStrategy single nvidia.com/gpu are MIG partitions, and "
			"this file does not say of which profile: import what divides "
			"the GPUs (mig-parted) and add shares: %" PRIu32
			" to its partitions",
			resource->replicas);
	if (!resource->has_devices)
		return share_rule(resource, &rule, err);
	if (clv_yaml_kind(resource->devices) == CLV_YAML_LIST)
		return pick_gpus(resource, err);
	r = clv_yaml_read_number(
		resource->devices, 1, CLV_IMPORT_NUMBER_MAX, &count, err);
	return r < 0 ? r : share_first_gpus(resource, (uint32_t)count, err);
}

static int share_all_partitions(
	struct clv_plugin_resource *resource, struct clv_error *err)
{
	int r = add_partition(resource, (struct parent){NULL, -1}, resource->place, err);

	if (r < 0)
		return r;
	return clv_import_remark(resource->plugin->job, resource->place, err,
		"the file does not say how many %s a GPU has: one is written, set its "
		"count to the number that mig-parted creates",
		resource->profile.name);
}

static int share_partitions(struct clv_plugin_resource *resource, struct clv_error *err)
{
	if (!resource->has_devices)
		return share_all_partitions(resource, err);
	if (clv_yaml_kind(resource->devices) == CLV_YAML_LIST)
		return clv_yaml_read_list(
			resource->devices, pick_partition, resource, err);
	return clv_import_remark(resource->plugin->job, resource->devices, err,
		"a number of partitions does not say on which GPUs they are: list them "
		"as GPU:MIG, like [0:0, 0:1]");
}

/* "mig-1g.10gb.me" is 1g.10gb+me. */
static int read_mig_name(struct clv_plugin_resource *resource, struct clv_error *err)
{
	char text[sizeof(resource->name)];
	char *memory, *attribute;
	int r;

	snprintf(text, sizeof(text), "%s", resource->name + strlen(MIG_PREFIX));
	memory = strstr(text, "gb");
	attribute = memory ? memory + 2 : NULL;
	if (attribute && *attribute == '.')
		*attribute = '+';
	r = clv_import_parse_profile(resource->place, text, &resource->profile, err);
	if (r < 0 || resource->profile.part == 0)
		return r;
	return clv_yaml_fail(resource->place, err, -EINVAL,
		"%s%s: shares are of a whole partition, not of a compute instance in it: "
		"take the profile without '%" PRIu32 "c.'",
		CLV_PLUGIN_PREFIX, resource->name, resource->profile.part);
}

int clv_plugin_share(struct clv_plugin_resource *resource, struct clv_error *err)
{
	int r;

	if (strcmp(resource->name, "gpu") == 0)
		return share_gpus(resource, err);
	if (strncmp(resource->name, MIG_PREFIX, strlen(MIG_PREFIX)) != 0)
		return clv_import_remark(resource->plugin->job, resource->place, err,
			"%s%s: only nvidia.com/gpu and nvidia.com/mig-PROFILE tell which "
			"devices they are: write a rule for it by hand",
			CLV_PLUGIN_PREFIX, resource->name);
	r = read_mig_name(resource, err);
	return r < 0 ? r : share_partitions(resource, err);
}

/* --- Together --- */

static int check_rule(struct clv_import_job *job, size_t at, struct clv_error *err)
{
	const struct clv_layout_rule *rule = &job->out->layout.rules[at];
	struct clv_yaml_value place = job->origins[at].place;
	_cleanup_free_ struct clv_import_row *rows =
		calloc(rule->n_partitions + 1, sizeof(*rows));

	if (!rows)
		return clv_import_no_memory(place, err);
	for (size_t i = 0; i < rule->n_partitions; i++) {
		memcpy(rows[i].profile, rule->partitions[i].profile,
			sizeof(rows[i].profile));
		rows[i].count = rule->partitions[i].count;
		rows[i].place = place;
	}
	return clv_import_check_fit(job, NULL, rows, rule->n_partitions, place, err);
}

int clv_plugin_check_fit(struct clv_plugin *plugin, struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < plugin->job->out->layout.n_rules && r >= 0; i++)
		r = check_rule(plugin->job, i, err);
	return r;
}
