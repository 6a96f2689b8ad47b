/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and destroys instances.  The driver reuses ids, so an instance that is found by
 * id must also have the placement of the last reading. */
#include "backend/nvidia/instances.h"

#include "backend/nvidia/error.h"
#include "base/error.h"
#include "core/device/node.h"

#include <errno.h>
#include <stdlib.h>

const char *clv_nvidia_instance_name(const struct clv_partition *partition)
{
	return partition->name[0] != '\0' ? partition->name : partition->profile;
}

int clv_nvidia_compute_profiles_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance,
	struct clv_nvidia_compute_profiles *ret)
{
	*ret = (struct clv_nvidia_compute_profiles){.n = 0};
	for (uint32_t i = 0; i < CLV_NVML_COMPUTE_PROFILES; i++) {
		int code = nvml->get_compute_profile(
			gpu_instance, i, CLV_NVML_SHARED_ENGINES, &ret->items[ret->n]);

		/* The GPU instance has no such profile, or the driver does not know it.
		 */
		if (code == CLV_NVML_NOT_SUPPORTED || code == CLV_NVML_INVALID_ARGUMENT)
			continue;
		if (code == CLV_NVML_SUCCESS && ret->items[ret->n].slices == 0)
			code = CLV_NVML_NO_DATA;
		if (code != CLV_NVML_SUCCESS)
			return code;
		ret->n++;
	}
	return CLV_NVML_SUCCESS;
}

static int check_place(const struct clv_partition *partition,
	const struct clv_nvml_placement *found, struct clv_error *err)
{
	if (found->start == partition->start && found->size == partition->size)
		return 0;
	return clv_error_set(err, -ENODEV,
		"%s does not exist any more, another instance has its id: read the "
		"devices again",
		clv_nvidia_instance_name(partition));
}

int clv_nvidia_instance_find(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_partition *partition,
	struct clv_nvml_gpu_instance **ret, struct clv_error *err)
{
	struct clv_nvml_gpu_instance_info info = {0};
	struct clv_nvml_gpu_instance *found = NULL;
	int code = nvml->find_gpu_instance(gpu, partition->driver_id, &found), r;

	if (code == CLV_NVML_SUCCESS)
		code = nvml->get_gpu_instance(found, &info);
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot find %s",
			clv_nvidia_instance_name(partition));
	r = check_place(partition, &info.placement, err);
	if (r == 0)
		*ret = found;
	return r;
}

int clv_nvidia_instance_find_part(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *part,
	struct clv_nvml_compute_instance **ret, struct clv_error *err)
{
	struct clv_nvml_compute_instance_info info = {0};
	struct clv_nvml_compute_instance *found = NULL;
	int code = nvml->find_compute_instance(gpu_instance, part->driver_id, &found), r;

	if (code == CLV_NVML_SUCCESS)
		code = nvml->get_compute_instance(found, &info);
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot find %s",
			clv_nvidia_instance_name(part));
	r = check_place(part, &info.placement, err);
	if (r == 0)
		*ret = found;
	return r;
}

/* The compute instances of a GPU instance: their number, and the last one found. */
struct filling {
	struct clv_nvml_compute_instance *instance;
	uint32_t slices;
	size_t n;
};

static int find_filling(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, struct filling *ret)
{
	struct clv_nvidia_compute_profiles profiles;
	int code = clv_nvidia_compute_profiles_read(nvml, gpu_instance, &profiles);

	*ret = (struct filling){.instance = NULL};
	for (size_t i = 0; code == CLV_NVML_SUCCESS && i < profiles.n; i++) {
		struct clv_nvml_compute_instance *found[CLV_NVIDIA_INSTANCES_MAX] = {
			NULL};
		uint32_t n = CLV_NVIDIA_INSTANCES_MAX;

		code = nvml->list_compute_instances(
			gpu_instance, profiles.items[i].id, found, &n);
		if (code != CLV_NVML_SUCCESS || n == 0)
			continue;
		ret->instance = found[0];
		ret->slices = profiles.items[i].slices;
		ret->n += n;
	}
	return code;
}

int clv_nvidia_instance_find_filling(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *partition,
	struct clv_nvml_compute_instance **ret, struct clv_error *err)
{
	struct filling filling;
	int code = find_filling(nvml, gpu_instance, &filling);

	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err,
			"cannot list the compute instances of %s",
			clv_nvidia_instance_name(partition));
	/* A profile's name begins with its slices: "3g.20gb". */
	if (filling.n != 1 || filling.slices != strtoul(partition->profile, NULL, 10))
		return clv_error_set(err, -ENODEV,
			"%s has no compute instance that fills it any more: read the "
			"devices again",
			clv_nvidia_instance_name(partition));
	*ret = filling.instance;
	return 0;
}

static int destroy_compute_instances(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t profile_id,
	uint32_t *n_destroyed)
{
	struct clv_nvml_compute_instance *found[CLV_NVIDIA_INSTANCES_MAX] = {NULL};
	uint32_t n = CLV_NVIDIA_INSTANCES_MAX;
	int code = nvml->list_compute_instances(gpu_instance, profile_id, found, &n);

	for (uint32_t i = 0; code == CLV_NVML_SUCCESS && i < n; i++) {
		code = nvml->destroy_compute_instance(found[i]);
		*n_destroyed += code == CLV_NVML_SUCCESS;
	}
	return code;
}

int clv_nvidia_instance_destroy(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t *n_destroyed)
{
	struct clv_nvidia_compute_profiles profiles;
	int code = clv_nvidia_compute_profiles_read(nvml, gpu_instance, &profiles);

	for (size_t i = 0; code == CLV_NVML_SUCCESS && i < profiles.n; i++)
		code = destroy_compute_instances(
			nvml, gpu_instance, profiles.items[i].id, n_destroyed);
	return code == CLV_NVML_SUCCESS ? nvml->destroy_gpu_instance(gpu_instance) : code;
}
