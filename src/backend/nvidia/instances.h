/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

#include <stddef.h>

struct clv_error;
struct clv_partition;

/* No GPU has as many instances of one profile. */
#define CLV_NVIDIA_INSTANCES_MAX 256u

/* The compute instances that a GPU instance may have. */
struct clv_nvidia_compute_profiles {
	struct clv_nvml_compute_profile items[CLV_NVML_COMPUTE_PROFILES];
	size_t n;
};

/* Returns the driver's code. */
int clv_nvidia_compute_profiles_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance,
	struct clv_nvidia_compute_profiles *ret);

/* The GPU instance that the partition is, or -ENODEV if it has changed since it was
 * read. */
int clv_nvidia_instance_find(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_partition *partition,
	struct clv_nvml_gpu_instance **ret, struct clv_error *err);

/* The compute instance that the part is, in the same way. */
int clv_nvidia_instance_find_part(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *part,
	struct clv_nvml_compute_instance **ret, struct clv_error *err);

/* Destroys the GPU instance with all its compute instances.  Returns the driver's code,
 * and counts the compute instances that are gone also when it fails then. */
int clv_nvidia_instance_destroy(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t *n_destroyed);

/* What messages call it: its name, or its profile before it has one. */
const char *clv_nvidia_instance_name(const struct clv_partition *partition);
