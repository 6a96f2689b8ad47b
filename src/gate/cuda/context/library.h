/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda-hooks.h"
#include "gate/preload/library.h"

#include <stddef.h>

/* Generated from hooks.list: clv_cuda, the driver's real functions, which clv_cuda_load()
 * fills in once, and clv_cuda_library, the description of its hooks. */

/* The newest CUDA version of hooks.list. */
#define CLV_CUDA_VERSION_KNOWN 13030
