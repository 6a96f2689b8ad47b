/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "memory.h"

/* A pool takes memory from the device in large pieces and keeps them: `reserved` is what
 * it has taken, `used` is what programs have of it. */
struct pool {
	uint32_t magic;
	struct device *device;
	bool is_default, is_foreign;
	bool is_of_host;  /* nothing is taken from the device */
	uint32_t process; /* the owner */
	uint64_t id, threshold, most;
	uint64_t reserved, reserved_high, used, used_high;
	uint32_t handle_types;
	pthread_mutex_t lock;
};

struct pool *dcu_pool_of(struct device *device);
/* The default pool of the host, for the use of this device. */
struct pool *dcu_host_pool(struct device *device);
/* Allocates a block of the pool and adds it to the table. */
int dcu_pool_take(struct pool *pool, struct ctx *ctx, size_t bytes, struct block *ret);
/* The same at an address of the caller's, or of a block that a stream has yet to free: it
   is reused, behind that free. */
int dcu_pool_take_at(struct pool *pool, struct ctx *ctx, size_t bytes, uint64_t address);
/* Returns a block that was removed from the table. */
void dcu_pool_give(const struct block *block);
/* Frees in the stream's order. */
int dcu_free_async(uint64_t address, struct stream *stream);

/* The separate pool for the allocations of graphs. */
struct pool *dcu_graph_pool(struct device *device);
