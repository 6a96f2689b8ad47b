/* SPDX-License-Identifier: Apache-2.0 */
/* The requirements of a layout for a device, as docs/layout.md describes them, compared
 * with the device. Shares no code with the planner except for the tables and the
 * assignment of rules. */
#include "plan-apply.h"

#include "base/cleanup.h"
#include "core/device/vgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WISHES_MAX 64
#define PARTS_MAX 8

struct wish {
	char profile[CLV_PROFILE_NAME_MAX];
	int64_t start; /* -1: anywhere */
	uint32_t parts[PARTS_MAX];
	int32_t part_starts[PARTS_MAX]; /* -1: anywhere */
	size_t n_parts;                 /* 0: one part that fills it */
};

struct wishes {
	struct wish items[WISHES_MAX];
	size_t n;
};

static void add(struct wishes *wishes, const struct wish *wish)
{
	if (wishes->n == WISHES_MAX)
		abort();
	wishes->items[wishes->n++] = *wish;
}

static uint32_t slices_of(const struct clv_node_device *device, const char *profile)
{
	int index = clv_mig_profile_find(device->mig.model, profile, NULL);

	return index < 0 ? 0 : device->mig.model->profiles[index].slices;
}

/* "1c.3g.20gb" four times: three in one 3g.20gb, one in another. */
static void add_sugar(const struct clv_node_device *device,
	const struct clv_layout_partition *partition, struct wishes *ret)
{
	uint32_t size = (uint32_t)(partition->profile[0] - '0'), left = partition->count;
	struct wish wish = {.start = -1};
	uint32_t most;

	snprintf(wish.profile, sizeof(wish.profile), "%s", partition->profile + 3);
	most = slices_of(device, wish.profile) / size;
	while (left > 0 && most > 0) {
		wish.n_parts = left < most ? left : most;
		for (size_t i = 0; i < wish.n_parts; i++) {
			wish.parts[i] = size;
			wish.part_starts[i] = -1;
		}
		add(ret, &wish);
		left -= (uint32_t)wish.n_parts;
	}
}

static void add_wishes(const struct clv_node_device *device,
	const struct clv_layout_partition *partition, struct wishes *ret)
{
	struct wish wish = {.start = -1, .n_parts = partition->n_parts};

	if (device->mig.is_capable && strncmp(partition->profile + 1, "c.", 2) == 0) {
		add_sugar(device, partition, ret);
		return;
	}
	snprintf(wish.profile, sizeof(wish.profile), "%s", partition->profile);
	for (size_t i = 0; i < wish.n_parts; i++) {
		wish.parts[i] = CLV_LAYOUT_PART_SLICES(partition->parts[i]);
		wish.part_starts[i] = CLV_LAYOUT_PART_START(partition->parts[i]);
	}
	for (uint32_t i = 0; i < partition->count; i++)
		add(ret, &wish);
	for (size_t i = 0; i < partition->n_starts; i++) {
		wish.start = partition->starts[i];
		add(ret, &wish);
	}
}

static bool is_at(const struct clv_partition *partition, uint32_t size, int32_t start,
	uint32_t slices)
{
	if (partition->n_parts == 0)
		return start == 0 && size == slices;
	for (size_t i = 0; i < partition->n_parts; i++) {
		if (partition->parts[i].size == size &&
			partition->parts[i].start == (uint32_t)start)
			return true;
	}
	return false;
}

/* Counts by size, because the planner chooses most places inside an instance. */
static bool has_parts(const struct clv_node_device *device, const struct wish *wish,
	const struct clv_partition *partition)
{
	uint8_t wanted[256] = {0}, there[256] = {0};
	uint32_t slices = slices_of(device, wish->profile);

	if (partition->is_incomplete)
		return false;
	if (partition->n_parts == 0)
		there[slices]++;
	for (size_t i = 0; i < partition->n_parts; i++)
		there[partition->parts[i].size & 0xff]++;
	if (wish->n_parts == 0)
		wanted[slices]++;
	for (size_t i = 0; i < wish->n_parts; i++) {
		wanted[wish->parts[i] & 0xff]++;
		if (wish->part_starts[i] >= 0 &&
			!is_at(partition, wish->parts[i], wish->part_starts[i], slices))
			return false;
	}
	return memcmp(wanted, there, sizeof(wanted)) == 0;
}

static bool is_wished(const struct clv_node_device *device, const struct wish *wish,
	const struct clv_partition *partition)
{
	return strcmp(wish->profile, partition->profile) == 0 &&
	       (wish->start < 0 || (uint64_t)wish->start == partition->start) &&
	       (!device->mig.is_capable || has_parts(device, wish, partition));
}

/* Each wish needs a different partition. */
static bool find_all(const struct clv_node_device *device, const struct wishes *wishes,
	size_t first, uint64_t taken)
{
	if (first == wishes->n)
		return true;
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (!(taken & UINT64_C(1) << i) &&
			is_wished(
				device, &wishes->items[first], &device->partitions[i]) &&
			find_all(device, wishes, first + 1, taken | UINT64_C(1) << i))
			return true;
	}
	return false;
}

static const char *look_at_partitions(
	const struct clv_node_device *device, const struct clv_layout_rule *rule)
{
	struct wishes wishes = {0};

	for (size_t i = 0; i < rule->n_partitions; i++)
		add_wishes(device, &rule->partitions[i], &wishes);
	if (!find_all(device, &wishes, 0, 0))
		return "a partition is missing";
	if (!rule->preserve && device->n_partitions != wishes.n)
		return "there are more partitions than are wanted";
	return NULL;
}

static const char *look_at_mig(
	const struct clv_node_device *device, const struct clv_layout_rule *rule)
{
	bool is_wanted = rule->has_mig ? rule->mig : rule->n_partitions > 0;

	if ((rule->has_mig || rule->n_partitions > 0) && device->mig.is_on != is_wanted)
		return "MIG is in the other mode";
	if (!device->mig.is_on)
		return device->n_partitions == 0 ? NULL
						 : "instances on a GPU without MIG";
	return rule->has_partitions ? look_at_partitions(device, rule) : NULL;
}

static const char *look_at_modes(
	const struct clv_node_device *device, const struct clv_layout_rule *rule)
{
	const char *profile = rule->n_partitions > 0 ? rule->partitions[0].profile : "";
	const char *compute = clv_compute_mode_to_string(device->xcp.compute);
	const char *memory =
		clv_memory_mode_to_string((enum clv_memory_mode)device->xcp.memory);

	if (rule->has_compute_mode && rule->compute_mode != device->xcp.compute)
		return "the compute mode is another";
	if (rule->memory_mode != 0 && rule->memory_mode != device->xcp.memory)
		return "the memory mode is another";
	if (profile[0] != '\0' && strncmp(profile, compute, 3) != 0)
		return "the compute mode is another than the profile's";
	if (strlen(profile) > 4 && strcmp(profile + 4, memory) != 0)
		return "the memory mode is another than the profile's";
	if (rule->has_partitions && rule->n_partitions == 0 && !rule->has_compute_mode &&
		device->xcp.compute != CLV_SPX)
		return "it is divided and should be whole";
	return NULL;
}

/* Drivers round memory up by a page of some megabytes. */
static bool has_quota(const struct clv_vf_quota *wanted, const struct clv_vf *vf)
{
	const struct clv_vf_quota *now = &vf->quota;

	return (wanted->memory_bytes == 0 ||
		       (now->memory_bytes >= wanted->memory_bytes &&
			       now->memory_bytes - wanted->memory_bytes < 1u << 26)) &&
	       (wanted->exec_quantum_ms == 0 ||
		       wanted->exec_quantum_ms == now->exec_quantum_ms) &&
	       (wanted->preempt_timeout_us == 0 ||
		       wanted->preempt_timeout_us == now->preempt_timeout_us) &&
	       (wanted->contexts == 0 || wanted->contexts == now->contexts) &&
	       (wanted->doorbells == 0 || wanted->doorbells == now->doorbells) &&
	       (wanted->priority[0] == '\0' ||
		       strcmp(wanted->priority, now->priority) == 0) &&
	       (wanted->type[0] == '\0' || strcmp(wanted->type, now->type) == 0) &&
	       (wanted->driver[0] == '\0' || strcmp(wanted->driver, vf->driver) == 0);
}

/* This many of the type, and no others; the rest of the functions are spare. */
static const char *look_at_vgpus(
	const struct clv_vf_state *vf, const struct clv_layout_rule *rule, uint32_t count)
{
	bool is_none = strcmp(rule->vf_quota.type, CLV_VGPU_NONE) == 0;
	uint32_t n = 0, n_others = 0;

	for (size_t i = 0; i < vf->n; i++) {
		const char *type = vf->items[i].quota.type;

		n += type[0] != '\0' && clv_vgpu_is_type(type, rule->vf_quota.type);
		n_others +=
			type[0] != '\0' && !clv_vgpu_is_type(type, rule->vf_quota.type);
	}
	if (n != (is_none ? 0 : count) || (is_none && vf->n != count))
		return "there is another number of vGPUs";
	return n_others > 0 && !rule->preserve ? "there are vGPUs of another type" : NULL;
}

static const char *look_at_functions(
	const struct clv_node_device *device, const struct clv_layout_rule *rule)
{
	uint32_t count = rule->vf_count;

	if (!rule->has_vf && !rule->has_partitions)
		return NULL;
	if (rule->n_partitions > 0)
		count = (uint32_t)strtoul(rule->partitions[0].profile + 3, NULL, 10);
	if (clv_vgpu_has_types(device->vf.framework) && count > 0 &&
		rule->vf_quota.type[0] != '\0')
		return look_at_vgpus(&device->vf, rule, count);
	if (device->vf.n != count)
		return "there is another number of virtual functions";
	for (size_t i = 0; i < device->vf.n; i++) {
		if (!has_quota(&rule->vf_quota, &device->vf.items[i]))
			return "a virtual function has another quota";
	}
	return NULL;
}

/* Whether `preserve` keeps partitions that the rule's mode would remove, and so the
 * mode. */
static bool keeps_its_mode(
	const struct clv_node_device *device, const struct clv_layout_rule *rule)
{
	bool is_off = rule->has_mig && !rule->mig;

	return rule->preserve && device->n_partitions > 0 &&
	       (device->scheme == CLV_SCHEME_XCP || device->scheme == CLV_SCHEME_VF ||
		       (device->scheme == CLV_SCHEME_MIG && is_off));
}

static const char *look_at(
	const struct clv_node_device *device, const struct clv_layout_rule *rule)
{
	if (keeps_its_mode(device, rule))
		return NULL;
	if (device->mig.is_capable)
		return look_at_mig(device, rule);
	if (device->xcp.is_capable)
		return look_at_modes(device, rule);
	if (device->vf.is_capable)
		return look_at_functions(device, rule);
	if (device->cores.is_capable && rule->has_partitions)
		return look_at_partitions(device, rule);
	return NULL;
}

const char *plan_look(const struct clv_node *node, const struct clv_layout *layout)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	const char *wrong = NULL;

	if (!rule_of)
		abort();
	if (clv_layout_match(layout, node, rule_of, NULL) < 0)
		return "the layout does not match the node";
	for (size_t i = 0; i < node->n_devices && !wrong; i++) {
		if (rule_of[i] >= 0)
			wrong = look_at(&node->devices[i], &layout->rules[rule_of[i]]);
	}
	return wrong;
}
