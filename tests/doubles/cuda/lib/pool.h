/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "memory.h"

/* A pool takes memory from the device in large pieces and keeps them: `reserved` is what
 * the device has lost, `used` what programs have of it. */
struct pool {
	uint32_t magic;
	struct device *device;
	bool is_default, is_foreign;
	uint32_t process; /* whose it is */
	uint64_t id, threshold, most;
	uint64_t reserved, reserved_high, used, used_high;
	uint32_t handle_types;
	pthread_mutex_t lock;
};

struct pool *dcu_pool_of(struct device *device);
/* A block of the pool's, in the table. */
int dcu_pool_take(struct pool *pool, struct ctx *ctx, size_t bytes, struct block *ret);
/* The same at an address that is the caller's. */
int dcu_pool_take_at(struct pool *pool, struct ctx *ctx, size_t bytes, uint64_t address);
/* What a stream is still to free, behind which the caller wants it again. */
int dcu_pool_take_again(uint64_t address);
/* A block that was taken from the table. */
void dcu_pool_give(const struct block *block);
/* In the stream's order. */
int dcu_free_async(uint64_t address, struct stream *stream);

/* What graphs allocate is of a pool of their own. */
struct pool *dcu_graph_pool(struct device *device);
