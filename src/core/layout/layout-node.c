/* SPDX-License-Identifier: Apache-2.0 */
/* The current state of a node as a layout: each device by its UUID, each partition by its
 * place, so that nothing is left for a planner to choose. */
#include "core/layout/layout.h"

#include "base/error.h"
#include "core/device/vgpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t part_of(const struct clv_partition *part)
{
	return CLV_LAYOUT_PART(part->size, (int32_t)part->start);
}

static int add_parts(
	struct clv_layout_partition *wanted, const struct clv_partition *partition)
{
	int r = 0;

	for (size_t i = 0; i < partition->n_parts && r >= 0; i++)
		r = clv_layout_add_part(wanted, part_of(&partition->parts[i]));
	return r;
}

static bool has_same_parts(
	const struct clv_layout_partition *wanted, const struct clv_partition *partition)
{
	if (wanted->n_parts != partition->n_parts)
		return false;
	for (size_t i = 0; i < wanted->n_parts; i++) {
		if (wanted->parts[i] != part_of(&partition->parts[i]))
			return false;
	}
	return true;
}

/* Equal partitions share an entry; incomplete ones are left out. */
static int add_placed(struct clv_layout_rule *rule, const struct clv_partition *partition)
{
	struct clv_layout_partition *wanted;
	int r;

	if (partition->is_incomplete)
		return 0;
	for (size_t i = 0; i < rule->n_partitions; i++) {
		wanted = &rule->partitions[i];
		if (strcmp(wanted->profile, partition->profile) == 0 &&
			has_same_parts(wanted, partition))
			return clv_layout_add_start(wanted, partition->start);
	}
	wanted = clv_layout_add_partition(rule);
	if (!wanted)
		return -ENOMEM;
	snprintf(wanted->profile, sizeof(wanted->profile), "%s", partition->profile);
	r = add_parts(wanted, partition);
	return r < 0 ? r : clv_layout_add_start(wanted, partition->start);
}

static int add_all_placed(
	struct clv_layout_rule *rule, const struct clv_node_device *device)
{
	int r = 0;

	rule->has_partitions = true;
	for (size_t i = 0; i < device->n_partitions && r >= 0; i++)
		r = add_placed(rule, &device->partitions[i]);
	return r;
}

static int add_mig(struct clv_layout_rule *rule, const struct clv_node_device *device)
{
	rule->has_mig = true;
	rule->mig = device->mig.is_on;
	return device->mig.is_on ? add_all_placed(rule, device) : 0;
}

static int add_modes(struct clv_layout_rule *rule, const struct clv_node_device *device)
{
	rule->has_compute_mode = true;
	rule->compute_mode = device->xcp.compute;
	rule->memory_mode = device->xcp.memory;
	return 0;
}

/* A layout has one quota for all functions of a device: the values that they have in
 * common. */
static void keep_common(struct clv_vf_quota *common, const struct clv_vf_quota *other)
{
	if (common->memory_bytes != other->memory_bytes)
		common->memory_bytes = 0;
	if (common->exec_quantum_ms != other->exec_quantum_ms)
		common->exec_quantum_ms = 0;
	if (common->preempt_timeout_us != other->preempt_timeout_us)
		common->preempt_timeout_us = 0;
	if (common->contexts != other->contexts)
		common->contexts = 0;
	if (common->doorbells != other->doorbells)
		common->doorbells = 0;
	if (strcmp(common->priority, other->priority) != 0)
		common->priority[0] = '\0';
	if (strcmp(common->type, other->type) != 0)
		common->type[0] = '\0';
	if (strcmp(common->driver, other->driver) != 0)
		common->driver[0] = '\0';
}

/* If some functions are vGPUs, the layout counts these only: the others exist because the
 * driver creates all or none.  A layout cannot express two types. */
static void add_vgpus(struct clv_layout_rule *rule, const struct clv_vf_state *vf)
{
	const char *type = NULL;
	uint32_t n = 0;

	for (size_t i = 0; i < vf->n; i++) {
		const char *now = vf->items[i].quota.type;

		if (now[0] == '\0')
			continue;
		if (type && strcmp(type, now) != 0)
			return;
		type = now;
		n++;
	}
	if (vf->n > 0)
		snprintf(rule->vf_quota.type, sizeof(rule->vf_quota.type), "%s",
			type ? type : CLV_VGPU_NONE);
	if (n > 0)
		rule->vf_count = n;
}

static int add_functions(
	struct clv_layout_rule *rule, const struct clv_node_device *device)
{
	rule->has_vf = true;
	rule->vf_count = (uint32_t)device->vf.n;
	if (device->vf.n > 0)
		rule->vf_quota = device->vf.items[0].quota;
	for (size_t i = 1; i < device->vf.n; i++)
		keep_common(&rule->vf_quota, &device->vf.items[i].quota);
	if (clv_vgpu_has_types(device->vf.framework))
		add_vgpus(rule, &device->vf);
	return 0;
}

int clv_layout_add_device(struct clv_layout *layout, const struct clv_node_device *device)
{
	bool can_be_divided = device->mig.is_capable || device->xcp.is_capable ||
			      device->vf.is_capable || device->cores.is_capable;
	struct clv_layout_rule *rule;
	int r;

	if (!can_be_divided)
		return 0;
	rule = clv_layout_add_rule(layout);
	if (!rule)
		return -ENOMEM;
	r = clv_selector_add_name(&rule->select, clv_node_identity(device));
	if (r >= 0 && device->mig.is_capable)
		r = add_mig(rule, device);
	if (r >= 0 && device->xcp.is_capable)
		r = add_modes(rule, device);
	if (r >= 0 && device->vf.is_capable)
		r = add_functions(rule, device);
	if (r >= 0 && device->cores.is_capable)
		r = add_all_placed(rule, device);
	return r;
}

int clv_layout_of_node(
	const struct clv_node *node, struct clv_layout *ret, struct clv_error *err)
{
	struct clv_layout layout = {0};

	snprintf(layout.name, sizeof(layout.name), "the node as it is");
	for (size_t i = 0; i < node->n_devices; i++) {
		if (clv_layout_add_device(&layout, &node->devices[i]) < 0) {
			clv_layout_clear(&layout);
			return clv_error_errno(err, ENOMEM, "cannot export the node");
		}
	}
	*ret = layout;
	return 0;
}
