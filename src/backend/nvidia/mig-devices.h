/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"
#include "base/cleanup.h"

#include <stddef.h>

/* A MIG device: the view of one compute instance as a device, as programs see it.  NVML
 * reports UUID, memory and processes only for MIG devices, not for instances. */
struct clv_nvidia_mig_device {
	struct clv_nvml_device *handle;
	uint32_t gpu_instance;
	uint32_t compute_instance;
};

struct clv_nvidia_mig_devices {
	struct clv_nvidia_mig_device *items; /* owned */
	size_t n;
};

/* Appends all MIG devices of the GPU; none if the driver cannot list them.  -ENOMEM */
int clv_nvidia_mig_devices_list(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_nvidia_mig_devices *ret);
void clv_nvidia_mig_devices_clear(struct clv_nvidia_mig_devices *devices);
#define _cleanup_mig_devices_ CLV_CLEANUP(clv_nvidia_mig_devices_clear)
