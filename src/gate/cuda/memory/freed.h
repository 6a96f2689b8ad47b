/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_charge;

/* Keeps the charge of memory just freed in stream order until the stream has reached the
 * free.  False: that cannot be observed. */
bool clv_cuda_freed_await(struct clv_charge *charge, void *stream);

/* Undoes the charges of frees that their streams have reached.  True: there was any. */
bool clv_cuda_freed_settle(void);

/* Whether any free is still to be reached by its stream. */
bool clv_cuda_freed_any(void);

/* Before the driver destroys the stream. */
void clv_cuda_freed_end_stream(void *stream);

/* In a forked child: no thread has the lock. */
void clv_cuda_freed_forget_parent(void);
