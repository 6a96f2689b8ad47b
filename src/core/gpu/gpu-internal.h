/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/gpu.h"

/* The tables of models by vendor.  Only gpu.c reads them. */
extern const struct clv_gpu clv_gpus_nvidia[];
extern const struct clv_gpu clv_gpus_amd[];
extern const struct clv_gpu clv_gpus_intel[];

extern const size_t clv_n_gpus_nvidia;
extern const size_t clv_n_gpus_amd;
extern const size_t clv_n_gpus_intel;
