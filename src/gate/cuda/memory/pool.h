/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Memory pools, those of graphs among them: what counts is what a pool has reserved of
 * the device, not what of it is in use.  A pool gives back when the program waits for its
 * streams, unasked and unheard. */

/* Brings the charges to what pools have reserved now.  Whether anything came back. */
bool clv_cuda_pools_settle(void);

/* The program has freed something; and whether it has since pools were last settled. */
void clv_cuda_pools_freed(void);
bool clv_cuda_pools_any_freed(void);

/* The device that a call with this stream is about.  What is not success the program
 * gets. */
int clv_cuda_device_of(void *stream, int *ret);

/* An allocation of n_bytes from a pool, around the driver's call.  handle NULL: the pool
 * of the device's graphs.  What is not success the program gets, and there is no end. */
struct clv_cuda_growth {
	struct pool *pool;
	uint64_t ahead_bytes;
};
int clv_cuda_growth_begin(
	struct clv_cuda_growth *growth, void *handle, int device, uint64_t n_bytes);
void clv_cuda_growth_end(const struct clv_cuda_growth *growth, bool is_made);
