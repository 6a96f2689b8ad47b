/* SPDX-License-Identifier: Apache-2.0 */
/* Destroys instances; a GPU instance's compute instances are destroyed first.  After a
 * partial failure the error tells how many of them are destroyed. */
#include "backend/nvidia/change.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/handles.h"
#include "backend/nvidia/holders.h"
#include "backend/nvidia/instances.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int destroy_part(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *part,
	const struct clv_partition *inside, struct clv_error *err)
{
	struct clv_nvml_compute_instance *found = NULL;
	int r, code;

	/* A part that fills its GPU instance goes by the GPU instance's id and placement.
	 */
	if (part == inside)
		r = clv_nvidia_instance_find_filling(
			nvml, gpu_instance, inside, &found, err);
	else
		r = clv_nvidia_instance_find_part(nvml, gpu_instance, part, &found, err);
	if (r < 0)
		return r;
	code = nvml->destroy_compute_instance(found);
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot destroy %s",
			clv_nvidia_instance_name(part));
	return 0;
}

static int destroy_partition(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *partition,
	struct clv_error *err)
{
	uint32_t n_destroyed = 0;
	int code = clv_nvidia_instance_destroy(nvml, gpu_instance, &n_destroyed), r;
	size_t used;

	if (code == CLV_NVML_SUCCESS)
		return 0;
	r = clv_nvidia_error(nvml, code, err, "cannot destroy %s",
		clv_nvidia_instance_name(partition));
	if (err && n_destroyed > 0) {
		used = strlen(err->msg);
		snprintf(err->msg + used, sizeof(err->msg) - used,
			" (%u of its compute instances are destroyed already)",
			n_destroyed);
	}
	return r;
}

int clv_nvidia_destroy(struct clv_backend *base, const struct clv_node_device *device,
	const struct clv_partition *partition, const struct clv_partition *inside,
	struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	const struct clv_nvidia_library *nvml = &backend->nvml;
	struct clv_nvml_gpu_instance *gpu_instance = NULL;
	const struct clv_partition *owner = inside ? inside : partition;
	int r = clv_nvidia_library_require(nvml, CLV_NVIDIA_INSTANCES, err);
	struct clv_nvml_device *gpu;
	int index;

	if (r < 0)
		return r;
	index = clv_nvidia_handles_find(backend, device->info.uuid, err);
	if (index < 0)
		return index;
	gpu = backend->gpus[index].handle;
	r = clv_nvidia_instance_find(nvml, gpu, owner, &gpu_instance, err);
	if (r < 0)
		return r;
	r = inside ? destroy_part(nvml, gpu_instance, partition, inside, err)
		   : destroy_partition(nvml, gpu_instance, partition, err);
	if (r == -EBUSY)
		clv_nvidia_holders_append(nvml, gpu, owner->driver_id, err);
	return r;
}
