/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Takes back the charges of what was freed in a stream's order and has come to it.
 * Whether there was any. */
bool clv_cuda_freed_settle(void);

/* Whether there is any that a stream is to come to. */
bool clv_cuda_freed_any(void);
