/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* How many captures are going on: while there are any, each submission asks the driver
 * whether it is part of one. */
extern _Atomic uint32_t clv_cuda_n_captures __attribute__((visibility("hidden")));

/* The context has gone. */
void clv_cuda_captures_end_with(const void *context);
void clv_cuda_captures_forget_parent(void);
