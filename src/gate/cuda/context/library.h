/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda-hooks.h"
#include "gate/preload/library.h"

#include <stddef.h>

/* The driver's library behind the gate: struct clv_cuda_functions clv_cuda, which
 * clv_cuda_load() fills once, and clv_cuda_library, all from hooks.list. */

/* The newest version that the list knows. */
#define CLV_CUDA_VERSION_KNOWN 13000
