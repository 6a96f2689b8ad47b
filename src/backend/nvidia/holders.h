/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;
struct clv_node_device;
struct clv_reading;

/* Adds the processes that use the device and its partitions to their holders.  -ENOMEM */
int clv_nvidia_holders_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err);

/* Adds the processes that use the device to the reading, each with its partition.
 * -ENOMEM */
int clv_nvidia_holders_sample(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	struct clv_reading *reading);

/* Appends the processes that use the GPU instance, or with CLV_NVML_NO_INSTANCE the whole
 * GPU, to the message of err. */
void clv_nvidia_holders_append(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, uint32_t gpu_instance, struct clv_error *err);
