/* SPDX-License-Identifier: Apache-2.0 */
/* Creates instances at exact places: at a place that the driver chooses, an instance may
 * block the next one of the plan.  An incomplete instance is destroyed on error. */
#include "backend/nvidia/change.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/handles.h"
#include "backend/nvidia/instances.h"
#include "base/error.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Destroys an incomplete GPU instance, with its compute instances, because a driver may
 * report failure after it created one.  A failure of the rollback is appended to err. */
static void undo(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, struct clv_error *err)
{
	uint32_t n_destroyed = 0;
	int code = clv_nvidia_instance_destroy(nvml, gpu_instance, &n_destroyed);
	struct clv_error why = {0};
	size_t used;

	if (code == CLV_NVML_SUCCESS || !err)
		return;
	clv_nvidia_error(nvml, code, &why, "the incomplete instance stays");
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, "; %s", why.msg);
}

/* Returns the first profile of that size: later ones are variants for special uses. */
static int find_compute_profile(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t slices, uint32_t *ret_id)
{
	struct clv_nvidia_compute_profiles profiles;
	int code = clv_nvidia_compute_profiles_read(nvml, gpu_instance, &profiles);

	for (size_t i = 0; code == CLV_NVML_SUCCESS && i < profiles.n; i++) {
		if (profiles.items[i].slices != slices)
			continue;
		*ret_id = profiles.items[i].id;
		return CLV_NVML_SUCCESS;
	}
	return code == CLV_NVML_SUCCESS ? CLV_NVML_NOT_SUPPORTED : code;
}

/* Fills the GPU instance with one compute instance: programs can only use those. */
static int fill(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t slices)
{
	struct clv_nvml_compute_instance *instance = NULL;
	uint32_t id = 0;
	int code = find_compute_profile(nvml, gpu_instance, slices, &id);

	if (code == CLV_NVML_SUCCESS)
		code = nvml->fill_gpu_instance(gpu_instance, id, &instance);
	return code == CLV_NVML_SUCCESS && !instance ? CLV_NVML_NO_DATA : code;
}

static bool is_at(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance,
	const struct clv_nvml_placement *placement)
{
	struct clv_nvml_gpu_instance_info info = {0};

	return nvml->get_gpu_instance(gpu_instance, &info) == CLV_NVML_SUCCESS &&
	       info.placement.start == placement->start &&
	       info.placement.size == placement->size;
}

static int make_instance(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_mig_profile *profile,
	const struct clv_step *step, struct clv_error *err)
{
	struct clv_nvml_placement placement = {step->start, profile->size};
	struct clv_nvml_gpu_instance *new_instance = NULL;
	int r = 0, code;

	code = nvml->create_gpu_instance(
		gpu, profile->driver_id, &placement, &new_instance);
	if (code == CLV_NVML_SUCCESS && !new_instance)
		code = CLV_NVML_NO_DATA;
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(
			nvml, code, err, "cannot create %s", step->partition);
	if (!is_at(nvml, new_instance, &placement)) {
		r = clv_error_set(err, -EIO,
			"cannot create %s: the driver created it at another "
			"place: " CLV_NVIDIA_SEE_LOG,
			step->partition);
	} else if (!step->has_parts) {
		code = fill(nvml, new_instance, profile->slices);
		if (code != CLV_NVML_SUCCESS)
			r = clv_nvidia_error(nvml, code, err,
				"cannot fill %s with a compute instance",
				step->partition);
	}
	if (r < 0)
		undo(nvml, new_instance, err);
	return r;
}

static int create_partition(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	const struct clv_mig_model *model = device->mig.model;
	const struct clv_mig_profile *profile;
	int index;

	if (!device->mig.is_on)
		return clv_error_set(err, -ENOTSUP,
			"cannot create %s: MIG is off on %s: turn it on first",
			step->partition, clv_nvidia_name(device));
	if (!model)
		return clv_error_set(err, -ENOTSUP, "cannot create %s: %s",
			step->partition, device->cannot_divide);
	index = clv_mig_profile_find(model, step->profile, err);
	if (index < 0)
		return index;
	profile = &model->profiles[index];
	if (step->start > UINT8_MAX ||
		!memchr(profile->starts, (int)step->start, profile->n_starts))
		return clv_error_set(err, -ENOSPC,
			"cannot create %s: on this GPU %s has no placement at %u",
			step->partition, profile->name, step->start);
	return make_instance(nvml, gpu, profile, step, err);
}

static const struct clv_partition *find_owner(
	const struct clv_node_device *device, const char *name)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (strcmp(device->partitions[i].name, name) == 0)
			return &device->partitions[i];
	}
	return NULL;
}

static int create_part(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	const struct clv_node_device *device, const struct clv_step *step,
	struct clv_error *err)
{
	const struct clv_partition *owner = find_owner(device, step->inside);
	struct clv_nvml_placement placement = {step->start, step->size};
	struct clv_nvml_gpu_instance *gpu_instance = NULL;
	struct clv_nvml_compute_instance *new_instance = NULL;
	uint32_t id = 0;
	int r = clv_nvidia_library_require(nvml, CLV_NVIDIA_PARTS, err), code;

	if (r < 0)
		return r;
	if (!owner)
		return clv_error_set(err, -ENODEV,
			"cannot create %s: there is no %s: read the devices again",
			step->partition, step->inside);
	r = clv_nvidia_instance_find(nvml, gpu, owner, &gpu_instance, err);
	if (r < 0)
		return r;
	code = find_compute_profile(nvml, gpu_instance, step->size, &id);
	if (code == CLV_NVML_SUCCESS)
		code = nvml->create_compute_instance(
			gpu_instance, id, &placement, &new_instance);
	if (code == CLV_NVML_SUCCESS && !new_instance)
		code = CLV_NVML_NO_DATA;
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(
			nvml, code, err, "cannot create %s", step->partition);
	return 0;
}

int clv_nvidia_create(struct clv_backend *base, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	const struct clv_nvidia_library *nvml = &backend->nvml;
	int r = clv_nvidia_library_require(nvml, CLV_NVIDIA_INSTANCES, err);
	int index;

	if (r < 0)
		return r;
	index = clv_nvidia_handles_find(backend, device->info.uuid, err);
	if (index < 0)
		return index;
	return step->kind == CLV_STEP_CREATE_PART
		       ? create_part(nvml, backend->gpus[index].handle, device, step, err)
		       : create_partition(
				 nvml, backend->gpus[index].handle, device, step, err);
}
