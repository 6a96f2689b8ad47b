/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates virtual functions as Linux (sriov_numvfs), Intel's drivers (i915, xe) and
 * NVIDIA's vGPU implement them: their number and their quotas. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/device/vgpu.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Source: xe_gt_sriov_pf_config.c and intel_iov_provisioning.c.  MEMORY_STEP is the
 * granularity of memory, MEMORY_SPARE the memory that stays with the host. */
#define MEMORY_STEP (UINT64_C(2) << 20)
#define MEMORY_SPARE (UINT64_C(128) << 20)
#define EXEC_QUANTUM_MAX_MS 100000u
#define PREEMPT_TIMEOUT_MAX_US 100000000u
#define CONTEXTS_STEP 128u
#define CONTEXTS_TOTAL 65536u
#define CONTEXTS_FAIR 1024u
#define DOORBELLS_TOTAL 240u

#define BIT(framework) (1u << (framework))
#define INTEL (BIT(CLV_VF_XE) | BIT(CLV_VF_I915))
#define VGPU (BIT(CLV_VF_MDEV) | BIT(CLV_VF_VFIO))

static uint64_t step_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

/* --- The number of functions --- */

int clv_sim_vf_count_check(
	const struct clv_sim_device *device, uint32_t count, struct clv_error *err)
{
	if (count > device->vf_total)
		return clv_error_set(err, -ERANGE,
			"%u virtual functions are too many: at most %u", count,
			device->vf_total);
	if (count > 0 && device->vf_counts &&
		!(device->vf_counts & UINT64_C(1) << (count - 1)))
		return clv_error_set(err, -EINVAL,
			"%u virtual functions are not offered: choose another number",
			count);
	return 0;
}

static bool is_provisioned(const struct clv_sim_device *device)
{
	for (size_t i = 0; i < device->vf_total; i++) {
		const struct clv_vf_quota *quota = &device->state.vf[i];

		if (quota->memory_bytes || quota->contexts || quota->doorbells)
			return true;
	}
	return false;
}

void clv_sim_vf_provision(struct clv_sim_device *device, uint32_t count)
{
	bool has_i915 = device->vf_framework == CLV_VF_I915;
	uint64_t memory = 0;

	assert(count <= device->vf_total && device->vf_total <= CLV_SIM_VFS_MAX);
	if (count == 0 || !(BIT(device->vf_framework) & INTEL) || is_provisioned(device))
		return;
	if (device->memory_bytes > MEMORY_SPARE)
		memory = (device->memory_bytes - MEMORY_SPARE) / count / MEMORY_STEP *
			 MEMORY_STEP;
	for (size_t i = 0; i < count; i++) {
		struct clv_vf_quota *quota = &device->state.vf[i];

		quota->memory_bytes = memory;
		quota->contexts = has_i915 ? CONTEXTS_FAIR : 0;
		quota->doorbells = has_i915 ? DOORBELLS_TOTAL / count : 0;
	}
}

/* A vGPU must be removed explicitly, not implicitly with its function. */
static int check_no_vgpu(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_sim_state *state = &request->device->state;

	for (uint32_t i = 0; i < state->vf_count; i++) {
		if (state->vf[i].type[0] != '\0')
			return clv_error_set(err, -EBUSY,
				"virtual function %u of %s is a vGPU (%s): remove it "
				"first",
				i + 1, request->seen->info.name, state->vf[i].type);
	}
	return clv_sim_check_idle(request->seen, err);
}

static int check_count(const struct clv_sim_request *request, struct clv_error *err)
{
	uint32_t now = request->device->state.vf_count;

	if (request->value == 0)
		return check_no_vgpu(request, err);
	if (now > 0)
		return clv_error_set(err, -EBUSY,
			"%s has %u virtual functions: their number can only be changed "
			"from 0",
			request->seen->info.name, now);
	return clv_sim_check_scheme(request->seen, CLV_SCHEME_VF, err);
}

int clv_sim_set_vf_count(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_device *device = request->device;
	int r;

	if (device->vf_total == 0)
		return clv_error_set(err, -ENOTSUP, "%s (%s) has no virtual functions",
			request->seen->info.name, device->product.model);
	if (request->value == device->state.vf_count)
		return 0;
	r = clv_sim_vf_count_check(device, request->value, err);
	if (r == 0)
		r = check_count(request, err);
	if (r < 0)
		return r;
	if (request->value > 0)
		clv_sim_vf_provision(device, request->value);
	else
		memset(device->state.vf, 0, sizeof(device->state.vf));
	device->state.vf_count = request->value;
	return 0;
}

/* --- Quotas --- */

/* The members of a quota, and the frameworks whose drivers support each. */
static const struct {
	size_t offset;
	size_t n_bytes;
	uint32_t frameworks;
	const char *name;
} fields[] = {
#define FIELD(member) \
	offsetof(struct clv_vf_quota, member), sizeof(((struct clv_vf_quota *)0)->member)
	{FIELD(memory_bytes), INTEL, "memory"},
	{FIELD(exec_quantum_ms), INTEL, "execution quantum"},
	{FIELD(preempt_timeout_us), INTEL, "preemption timeout"},
	{FIELD(contexts), BIT(CLV_VF_I915), "contexts"},
	{FIELD(doorbells), BIT(CLV_VF_I915), "doorbells"},
	{FIELD(priority), BIT(CLV_VF_XE), "priority"},
	{FIELD(type), VGPU, "type"},
	/* Not CLV_VF_VFIO: NVIDIA's driver loses a function that is unbound from it. */
	{FIELD(driver), INTEL | BIT(CLV_VF_PLAIN) | BIT(CLV_VF_MDEV), "driver"},
#undef FIELD
};

/* A member is set unless all its bytes are 0. */
static bool is_set(const struct clv_vf_quota *quota, size_t at)
{
	const char *bytes = (const char *)quota + fields[at].offset;

	for (size_t i = 0; i < fields[at].n_bytes; i++) {
		if (bytes[i] != 0)
			return true;
	}
	return false;
}

static void merge(const struct clv_vf_quota *from, struct clv_vf_quota *into)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(fields); i++) {
		if (is_set(from, i))
			memcpy((char *)into + fields[i].offset,
				(const char *)from + fields[i].offset, fields[i].n_bytes);
	}
}

static int check_fields(const struct clv_sim_device *device,
	const struct clv_vf_quota *quota, struct clv_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(fields); i++) {
		if (!is_set(quota, i) || fields[i].frameworks & BIT(device->vf_framework))
			continue;
		return clv_error_set(err, -ENOTSUP,
			"the driver (%s) does not support %s of a virtual function",
			clv_vf_framework_to_string(device->vf_framework), fields[i].name);
	}
	return 0;
}

/* Rounds and clamps silently, as the drivers do. */
static void align(struct clv_vf_quota *quota)
{
	quota->memory_bytes = step_up(quota->memory_bytes, MEMORY_STEP);
	quota->contexts = (uint32_t)step_up(quota->contexts, CONTEXTS_STEP);
	if (quota->exec_quantum_ms > EXEC_QUANTUM_MAX_MS)
		quota->exec_quantum_ms = EXEC_QUANTUM_MAX_MS;
	if (quota->preempt_timeout_us > PREEMPT_TIMEOUT_MAX_US)
		quota->preempt_timeout_us = PREEMPT_TIMEOUT_MAX_US;
}

static int check_sums(const struct clv_sim_device *device, size_t at,
	const struct clv_vf_quota *quota, struct clv_error *err)
{
	uint64_t memory = quota->memory_bytes, contexts = quota->contexts,
		 doorbells = quota->doorbells;

	for (size_t i = 0; i < device->vf_total; i++) {
		const struct clv_vf_quota *other = &device->state.vf[i];

		memory += i != at ? other->memory_bytes : 0;
		contexts += i != at ? other->contexts : 0;
		doorbells += i != at ? other->doorbells : 0;
	}
	if (memory + MEMORY_SPARE > device->memory_bytes && quota->memory_bytes > 0)
		return clv_error_set(err, -ENOSPC,
			"%" PRIu64 " MiB for all virtual functions are more than the "
			"device has, %" PRIu64 " MiB without the host's",
			memory >> 20, (device->memory_bytes - MEMORY_SPARE) >> 20);
	if (contexts > CONTEXTS_TOTAL)
		return clv_error_set(err, -ENOSPC,
			"%" PRIu64 " contexts for all virtual functions: there are %u",
			contexts, CONTEXTS_TOTAL);
	if (doorbells > DOORBELLS_TOTAL)
		return clv_error_set(err, -ENOSPC,
			"%" PRIu64 " doorbells for all virtual functions: there are %u",
			doorbells, DOORBELLS_TOTAL);
	return 0;
}

const struct clv_vgpu_type *clv_sim_type_find(
	const struct clv_sim_device *device, const char *name)
{
	return clv_vgpu_find(device->types, device->n_types, name);
}

/* All vGPUs of a GPU have types of one size, unless its mode is heterogeneous. */
static int check_type(const struct clv_sim_device *device, size_t at, const char *name,
	struct clv_error *err)
{
	const struct clv_vgpu_type *type = clv_sim_type_find(device, name);
	char known[200];
	uint32_t n = 1;

	if (strcmp(name, CLV_VGPU_NONE) == 0)
		return 0;
	if (!type) {
		clv_vgpu_list(device->types, device->n_types, name, known, sizeof(known));
		return clv_error_set(err, -EINVAL,
			"there is no type '%.48s': there is %s", name, known);
	}
	for (size_t i = 0; i < device->state.vf_count; i++) {
		const struct clv_vgpu_type *other =
			clv_sim_type_find(device, device->state.vf[i].type);

		if (i == at || !other)
			continue;
		n++;
		if (other->memory_bytes != type->memory_bytes && !device->vf_is_mixed)
			return clv_error_set(err, -ENOSPC,
				"%s and %s have different sizes: all vGPUs of this GPU "
				"must "
				"have one size",
				type->name, other->name);
	}
	if (type->max_instances && n > type->max_instances)
		return clv_error_set(err, -ENOSPC, "a GPU has at most %u of the type %s",
			type->max_instances, type->name);
	return 0;
}

static int check_words(const struct clv_vf_quota *quota, struct clv_error *err)
{
	static const char *const priorities[] = {"", "low", "normal", "high"};
	size_t i = 0;

	while (i < 4 && strcmp(priorities[i], quota->priority) != 0)
		i++;
	if (i == 4)
		return clv_error_set(err, -EINVAL,
			"'%s' is not a priority: there are low, normal and high",
			quota->priority);
	if (quota->driver[strspn(quota->driver, "abcdefghijklmnopqrstuvwxyz"
						"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						"0123456789_-")] != '\0')
		return clv_error_set(
			err, -EINVAL, "'%s' is not a name of a driver", quota->driver);
	return 0;
}

int clv_sim_vf_quota_check(const struct clv_sim_device *device, size_t at,
	const struct clv_vf_quota *quota, struct clv_error *err)
{
	int r = check_fields(device, quota, err);

	if (r == 0)
		r = check_words(quota, err);
	if (r == 0)
		r = check_sums(device, at, quota, err);
	if (r == 0 && quota->type[0] != '\0')
		r = check_type(device, at, quota->type, err);
	return r;
}

/* Intel's drivers accept quotas for functions that do not exist yet. */
static int check_number(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_sim_device *device = request->device;
	uint32_t most = device->state.vf_count;

	if (most == 0 && BIT(device->vf_framework) & INTEL && !request->quota->driver[0])
		most = device->vf_total;
	if (request->value >= 1 && request->value <= most)
		return 0;
	return clv_error_set(err, -ENODEV, "%s has no virtual function %u: there are %u",
		request->seen->info.name, request->value, device->state.vf_count);
}

static int check_function_idle(
	const struct clv_sim_request *request, struct clv_error *err)
{
	if (request->value > request->device->state.vf_count)
		return 0;
	return clv_sim_check_partition_idle(
		&request->seen->partitions[request->value - 1], err);
}

/* Replaces the id of a type by its name; the type "none" is stored as "". */
static void name_type(const struct clv_sim_device *device, struct clv_vf_quota *quota)
{
	const struct clv_vgpu_type *type = clv_sim_type_find(device, quota->type);

	if (type)
		memcpy(quota->type, type->name, sizeof(quota->type));
	else if (strcmp(quota->type, CLV_VGPU_NONE) == 0)
		memset(quota->type, 0, sizeof(quota->type));
}

int clv_sim_set_vf_quota(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_device *device = request->device;
	size_t at = request->value - 1;
	struct clv_vf_quota quota;
	int r = check_number(request, err);

	if (r == 0)
		r = check_function_idle(request, err);
	if (r < 0)
		return r;
	quota = device->state.vf[at];
	merge(request->quota, &quota);
	align(&quota);
	r = clv_sim_vf_quota_check(device, at, &quota, err);
	if (r < 0) {
		clv_error_prefix(err, "virtual function %u of %s", request->value,
			request->seen->info.name);
		return r;
	}
	name_type(device, &quota);
	device->state.vf[at] = quota;
	return 0;
}
