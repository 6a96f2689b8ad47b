/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/wire.h"

/* Which GPUs CUDA_VISIBLE_DEVICES leaves, in its order: numbers, or UUIDs or the unique
 * beginnings of such.  The first that is none ends the list. */
int dcu_visible(
	const struct dgp_gpu_info *all, uint32_t n_all, uint32_t ret[DGP_GPUS_MAX]);
