/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;
struct clv_vf_state;

/* Appends the vGPU types that a vGPU host driver offers on this GPU; other drivers offer
 * none.  If sysfs shows the GPU's functions, the types go to clv_vgpu_types_store()
 * instead. -ENOMEM */
int clv_nvidia_vgpu_types_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_vf_state *vf, struct clv_error *err);
