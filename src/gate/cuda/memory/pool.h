/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Memory pools, also those of graphs.  A pool is charged with what it has reserved of the
 * device, used or not.  It gives memory back when the program waits for its streams,
 * which no call reports. */

/* Sets the charges to what the pools have reserved now.  True: any pool has become
 * smaller. */
bool clv_cuda_pools_settle(void);

/* The program has freed something. */
void clv_cuda_pools_freed(void);
/* Whether it has since the pools were last settled. */
bool clv_cuda_pools_any_freed(void);

/* The device that a call with this stream concerns.  Returns the driver's result, which
 * the program gets if it is an error. */
int clv_cuda_device_of(void *stream, int *ret);

/* An allocation of n_bytes from a pool: begin, the driver's call, end. handle NULL: the
 * pool of the device's graphs.  If begin returns an error, the program gets it and end is
 * not called.  From begin to end the thread has a lock that others await for 100 ms, so
 * it waits for nothing but the driver's call. */
struct clv_cuda_growth {
	struct pool *pool;
	uint64_t n_bytes;
	uint64_t ahead_bytes; /* charged before the call */
	bool is_locked;
};
int clv_cuda_growth_begin(
	struct clv_cuda_growth *growth, void *handle, int device, uint64_t n_bytes);
void clv_cuda_growth_end(const struct clv_cuda_growth *growth, bool is_made);

/* In a forked child: no thread has the lock. */
void clv_cuda_pools_forget_parent(void);
