/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

#include <stddef.h>

struct clv_error;
struct clv_partition;

/* A bound above the number of instances of one profile on any GPU. */
#define CLV_NVIDIA_INSTANCES_MAX 256u

/* The profiles of compute instances that a GPU instance can have. */
struct clv_nvidia_compute_profiles {
	struct clv_nvml_compute_profile items[CLV_NVML_COMPUTE_PROFILES];
	size_t n;
};

/* Returns NVML's code. */
int clv_nvidia_compute_profiles_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance,
	struct clv_nvidia_compute_profiles *ret);

/* Finds the handle of a partition's GPU instance; -ENODEV if the driver gave its id to an
 * instance at another place since the device was read. */
int clv_nvidia_instance_find(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_partition *partition,
	struct clv_nvml_gpu_instance **ret, struct clv_error *err);

/* Finds the handle of a part's compute instance, in the same way. */
int clv_nvidia_instance_find_part(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *part,
	struct clv_nvml_compute_instance **ret, struct clv_error *err);

/* Finds the handle of the compute instance that fills a partition; -ENODEV if the GPU
 * instance has no compute instance, or others, since the device was read. */
int clv_nvidia_instance_find_filling(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, const struct clv_partition *partition,
	struct clv_nvml_compute_instance **ret, struct clv_error *err);

/* Destroys the GPU instance with all its compute instances.  Returns NVML's code; adds
 * the number of destroyed compute instances to *n_destroyed, also on failure. */
int clv_nvidia_instance_destroy(const struct clv_nvidia_library *nvml,
	struct clv_nvml_gpu_instance *gpu_instance, uint32_t *n_destroyed);

/* The partition's name in messages: its name, or its profile before it has one.
 * Borrowed. */
const char *clv_nvidia_instance_name(const struct clv_partition *partition);
