/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvidia.h"

/* How much each process of the reading computed since the reading before.  Drivers tell
 * it of whole GPUs alone; of processes in MIG devices it is left unsaid. */
void clv_nvidia_utilization_sample(const struct clv_nvidia_library *nvml,
	struct clv_nvidia_gpu *gpu, struct clv_reading *reading);
