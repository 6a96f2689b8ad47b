/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/wire.h"

/* Returns the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order: numbers, UUIDs or
 * unique prefixes of UUIDs. The list ends at the first entry that matches none. */
int dcu_visible(
	const struct dgp_gpu_info *all, uint32_t n_all, uint32_t ret[DGP_GPUS_MAX]);
