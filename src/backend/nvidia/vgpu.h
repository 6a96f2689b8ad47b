/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;
struct clv_vf_state;

/* Appends the types of vGPU that the driver of a vGPU host offers on this GPU; none with
 * any other driver.  -ENOMEM */
int clv_nvidia_vgpu_types_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_vf_state *vf, struct clv_error *err);
