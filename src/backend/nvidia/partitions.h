/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

#include <stdbool.h>

struct clv_error;
struct clv_node_device;
struct clv_partition;

/* Appends the GPU instances of all profiles of device->mig.model, with their compute
 * instances and UUIDs.  On failure the instances that were read remain appended. */
int clv_nvidia_partitions_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err);

/* Finds a partition by the driver's ids: the compute instance if it is listed as a part,
 * else its GPU instance; NULL if there is none. */
struct clv_partition *clv_nvidia_partitions_find(
	struct clv_node_device *device, uint32_t gpu_instance, uint32_t compute_instance);

/* Whether the UUID of every instance that a program can use is known. */
bool clv_nvidia_partitions_are_identified(const struct clv_node_device *device);
