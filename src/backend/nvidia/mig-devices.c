/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the MIG devices of a GPU. */
#include "backend/nvidia/mig-devices.h"

#include "base/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static bool can_list(const struct clv_nvidia_library *nvml)
{
	return nvml->get_max_mig_devices && nvml->get_mig_device &&
	       nvml->get_gpu_instance_id && nvml->get_compute_instance_id;
}

/* Skips indexes without a device (destroyed instances leave gaps) and stale handles. */
static int append_device(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, uint32_t index,
	struct clv_nvidia_mig_devices *devices)
{
	struct clv_nvidia_mig_device device = {0}, *added;

	if (nvml->get_mig_device(gpu, index, &device.handle) != CLV_NVML_SUCCESS)
		return 0;
	if (nvml->get_gpu_instance_id(device.handle, &device.gpu_instance) !=
			CLV_NVML_SUCCESS ||
		nvml->get_compute_instance_id(device.handle, &device.compute_instance) !=
			CLV_NVML_SUCCESS)
		return 0;
	added = CLV_APPEND(devices->items, devices->n);
	if (!added)
		return -ENOMEM;
	*added = device;
	return 0;
}

int clv_nvidia_mig_devices_list(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_nvidia_mig_devices *ret)
{
	uint32_t n = 0;

	if (!can_list(nvml) || nvml->get_max_mig_devices(gpu, &n) != CLV_NVML_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int r = append_device(nvml, gpu, i, ret);

		if (r < 0)
			return r;
	}
	return 0;
}

void clv_nvidia_mig_devices_clear(struct clv_nvidia_mig_devices *devices)
{
	free(devices->items);
	*devices = (struct clv_nvidia_mig_devices){0};
}
