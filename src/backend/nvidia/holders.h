/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;
struct clv_node_device;
struct clv_reading;

/* Adds to the device and to its partitions who uses them now.  -ENOMEM */
int clv_nvidia_holders_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err);

/* Adds to the reading who uses the device, and which of its partitions.  -ENOMEM */
int clv_nvidia_holders_sample(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	struct clv_reading *reading);

/* Of the GPU instance alone, and of the whole GPU with CLV_NVML_NO_INSTANCE: puts who
 * uses it now behind the message. */
void clv_nvidia_holders_say(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, uint32_t gpu_instance, struct clv_error *err);
