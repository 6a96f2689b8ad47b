/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/selftest/run.h"
#include "cuda.h"

/* What programs can use of a T4: 15,360 MiB less the driver's reserve. */
#define T4_BYTES ((size_t)(15360 - 266) << 20)

/* Calls cuInit, creates the first GPU's context, and loads a module with the tests'
 * kernels. */
void begin(void);
handle kernel(const char *name);
/* Launches one block; only some kernels use the parameters. */
void launch(handle function, handle stream, uint64_t first, uint32_t second);
