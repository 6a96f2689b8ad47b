/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/selftest/run.h"
#include "cuda.h"

/* What programs have of a T4: 15,360 MiB less what the driver keeps. */
#define T4_BYTES ((size_t)(15360 - 266) << 20)

/* cuInit, the first GPU's context, and a module with the kernels of the tests. */
void begin(void);
handle kernel(const char *name);
/* One block; the parameters are used by those kernels that have any. */
void launch(handle function, handle stream, uint64_t first, uint32_t second);
