/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a GPU's MIG instances.  NVML lists instances by profile, so every profile of the
 * model is queried.  UUID and memory come from the MIG devices, of which each compute
 * instance has one. */
#include "backend/nvidia/partitions.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/instances.h"
#include "backend/nvidia/mig-devices.h"
#include "base/error.h"
#include "core/device/node.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)

static int by_start(const void *a, const void *b)
{
	const struct clv_partition *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

static int add_part(const struct clv_nvidia_library *nvml,
	struct clv_nvml_compute_instance *instance,
	const struct clv_nvml_compute_profile *profile, struct clv_partition *partition,
	struct clv_error *err)
{
	struct clv_nvml_compute_instance_info info = {0};
	struct clv_partition *part;
	int code = nvml->get_compute_instance(instance, &info);

	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err,
			"cannot read a compute instance of %s at %u", partition->profile,
			partition->start);
	part = clv_node_add_part(partition);
	if (!part)
		return clv_error_errno(err, ENOMEM, "cannot list the compute instances");
	snprintf(part->profile, sizeof(part->profile), "%uc.%.32s", profile->slices,
		partition->profile);
	part->driver_id = info.id;
	snprintf(part->address, sizeof(part->address), "%u/%u", partition->driver_id,
		info.id);
	part->start = info.placement.start;
	part->size = info.placement.size; /* 0 from drivers before R460 */
	part->compute_units = profile->multiprocessors;
	part->memory_bytes = partition->memory_bytes; /* shared by all parts */
	return 0;
}

static int add_parts_of(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance,
	const struct clv_nvml_compute_profile *profile, struct clv_partition *partition,
	struct clv_error *err)
{
	struct clv_nvml_compute_instance *found[CLV_NVIDIA_INSTANCES_MAX] = {NULL};
	uint32_t n = CLV_NVIDIA_INSTANCES_MAX;
	int code = nvml->list_compute_instances(gpu_instance, profile->id, found, &n);

	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err,
			"cannot list the compute instances of %s at %u",
			partition->profile, partition->start);
	for (uint32_t i = 0; i < n && i < CLV_NVIDIA_INSTANCES_MAX; i++) {
		int r = add_part(nvml, found[i], profile, partition, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A compute instance that fills its GPU instance is not listed as a part; the partition
 * stands for both. */
static int finish_parts(
	struct clv_partition *partition, bool is_filled, struct clv_error *err)
{
	partition->is_incomplete = partition->n_parts == 0;
	if (partition->n_parts == 1 && is_filled) {
		memcpy(partition->address, partition->parts[0].address,
			sizeof(partition->address));
		free(partition->parts);
		partition->parts = NULL;
		partition->n_parts = 0;
	}
	for (size_t i = 0; i < partition->n_parts; i++) {
		if (partition->parts[i].size == 0)
			return clv_error_set(err, -ENOTSUP,
				"the driver does not report where in %s at %u its "
				"compute "
				"instances are: install R460 or newer",
				partition->profile, partition->start);
	}
	if (partition->n_parts > 1)
		qsort(partition->parts, partition->n_parts, sizeof(*partition->parts),
			by_start);
	return 0;
}

static int add_parts(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t slices,
	struct clv_partition *partition, struct clv_error *err)
{
	struct clv_nvidia_compute_profiles profiles;
	int code = clv_nvidia_compute_profiles_read(nvml, gpu_instance, &profiles);
	bool is_filled = false;

	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err,
			"cannot read the compute profiles of %s at %u",
			partition->profile, partition->start);
	for (size_t i = 0; i < profiles.n; i++) {
		size_t n_before = partition->n_parts;
		int r = add_parts_of(
			nvml, gpu_instance, &profiles.items[i], partition, err);

		if (r < 0)
			return r;
		is_filled |= partition->n_parts > n_before &&
			     profiles.items[i].slices == slices;
	}
	return finish_parts(partition, is_filled, err);
}

static int add_partition(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_mig_profile *profile,
	struct clv_node_device *device, struct clv_error *err)
{
	struct clv_nvml_gpu_instance_info info = {0};
	struct clv_partition *partition;
	int code = nvml->get_gpu_instance(gpu_instance, &info);

	if (code == CLV_NVML_SUCCESS && info.placement.size == 0)
		code = CLV_NVML_NO_DATA;
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(
			nvml, code, err, "cannot read an instance of %s", profile->name);
	partition = clv_node_add_partition(device);
	if (!partition)
		return clv_error_errno(err, ENOMEM, "cannot list the GPU instances");
	snprintf(partition->profile, sizeof(partition->profile), "%s", profile->name);
	partition->driver_id = info.id;
	partition->start = info.placement.start;
	partition->size = info.placement.size;
	partition->compute_units = profile->multiprocessors;
	partition->memory_bytes = profile->memory_mib * MIB;
	return add_parts(nvml, gpu_instance, profile->slices, partition, err);
}

static int add_partitions_of(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_mig_profile *profile,
	struct clv_node_device *device, struct clv_error *err)
{
	struct clv_nvml_gpu_instance *found[CLV_NVIDIA_INSTANCES_MAX] = {NULL};
	uint32_t n = CLV_NVIDIA_INSTANCES_MAX;
	int code = nvml->list_gpu_instances(gpu, profile->driver_id, found, &n);

	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(
			nvml, code, err, "cannot list the %s instances", profile->name);
	for (uint32_t i = 0; i < n && i < CLV_NVIDIA_INSTANCES_MAX; i++) {
		int r = add_partition(nvml, found[i], profile, device, err);

		if (r < 0)
			return r;
	}
	return 0;
}

struct clv_partition *clv_nvidia_partitions_find(
	struct clv_node_device *device, uint32_t gpu_instance, uint32_t compute_instance)
{
	struct clv_partition *partition = NULL;

	for (size_t i = 0; i < device->n_partitions && !partition; i++) {
		if (device->partitions[i].driver_id == gpu_instance)
			partition = &device->partitions[i];
	}
	for (size_t i = 0; partition && i < partition->n_parts; i++) {
		if (partition->parts[i].driver_id == compute_instance)
			return &partition->parts[i];
	}
	return partition;
}

static void identify(const struct clv_nvidia_library *nvml,
	const struct clv_nvidia_mig_device *mig_device, struct clv_node_device *device)
{
	struct clv_partition *place = clv_nvidia_partitions_find(
		device, mig_device->gpu_instance, mig_device->compute_instance);
	struct clv_nvml_memory memory = {0};

	/* The instance was created or destroyed since the instances were listed, or is
	 * only a container of parts. */
	if (!place || place->n_parts > 0 || place->is_incomplete)
		return;
	if (nvml->get_uuid(mig_device->handle, place->uuid, sizeof(place->uuid)) !=
		CLV_NVML_SUCCESS)
		place->uuid[0] = '\0';
	if (nvml->get_memory(mig_device->handle, &memory) == CLV_NVML_SUCCESS &&
		memory.total > 0)
		place->memory_bytes = memory.total;
}

static int identify_all(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err)
{
	_cleanup_mig_devices_ struct clv_nvidia_mig_devices mig_devices = {0};

	if (clv_nvidia_mig_devices_list(nvml, gpu, &mig_devices) < 0)
		return clv_error_errno(err, ENOMEM, "cannot list the MIG devices");
	for (size_t i = 0; i < mig_devices.n; i++)
		identify(nvml, &mig_devices.items[i], device);
	return 0;
}

int clv_nvidia_partitions_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err)
{
	const struct clv_mig_model *model = device->mig.model;

	for (size_t i = 0; i < model->n_profiles; i++) {
		int r = add_partitions_of(nvml, gpu, &model->profiles[i], device, err);

		if (r < 0)
			return r;
	}
	if (device->n_partitions > 1)
		qsort(device->partitions, device->n_partitions,
			sizeof(*device->partitions), by_start);
	return identify_all(nvml, gpu, device, err);
}

static bool is_identified(const struct clv_partition *partition)
{
	for (size_t i = 0; i < partition->n_parts; i++) {
		if (partition->parts[i].uuid[0] == '\0')
			return false;
	}
	return partition->n_parts > 0 || partition->is_incomplete ||
	       partition->uuid[0] != '\0';
}

bool clv_nvidia_partitions_are_identified(const struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (!is_identified(&device->partitions[i]))
			return false;
	}
	return true;
}
