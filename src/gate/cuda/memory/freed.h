/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_charge;

/* Keeps the charge of what was just freed in the stream's order until the stream has come
 * to it.  False: it cannot be known when. */
bool clv_cuda_freed_await(struct clv_charge *charge, void *stream);

/* Takes back the charges of what was freed in a stream's order and has come to it.
 * Whether there was any. */
bool clv_cuda_freed_settle(void);

/* Whether there is any that a stream is to come to. */
bool clv_cuda_freed_any(void);
