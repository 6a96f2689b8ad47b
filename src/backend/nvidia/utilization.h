/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvidia.h"

/* Sets the mean utilization of each process of the reading since the reading before.
 * Drivers report it only for whole GPUs; without it the reading stays as it is. */
void clv_nvidia_utilization_sample(const struct clv_nvidia_library *nvml,
	struct clv_nvidia_gpu *gpu, struct clv_reading *reading);
