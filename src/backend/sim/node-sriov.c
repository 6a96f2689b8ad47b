/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the key `sriov` of a device: its virtual functions and vGPU types. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>

static int read_total(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_sim_read_number(value, 0, CLV_SIM_VFS_MAX, into, err);
}

static int read_allowed(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t *counts = into;
	uint32_t count;
	int r = clv_sim_read_number(value, 1, CLV_SIM_VFS_MAX, &count, err);

	if (r == 0)
		*counts |= UINT64_C(1) << (count - 1);
	return r;
}

static int read_counts(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_allowed, into, err);
}

static int read_framework(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *names[_CLV_VF_FRAMEWORK_MAX];
	int r;

	for (int i = 0; i < _CLV_VF_FRAMEWORK_MAX; i++)
		names[i] = clv_vf_framework_to_string((enum clv_vf_framework)i);
	r = clv_yaml_read_choice(value, names, _CLV_VF_FRAMEWORK_MAX, err);
	if (r < 0)
		return r;
	*(enum clv_vf_framework *)into = (enum clv_vf_framework)r;
	return 0;
}

CLV_SIM_DEFINE_READ_PLAIN(read_id, struct clv_vgpu_type, id)
CLV_SIM_DEFINE_READ_PLAIN(read_name, struct clv_vgpu_type, name)

#define TYPE(member) offsetof(struct clv_vgpu_type, member)

static const struct clv_yaml_field type_fields[] = {
	{"id", read_id, true, TYPE(id)},
	{"name", read_name, true, TYPE(name)},
	{"memory", clv_sim_read_bytes, true, TYPE(memory_bytes)},
	{"max", clv_sim_read_positive, false, TYPE(max_instances)},
};

static int read_type(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_sim_device *device = into;
	struct clv_vgpu_type type = {0};
	int r = clv_yaml_read_map(
		value, type_fields, CLV_ARRAY_SIZE(type_fields), &type, err);

	if (r < 0)
		return r;
	if (device->n_types == CLV_SIM_TYPES_MAX)
		return clv_yaml_fail(
			value, err, -E2BIG, "more than %d types", CLV_SIM_TYPES_MAX);
	device->types[device->n_types++] = type;
	return 0;
}

static int read_types(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_type, into, err);
}

#define DEVICE(member) offsetof(struct clv_sim_device, member)

static const struct clv_yaml_field sriov_fields[] = {
	{"total", read_total, true, DEVICE(vf_total)},
	{"counts", read_counts, false, DEVICE(vf_counts)},
	{"framework", read_framework, false, DEVICE(vf_framework)},
	{"types", read_types, false, 0},
	{"mixed", clv_sim_read_flag, false, DEVICE(vf_is_mixed)},
};

int clv_sim_read_sriov(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_map(
		value, sriov_fields, CLV_ARRAY_SIZE(sriov_fields), into, err);
}
