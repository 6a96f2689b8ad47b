/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The device's primary context.  NULL: it is not active. */
void *clv_cuda_primary(int device);

bool clv_cuda_primary_is_active(int device);
