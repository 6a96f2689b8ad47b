/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

#include <stdbool.h>

struct clv_error;
struct clv_node_device;
struct clv_partition;

/* Appends the GPU instances, of the profiles of the device's model, with their compute
 * instances and the UUIDs of both.  On failure those that were seen are there. */
int clv_nvidia_partitions_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err);

/* By the driver's numbers: the compute instance if it is one of several, else the GPU
 * instance; NULL if there is none. */
struct clv_partition *clv_nvidia_partitions_find(
	struct clv_node_device *device, uint32_t gpu_instance, uint32_t compute_instance);

/* Whether every instance that a program can use has its UUID. */
bool clv_nvidia_partitions_are_identified(const struct clv_node_device *device);
