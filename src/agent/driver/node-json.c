/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, devices and steps as JSON, by tables of members and by functions for the rest.
 */
#include "agent/driver/node-json.h"

#include "agent/os/engines.h"
#include "agent/os/json-fields.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/device/assignable.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROFILES_MAX 64u

#define TEXT(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_TEXT, __VA_ARGS__)
#define BOOL(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_BOOL, __VA_ARGS__)
#define U8(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_U8, __VA_ARGS__)
#define U16(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_U16, __VA_ARGS__)
#define U32(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_U32, __VA_ARGS__)
#define I32(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_I32, __VA_ARGS__)
#define U64(type, key, ...) CLV_JSON_FIELD(type, key, CLV_JSON_U64, __VA_ARGS__)

/* clang-format off */
#define TABLE(rows) {rows, CLV_ARRAY_SIZE(rows)}

static const struct clv_json_field holder_rows[] = {
	TEXT(struct clv_holder, "text", text, "for people"),
	TEXT(struct clv_holder, "lease", lease, "empty: it is no lease"),
	U32(struct clv_holder, "pid", pid, "0: it is no process"),
};
const struct clv_json_table clv_holder_members = TABLE(holder_rows);

static const struct clv_json_field partition_rows[] = {
	TEXT(struct clv_partition, "name", name),
	TEXT(struct clv_partition, "profile", profile),
	TEXT(struct clv_partition, "uuid", uuid),
	TEXT(struct clv_partition, "visible", visible),
	TEXT(struct clv_partition, "address", address),
	U32(struct clv_partition, "driver_id", driver_id),
	U32(struct clv_partition, "start", start),
	U32(struct clv_partition, "size", size),
	U32(struct clv_partition, "compute_units", compute_units),
	U64(struct clv_partition, "memory_bytes", memory_bytes),
	I32(struct clv_partition, "numa_node", numa_node, "of the processors near it, or -1"),
	I32(struct clv_partition, "memory_part", memory_part, "AMD: its part of a divided memory, or -1"),
	BOOL(struct clv_partition, "half_made", is_incomplete, "without a compute instance"),
};
const struct clv_json_table clv_partition_members = TABLE(partition_rows);

static const struct clv_json_field mig_rows[] = {
	BOOL(struct clv_mig_state, "on", is_on),
	BOOL(struct clv_mig_state, "pending", is_pending),
	BOOL(struct clv_mig_state, "needs_reset", needs_reset),
	BOOL(struct clv_mig_state, "cannot_reset", cannot_reset),
	BOOL(struct clv_mig_state, "lost_at_reboot", is_lost_at_reboot),
};
const struct clv_json_table clv_mig_state_members = TABLE(mig_rows);

static const struct clv_json_field model_rows[] = {
	U8(struct clv_mig_model, "grid", grid),
	U8(struct clv_mig_model, "slices", slices),
};
const struct clv_json_table clv_mig_model_members = TABLE(model_rows);

static const struct clv_json_field profile_rows[] = {
	U32(struct clv_mig_profile, "driver_id", driver_id),
	U32(struct clv_mig_profile, "memory_mib", memory_mib),
	U32(struct clv_mig_profile, "attributes", attributes),
	U16(struct clv_mig_profile, "multiprocessors", multiprocessors),
	U8(struct clv_mig_profile, "nvml_index", nvml_index),
	U8(struct clv_mig_profile, "slices", slices),
	U8(struct clv_mig_profile, "size", size),
	U8(struct clv_mig_profile, "max_instances", max_instances),
	U8(struct clv_mig_profile, "copy_engines", engines.copy),
	U8(struct clv_mig_profile, "decoders", engines.decode),
	U8(struct clv_mig_profile, "encoders", engines.encode),
	U8(struct clv_mig_profile, "jpeg_engines", engines.jpeg),
	U8(struct clv_mig_profile, "optical_flow_engines", engines.optical_flow),
};
const struct clv_json_table clv_mig_profile_members = TABLE(profile_rows);

static const struct clv_json_field xcp_rows[] = {
	U32(struct clv_xcp_state, "dies", dies),
	U32(struct clv_xcp_state, "memory", memory),
	U32(struct clv_xcp_state, "requested_memory", requested_memory),
	U32(struct clv_xcp_state, "compute_available", compute_available),
	U32(struct clv_xcp_state, "memory_available", memory_available),
};
const struct clv_json_table clv_xcp_state_members = TABLE(xcp_rows);

static const struct clv_json_field quota_rows[] = {
	U64(struct clv_vf_quota, "memory_bytes", memory_bytes),
	U32(struct clv_vf_quota, "exec_quantum_ms", exec_quantum_ms),
	U32(struct clv_vf_quota, "preempt_timeout_us", preempt_timeout_us),
	U32(struct clv_vf_quota, "contexts", contexts),
	U32(struct clv_vf_quota, "doorbells", doorbells),
	TEXT(struct clv_vf_quota, "priority", priority),
	TEXT(struct clv_vf_quota, "type", type),
	TEXT(struct clv_vf_quota, "driver", driver),
};
const struct clv_json_table clv_vf_quota_members = TABLE(quota_rows);

static const struct clv_json_field function_rows[] = {
	U32(struct clv_vf, "number", number),
	TEXT(struct clv_vf, "address", address),
	TEXT(struct clv_vf, "driver", driver),
	I32(struct clv_vf, "iommu_group", iommu_group),
	U32(struct clv_vf, "group_others", n_group_others),
};
const struct clv_json_table clv_vf_members = TABLE(function_rows);

static const struct clv_json_field type_rows[] = {
	TEXT(struct clv_vgpu_type, "id", id),
	TEXT(struct clv_vgpu_type, "name", name),
	U64(struct clv_vgpu_type, "memory_bytes", memory_bytes),
	U32(struct clv_vgpu_type, "max_instances", max_instances),
};
const struct clv_json_table clv_vgpu_type_members = TABLE(type_rows);

static const struct clv_json_field vf_rows[] = {
	BOOL(struct clv_vf_state, "capable", is_capable),
	TEXT(struct clv_vf_state, "why_not", why_not),
	U32(struct clv_vf_state, "total", total),
	U64(struct clv_vf_state, "counts", counts),
	BOOL(struct clv_vf_state, "has_all_types", has_all_types),
	BOOL(struct clv_vf_state, "mixed", is_mixed),
};
const struct clv_json_table clv_vf_state_members = TABLE(vf_rows);

static const struct clv_json_field device_rows[] = {
	TEXT(struct clv_node_device, "name", info.name),
	TEXT(struct clv_node_device, "uuid", info.uuid),
	TEXT(struct clv_node_device, "model", info.model),
	TEXT(struct clv_node_device, "vendor", info.vendor),
	TEXT(struct clv_node_device, "driver", info.driver),
	TEXT(struct clv_node_device, "cuda_version", info.generation.cuda, "newest CUDA of its driver; empty: not known"),
	TEXT(struct clv_node_device, "architecture", info.generation.architecture, "hopper, gfx942; empty: not known"),
	TEXT(struct clv_node_device, "compute_capability", info.generation.capability, "CUDA's, as 9.0; empty: not known"),
	TEXT(struct clv_node_device, "type", info.type),
	TEXT(struct clv_node_device, "visible", info.visible),
	U64(struct clv_node_device, "memory_bytes", info.memory_bytes),
	U32(struct clv_node_device, "compute_units", info.compute_units),
	U32(struct clv_node_device, "index", index),
	TEXT(struct clv_node_device, "pci_address", pci_address),
	TEXT(struct clv_node_device, "pcie_root", pcie_root, "its root complex, as pci0000:3a; empty: not known"),
	TEXT(struct clv_node_device, "hive", hive),
	I32(struct clv_node_device, "numa_node", numa_node, "of the processors near it, or -1"),
	BOOL(struct clv_node_device, "mig_absent", mig.is_absent),
	TEXT(struct clv_node_device, "cannot_divide", cannot_divide, "where there is no scheme: why, and what to use instead"),
};
const struct clv_json_table clv_node_device_members = TABLE(device_rows);

static const struct clv_json_field step_rows[] = {
	U32(struct clv_step, "device", device),
	U32(struct clv_step, "needs", needs),
	U32(struct clv_step, "value", value),
	TEXT(struct clv_step, "partition", partition),
	TEXT(struct clv_step, "inside", inside),
	TEXT(struct clv_step, "profile", profile),
	U32(struct clv_step, "start", start),
	U32(struct clv_step, "size", size),
	BOOL(struct clv_step, "has_parts", has_parts),
	TEXT(struct clv_step, "cpus", cpus),
	TEXT(struct clv_step, "why", why),
};
static const struct clv_json_table step_members = TABLE(step_rows);
/* clang-format on */

/* To JSON. */

static json_t *to_json(const struct clv_json_table *table, const void *from)
{
	json_t *object = json_object();

	clv_json_write(object, table, from);
	return object;
}

json_t *clv_holders_to_json(const struct clv_holders *holders)
{
	json_t *array = json_array();

	for (size_t i = 0; i < holders->n; i++)
		json_array_append_new(
			array, to_json(&clv_holder_members, &holders->items[i]));
	return array;
}

static json_t *partition_to_json(
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	json_t *object = to_json(&clv_partition_members, partition);
	json_t *parts = json_array();
	int32_t io_die = clv_partition_io_die(device, partition);

	if (io_die >= 0)
		json_object_set_new(object, "io_die", json_integer(io_die));
	json_object_set_new(object, "holders", clv_holders_to_json(&partition->holders));
	for (size_t i = 0; i < partition->n_parts; i++)
		json_array_append_new(
			parts, partition_to_json(device, &partition->parts[i]));
	json_object_set_new(object, "parts", parts);
	return object;
}

static json_t *model_to_json(const struct clv_mig_model *model)
{
	json_t *object, *profiles;

	if (!model)
		return json_null();
	object = json_object();
	profiles = json_array();
	clv_json_set_text(object, "name", model->name);
	clv_json_write(object, &clv_mig_model_members, model);
	for (size_t i = 0; i < model->n_profiles; i++) {
		const struct clv_mig_profile *profile = &model->profiles[i];
		json_t *item = json_object(), *starts = json_array();

		clv_json_set_text(item, "name", profile->name);
		clv_json_write(item, &clv_mig_profile_members, profile);
		for (uint8_t s = 0; s < profile->n_starts; s++)
			json_array_append_new(starts, json_integer(profile->starts[s]));
		json_object_set_new(item, "starts", starts);
		json_array_append_new(profiles, item);
	}
	json_object_set_new(object, "profiles", profiles);
	return object;
}

static json_t *mig_to_json(const struct clv_mig_state *mig)
{
	json_t *object;

	if (!mig->is_capable)
		return json_null();
	object = to_json(&clv_mig_state_members, mig);
	json_object_set_new(object, "model", model_to_json(mig->model));
	return object;
}

static json_t *xcp_to_json(const struct clv_xcp_state *xcp)
{
	json_t *object;

	if (!xcp->is_capable)
		return json_null();
	object = to_json(&clv_xcp_state_members, xcp);
	json_object_set_new(
		object, "compute", json_string(clv_compute_mode_to_string(xcp->compute)));
	clv_json_set_text(object, "model", xcp->model ? xcp->model->name : "");
	return object;
}

static json_t *quota_to_json(const struct clv_vf_quota *quota)
{
	return to_json(&clv_vf_quota_members, quota);
}

static json_t *vf_to_json(const struct clv_vf_state *vf)
{
	json_t *object = to_json(&clv_vf_state_members, vf);
	json_t *items = json_array(), *types = json_array();

	json_object_set_new(object, "framework",
		json_string(clv_vf_framework_to_string(vf->framework)));
	for (size_t i = 0; i < vf->n; i++) {
		json_t *item = to_json(&clv_vf_members, &vf->items[i]);

		json_object_set_new(item, "quota", quota_to_json(&vf->items[i].quota));
		json_object_set_new(
			item, "holders", clv_holders_to_json(&vf->items[i].holders));
		json_array_append_new(items, item);
	}
	for (size_t i = 0; i < vf->n_types; i++)
		json_array_append_new(
			types, to_json(&clv_vgpu_type_members, &vf->types[i]));
	json_object_set_new(object, "functions", items);
	json_object_set_new(object, "types", types);
	return object;
}

static json_t *cores_to_json(const struct clv_cores_state *cores)
{
	json_t *array;

	if (!cores->is_capable)
		return json_null();
	array = json_array();
	for (uint32_t i = 0; i < cores->total; i++)
		json_array_append_new(array, json_integer(cores->ids[i]));
	return array;
}

static void put_assignable(json_t *object, const struct clv_node_device *device)
{
	const char *why;
	enum clv_assignable assignable = clv_assignable_of(device, &why);

	json_object_set_new(
		object, "assignable", json_string(clv_assignable_to_string(assignable)));
	json_object_set_new(
		object, "why_not_assignable", why ? json_string(why) : json_null());
}

json_t *clv_node_device_to_json(const struct clv_node_device *device)
{
	json_t *object = to_json(&clv_node_device_members, device);
	json_t *partitions = json_array();

	clv_json_set_text(object, "backend", device->info.backend);
	clv_json_set_text(object, "scheme", clv_scheme_to_string(device->scheme));
	json_object_set_new(object, "mig", mig_to_json(&device->mig));
	json_object_set_new(object, "xcp", xcp_to_json(&device->xcp));
	json_object_set_new(object, "vf", vf_to_json(&device->vf));
	json_object_set_new(object, "cores", cores_to_json(&device->cores));
	for (size_t i = 0; i < device->n_partitions; i++)
		json_array_append_new(
			partitions, partition_to_json(device, &device->partitions[i]));
	json_object_set_new(object, "partitions", partitions);
	json_object_set_new(object, "holders", clv_holders_to_json(&device->holders));
	clv_engines_add(device, object);
	put_assignable(object, device);
	return object;
}

json_t *clv_node_to_json(const struct clv_node *node)
{
	json_t *object = json_object(), *devices = json_array(), *problems = json_array();

	for (size_t i = 0; i < node->n_devices; i++)
		json_array_append_new(
			devices, clv_node_device_to_json(&node->devices[i]));
	for (size_t i = 0; i < node->n_problems; i++)
		json_array_append_new(problems, json_string(node->problems[i]));
	clv_json_set_text(object, "name", node->name);
	json_object_set_new(object, "devices", devices);
	json_object_set_new(object, "problems", problems);
	return object;
}

json_t *clv_step_to_json(const struct clv_step *step)
{
	json_t *object = to_json(&step_members, step);

	clv_json_set_text(object, "kind", clv_step_kind_to_string(step->kind));
	json_object_set_new(object, "quota", quota_to_json(&step->quota));
	return object;
}

/* From JSON.  Each returns 0, -EINVAL or -ENOMEM. */

static int read_holders(
	const json_t *array, struct clv_holders *ret, struct clv_error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach (array, i, item) {
		struct clv_holder *holder = clv_holders_add(ret);
		int r = holder ? clv_json_read(item, &clv_holder_members, holder, err)
			       : -ENOMEM;

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_partition(
	const json_t *json, struct clv_partition *ret, struct clv_error *err)
{
	const json_t *item;
	size_t i;
	int r;

	if (!ret)
		return -ENOMEM;
	r = clv_json_read(json, &clv_partition_members, ret, err);
	if (r >= 0)
		r = read_holders(json_object_get(json, "holders"), &ret->holders, err);
	json_array_foreach (json_object_get(json, "parts"), i, item) {
		if (r >= 0)
			r = read_partition(item, clv_node_add_part(ret), err);
	}
	return r;
}

static int read_profile(
	const json_t *json, struct clv_mig_profile *ret, struct clv_error *err)
{
	const json_t *starts = json_object_get(json, "starts"), *start;
	size_t i;

	ret->name = json_string_value(json_object_get(json, "name"));
	if (!ret->name || json_array_size(starts) > CLV_MIG_STARTS_MAX)
		return clv_error_set(err, -EINVAL, "a MIG profile is invalid");
	json_array_foreach (starts, i, start)
		ret->starts[ret->n_starts++] = (uint8_t)json_integer_value(start);
	return clv_json_read(json, &clv_mig_profile_members, ret, err);
}

/* The names belong to the JSON until the model is copied. */
static int read_model(
	const json_t *json, struct clv_mig_state *ret, struct clv_error *err)
{
	struct clv_mig_profile profiles[PROFILES_MAX] = {0};
	struct clv_mig_model model = {.profiles = profiles};
	const json_t *item;
	size_t i;
	int r;

	if (!json_is_object(json))
		return 0;
	model.name = json_string_value(json_object_get(json, "name"));
	r = clv_json_read(json, &clv_mig_model_members, &model, err);
	if (!model.name)
		r = clv_error_set(err, -EINVAL, "a MIG model has no name");
	json_array_foreach (json_object_get(json, "profiles"), i, item) {
		if (r >= 0 && i < PROFILES_MAX)
			r = read_profile(item, &profiles[model.n_profiles++], err);
	}
	if (r < 0)
		return r;
	ret->own_model = clv_mig_model_copy(&model);
	ret->model = ret->own_model;
	return ret->own_model ? 0 : -ENOMEM;
}

static int read_mig(const json_t *json, struct clv_mig_state *ret, struct clv_error *err)
{
	int r;

	if (!json_is_object(json))
		return 0;
	ret->is_capable = true;
	r = clv_json_read(json, &clv_mig_state_members, ret, err);
	return r < 0 ? r : read_model(json_object_get(json, "model"), ret, err);
}

static int read_xcp(const json_t *json, struct clv_xcp_state *ret, struct clv_error *err)
{
	const char *compute = json_string_value(json_object_get(json, "compute"));
	const char *model = json_string_value(json_object_get(json, "model"));

	if (!json_is_object(json))
		return 0;
	ret->is_capable = true;
	ret->compute = clv_compute_mode_from_string(compute ? compute : "");
	if (ret->compute == _CLV_COMPUTE_MODE_INVALID)
		return clv_error_set(err, -EINVAL, "a compute mode is unknown");
	ret->model = clv_xcp_model_find(model ? model : "");
	return clv_json_read(json, &clv_xcp_state_members, ret, err);
}

static int read_function(
	const json_t *json, struct clv_vf_state *ret, struct clv_error *err)
{
	struct clv_vf *vf = CLV_APPEND(ret->items, ret->n);
	int r = vf ? clv_json_read(json, &clv_vf_members, vf, err) : -ENOMEM;

	if (r >= 0)
		r = clv_json_read(json_object_get(json, "quota"), &clv_vf_quota_members,
			&vf->quota, err);
	if (r >= 0)
		r = read_holders(json_object_get(json, "holders"), &vf->holders, err);
	return r;
}

static int read_vf(const json_t *json, struct clv_vf_state *ret, struct clv_error *err)
{
	const char *framework = json_string_value(json_object_get(json, "framework"));
	const json_t *item;
	size_t i;
	int r = clv_json_read(json, &clv_vf_state_members, ret, err);

	ret->framework = clv_vf_framework_from_string(framework ? framework : "");
	if (r >= 0 && ret->framework == _CLV_VF_FRAMEWORK_INVALID)
		r = clv_error_set(
			err, -EINVAL, "a framework of virtual functions is unknown");
	json_array_foreach (json_object_get(json, "functions"), i, item) {
		if (r >= 0)
			r = read_function(item, ret, err);
	}
	json_array_foreach (json_object_get(json, "types"), i, item) {
		struct clv_vgpu_type *type = CLV_APPEND(ret->types, ret->n_types);

		if (r >= 0)
			r = type ? clv_json_read(item, &clv_vgpu_type_members, type, err)
				 : -ENOMEM;
	}
	return r;
}

static int read_cores(const json_t *json, struct clv_cores_state *ret)
{
	const json_t *item;
	size_t i, n = 0;

	if (!json_is_array(json))
		return 0;
	ret->is_capable = true;
	json_array_foreach (json, i, item) {
		uint16_t *id = CLV_APPEND(ret->ids, n);

		if (!id)
			return -ENOMEM;
		*id = (uint16_t)json_integer_value(item);
	}
	ret->total = (uint32_t)n;
	return 0;
}

/* The backends, with what enforces shares of their devices. */
static const struct {
	const char *name, *executor;
} backends[] = {
	{"amd", "gate"},
	{"nvidia", "gate"},
	{"opencl", "gate"},
	{"sim", "none"},
	{"sriov", "none"},
};

const char *clv_node_backend_name(const char *name)
{
	for (size_t i = 0; name && i < CLV_ARRAY_SIZE(backends); i++) {
		if (strcmp(backends[i].name, name) == 0)
			return backends[i].name;
	}
	return "";
}

const char *clv_node_backend_executor(const char *name)
{
	for (size_t i = 0; name && i < CLV_ARRAY_SIZE(backends); i++) {
		if (strcmp(backends[i].name, name) == 0)
			return backends[i].executor;
	}
	return "none";
}

static int read_device(
	const json_t *json, struct clv_node_device *ret, struct clv_error *err)
{
	const char *scheme = json_string_value(json_object_get(json, "scheme"));
	const json_t *item;
	size_t i;
	int r = clv_json_read(json, &clv_node_device_members, ret, err);

	ret->info.backend = clv_node_backend_name(
		json_string_value(json_object_get(json, "backend")));
	ret->info.executor = clv_node_backend_executor(ret->info.backend);
	ret->scheme = clv_scheme_from_string(scheme ? scheme : "");
	if (r >= 0 && ret->scheme == _CLV_SCHEME_INVALID)
		r = clv_error_set(err, -EINVAL, "a scheme of partitions is unknown");
	if (r >= 0)
		r = read_mig(json_object_get(json, "mig"), &ret->mig, err);
	if (r >= 0)
		r = read_xcp(json_object_get(json, "xcp"), &ret->xcp, err);
	if (r >= 0)
		r = read_vf(json_object_get(json, "vf"), &ret->vf, err);
	if (r >= 0)
		r = read_cores(json_object_get(json, "cores"), &ret->cores);
	if (r >= 0)
		r = read_holders(json_object_get(json, "holders"), &ret->holders, err);
	json_array_foreach (json_object_get(json, "partitions"), i, item) {
		if (r >= 0)
			r = read_partition(item, clv_node_add_partition(ret), err);
	}
	return r;
}

static int end_reading(int r, struct clv_error *err)
{
	if (r == -ENOMEM)
		return clv_error_errno(err, ENOMEM, "cannot read a node");
	return r < 0 ? r : 0;
}

int clv_node_device_from_json(
	const json_t *json, struct clv_node_device *ret, struct clv_error *err)
{
	int r = read_device(json, ret, err);

	if (r < 0)
		clv_node_device_clear(ret);
	return end_reading(r, err);
}

int clv_node_from_json(const json_t *json, struct clv_node *ret, struct clv_error *err)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	struct clv_node node = {0};
	const json_t *item;
	size_t i;
	int r = 0;

	snprintf(node.name, sizeof(node.name), "%s", name ? name : "");
	json_array_foreach (json_object_get(json, "devices"), i, item) {
		struct clv_node_device *device = r < 0 ? NULL : clv_node_add(&node);

		if (r >= 0)
			r = device ? read_device(item, device, err) : -ENOMEM;
	}
	json_array_foreach (json_object_get(json, "problems"), i, item) {
		if (r >= 0 && json_is_string(item))
			r = clv_node_add_problem(&node, json_string_value(item));
	}
	if (r < 0) {
		clv_node_clear(&node);
		return end_reading(r, err);
	}
	*ret = node;
	return 0;
}

int clv_step_from_json(const json_t *json, struct clv_step *ret, struct clv_error *err)
{
	const char *kind = json_string_value(json_object_get(json, "kind"));
	struct clv_step step = {0};
	int r = clv_json_read(json, &step_members, &step, err);

	if (r >= 0)
		r = clv_json_read(json_object_get(json, "quota"), &clv_vf_quota_members,
			&step.quota, err);
	step.kind = clv_step_kind_from_string(kind ? kind : "");
	if (r >= 0 && step.kind == _CLV_STEP_KIND_INVALID)
		r = clv_error_set(err, -EINVAL, "the kind of a step is unknown");
	if (r >= 0)
		*ret = step;
	return r;
}
