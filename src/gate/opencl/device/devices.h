/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stdint.h>

/* The lease's device as the driver shows it. */

/* The driver's own CL_DEVICE_MAX_MEM_ALLOC_SIZE. */
uint64_t clv_device_max_allocation_bytes(cl_context context);
