/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: names, descriptions, and whether a reading shows their result. */
#include "core/plan/plan-internal.h"

#include "base/cleanup.h"
#include "core/device/vgpu.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xe and i915 allocate local memory in units of 2 MiB, and i915 allocates contexts in
 * units of 128. */
#define ROUNDING_BYTES (UINT64_C(2) << 20)
#define CONTEXTS_STEP 128u

static const char *const kinds[_CLV_STEP_KIND_MAX] = {
	[CLV_STEP_DESTROY_PART] = "destroy-part",
	[CLV_STEP_DESTROY] = "destroy",
	[CLV_STEP_MIG_MODE] = "mig-mode",
	[CLV_STEP_COMPUTE_MODE] = "compute-mode",
	[CLV_STEP_MEMORY_MODE] = "memory-mode",
	[CLV_STEP_RELOAD] = "reload",
	[CLV_STEP_VF_COUNT] = "vf-count",
	[CLV_STEP_VF_QUOTA] = "vf-quota",
	[CLV_STEP_CREATE] = "create",
	[CLV_STEP_CREATE_PART] = "create-part",
};

const char *clv_step_kind_to_string(enum clv_step_kind kind)
{
	assert(kind >= 0 && kind < _CLV_STEP_KIND_MAX);
	return kinds[kind];
}

enum clv_step_kind clv_step_kind_from_string(const char *text)
{
	for (int i = 0; i < _CLV_STEP_KIND_MAX; i++) {
		if (strcmp(kinds[i], text) == 0)
			return (enum clv_step_kind)i;
	}
	return _CLV_STEP_KIND_INVALID;
}

static const struct clv_partition *find_partition(
	const struct clv_node_device *device, const char *name)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (strcmp(device->partitions[i].name, name) == 0)
			return &device->partitions[i];
	}
	return NULL;
}

/* A part that fills its instance is not listed; "3g.20gb" has three slices. */
static bool fills(const struct clv_step *step, const struct clv_partition *partition)
{
	return step->start == 0 && step->size == strtoul(partition->profile, NULL, 10);
}

static bool has_part(const struct clv_step *step, const struct clv_node_device *device)
{
	const struct clv_partition *partition = find_partition(device, step->inside);

	if (!partition || partition->is_incomplete)
		return false;
	if (partition->n_parts == 0)
		return fills(step, partition);
	for (size_t i = 0; i < partition->n_parts; i++) {
		if (partition->parts[i].start == step->start &&
			partition->parts[i].size == step->size)
			return true;
	}
	return false;
}

/* Whether the memory is as wanted or rounded up by a driver. */
static bool has_memory(uint64_t wanted, uint64_t now)
{
	return wanted == 0 || (now >= wanted && now - wanted < ROUNDING_BYTES);
}

/* A number that the driver chose itself may be slightly larger than the wanted one; only
 * a multiple of the unit counts as rounded up. */
static bool has_contexts(uint32_t wanted, uint32_t now)
{
	return wanted == 0 || now == wanted ||
	       (now > wanted && now - wanted < CONTEXTS_STEP && now % CONTEXTS_STEP == 0);
}

bool clv_vf_has_quota(const struct clv_vf_quota *wanted, const struct clv_vf *vf)
{
	const struct clv_vf_quota *now = &vf->quota;

	return has_memory(wanted->memory_bytes, now->memory_bytes) &&
	       (wanted->exec_quantum_ms == 0 ||
		       wanted->exec_quantum_ms == now->exec_quantum_ms) &&
	       (wanted->preempt_timeout_us == 0 ||
		       wanted->preempt_timeout_us == now->preempt_timeout_us) &&
	       has_contexts(wanted->contexts, now->contexts) &&
	       (wanted->doorbells == 0 || wanted->doorbells == now->doorbells) &&
	       (wanted->priority[0] == '\0' ||
		       strcmp(wanted->priority, now->priority) == 0) &&
	       (wanted->type[0] == '\0' || clv_vgpu_is_type(now->type, wanted->type)) &&
	       (wanted->driver[0] == '\0' || strcmp(wanted->driver, vf->driver) == 0);
}

static bool has_quota(const struct clv_step *step, const struct clv_node_device *device)
{
	return step->value >= 1 && step->value <= device->vf.n &&
	       clv_vf_has_quota(&step->quota, &device->vf.items[step->value - 1]);
}

static bool is_created(const struct clv_step *step, const struct clv_node_device *device)
{
	const struct clv_partition *partition = find_partition(device, step->partition);

	return partition && (step->has_parts || !partition->is_incomplete);
}

bool clv_step_affects(const struct clv_step *step, size_t device)
{
	return step->affected && step->affected[device / 64] & UINT64_C(1) << device % 64;
}

bool clv_step_is_done(const struct clv_step *step, const struct clv_node_device *device)
{
	switch (step->kind) {
	case CLV_STEP_DESTROY_PART:
		return !has_part(step, device);
	case CLV_STEP_DESTROY:
		return !find_partition(device, step->partition);
	case CLV_STEP_MIG_MODE:
		return device->mig.is_on == (step->value != 0) && !device->mig.is_pending;
	case CLV_STEP_COMPUTE_MODE:
		return device->xcp.compute == (enum clv_compute_mode)step->value;
	case CLV_STEP_MEMORY_MODE:
		return device->xcp.memory == step->value ||
		       device->xcp.requested_memory == step->value;
	case CLV_STEP_RELOAD:
		return device->xcp.memory == step->value;
	case CLV_STEP_VF_COUNT:
		return device->vf.n == step->value;
	case CLV_STEP_VF_QUOTA:
		return has_quota(step, device);
	case CLV_STEP_CREATE:
		return is_created(step, device);
	case CLV_STEP_CREATE_PART:
		return has_part(step, device);
	default:
		return false;
	}
}

static void describe_quota(
	const struct clv_step *step, const char *device, char *ret, size_t ret_bytes)
{
	const char *type = step->quota.type;

	if (type[0] == '\0')
		snprintf(ret, ret_bytes,
			"set the quota of virtual function %" PRIu32 " of %s",
			step->value, device);
	else if (strcmp(type, CLV_VGPU_NONE) == 0)
		snprintf(ret, ret_bytes,
			"remove the vGPU of virtual function %" PRIu32 " of %s",
			step->value, device);
	else
		snprintf(ret, ret_bytes,
			"make virtual function %" PRIu32 " of %s a vGPU of type %s",
			step->value, device, type);
}

void clv_step_describe(const struct clv_step *step, const struct clv_node *node,
	char *ret, size_t ret_bytes)
{
	const char *device;

	assert(step->device < node->n_devices);
	device = node->devices[step->device].info.name;
	switch (step->kind) {
	case CLV_STEP_DESTROY_PART:
	case CLV_STEP_DESTROY:
		snprintf(ret, ret_bytes, "destroy %s", step->partition);
		break;
	case CLV_STEP_MIG_MODE:
		snprintf(ret, ret_bytes, "turn %s MIG of %s", step->value ? "on" : "off",
			device);
		break;
	case CLV_STEP_COMPUTE_MODE:
		snprintf(ret, ret_bytes, "set %s to %s", device,
			clv_compute_mode_to_string((enum clv_compute_mode)step->value));
		break;
	case CLV_STEP_MEMORY_MODE:
		snprintf(ret, ret_bytes, "request %s on %s",
			clv_memory_mode_to_string((enum clv_memory_mode)step->value),
			device);
		break;
	case CLV_STEP_RELOAD:
		snprintf(ret, ret_bytes, "reload the driver of %s", device);
		break;
	case CLV_STEP_VF_COUNT:
		snprintf(ret, ret_bytes, "set %s to %" PRIu32 " virtual function%s",
			device, step->value, step->value == 1 ? "" : "s");
		break;
	case CLV_STEP_VF_QUOTA:
		describe_quota(step, device, ret, ret_bytes);
		break;
	default:
		snprintf(ret, ret_bytes, "create %s", step->partition);
		break;
	}
}
