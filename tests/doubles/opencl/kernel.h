/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* CL_SUCCESS if the kernel may be enqueued in this context now. */
cl_int dcl_kernel_check(cl_kernel kernel, cl_context context);
