/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"
#include "../../gpu/client/effect.h"
#include "capture.h"
#include "functions.h"
#include <stdlib.h>

/* Stream-ordered allocation. Memory freed in a stream may be reused at once in the
 * stream's order; its bytes are returned to the pool when the stream reaches the free.
 * Memory above the threshold is then returned to the device. */

#define PIECE (32ULL << 20)
#define SMALL_PIECE (2ULL << 20)
#define GRANULE 512ULL

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static struct pool *new_pool(struct device *device)
{
	struct pool *p = calloc(1, sizeof(*p));

	p->magic = DCU_IS_POOL;
	p->device = device;
	p->process = dgp_hello.number;
	p->id = dcu_new_id();
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

static struct pool *pool_in(struct pool **pools, struct device *device)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct pool **at = &pools[device - dcu_devices];

	pthread_mutex_lock(&lock);
	if (!*at)
		*at = new_pool(device);
	(*at)->is_default = true;
	pthread_mutex_unlock(&lock);
	return *at;
}

static struct pool *defaults[DGP_GPUS_MAX], *of_graphs[DGP_GPUS_MAX],
	*chosen[DGP_GPUS_MAX], *of_host[DGP_GPUS_MAX];

struct pool *dcu_graph_pool(struct device *device)
{
	struct pool *pool = pool_in(of_graphs, device);

	/* The graph pool keeps its memory until it is trimmed. */
	pool->threshold = UINT64_MAX / 2;
	return pool;
}

struct pool *dcu_pool_of(struct device *device)
{
	struct pool *pool = chosen[device - dcu_devices];

	return pool && pool->magic == DCU_IS_POOL ? pool : pool_in(defaults, device);
}

struct pool *dcu_host_pool(struct device *device)
{
	struct pool *pool = pool_in(of_host, device);

	pool->is_of_host = true;
	return pool;
}

static bool is_pool(const struct pool *pool)
{
	return pool && pool->magic == DCU_IS_POOL;
}

/* --- Taking and giving --- */

static int grow(struct pool *p, uint64_t missing)
{
	uint64_t bytes = round_up(missing, PIECE);
	int r = p->is_of_host ? 0 : dcu_take(p->device, bytes);

	if (r) {
		bytes = round_up(missing, SMALL_PIECE);
		r = dcu_take(p->device, bytes);
	}
	if (r)
		return r;
	p->reserved += bytes;
	if (p->reserved_high < p->reserved)
		p->reserved_high = p->reserved;
	return 0;
}

static void shrink(struct pool *p, uint64_t keep)
{
	uint64_t least = p->used > keep ? p->used : keep;

	if (p->reserved <= least)
		return;
	least = round_up(least, SMALL_PIECE);
	if (p->reserved <= least)
		return;
	if (!p->is_of_host)
		dcu_give(p->device, p->reserved - least);
	p->reserved = least;
}

static int charge(struct pool *p, uint64_t bytes)
{
	int r = 0;

	pthread_mutex_lock(&p->lock);
	if (p->most && p->used + bytes > p->most)
		r = DCU_OUT_OF_MEMORY;
	else if (p->used + bytes > p->reserved)
		r = grow(p, p->used + bytes - p->reserved);
	if (!r) {
		p->used += bytes;
		if (p->used_high < p->used)
			p->used_high = p->used;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static void uncharge(struct pool *p, uint64_t bytes)
{
	pthread_mutex_lock(&p->lock);
	p->used -= bytes;
	pthread_mutex_unlock(&p->lock);
}

int dcu_pool_take(struct pool *p, struct ctx *ctx, size_t bytes, struct block *ret)
{
	uint64_t taken = round_up(bytes, GRANULE);
	int r = charge(p, taken);

	if (r)
		return r;
	*ret = (struct block){.bytes = bytes,
		.taken = taken,
		.kind = DCU_BLOCK_POOL,
		.ctx = ctx,
		.device = p->device,
		.pool = p,
		.id = dcu_new_id()};
	r = dcu_arena_new(bytes, &ret->offset, &ret->host);
	if (r) {
		uncharge(p, taken);
		return r;
	}
	ret->address = DCU_DEVICE_BASE + ret->offset;
	dcu_block_add(ret);
	return 0;
}

static void live_on(struct block *block)
{
	block->is_freed = false;
	block->again++;
}

static int take_at(struct pool *p, struct ctx *ctx, size_t bytes, uint64_t address)
{
	struct block block = {.address = address,
		.bytes = bytes,
		.taken = round_up(bytes, GRANULE),
		.kind = DCU_BLOCK_POOL,
		.ctx = ctx,
		.device = p->device,
		.pool = p,
		.flags = 1, /* the pool does not own the address */
		.offset = address - DCU_DEVICE_BASE,
		.id = dcu_new_id()};
	int r = charge(p, block.taken);

	if (r)
		return r;
	r = dcu_arena_map(bytes, block.offset, &block.host);
	if (r)
		uncharge(p, block.taken);
	else
		dcu_block_add(&block);
	return r;
}

/* Held while a freed block is taken again, or goes. */
static pthread_mutex_t again_lock = PTHREAD_MUTEX_INITIALIZER;

int dcu_pool_take_at(struct pool *p, struct ctx *ctx, size_t bytes, uint64_t address)
{
	struct block block;
	int r = DCU_INVALID_VALUE;

	pthread_mutex_lock(&again_lock);
	if (!dcu_block_find(address, &block)) {
		r = take_at(p, ctx, bytes, address);
	} else if (block.is_freed) {
		r = charge(block.pool, block.taken);
		if (!r)
			dcu_block_change(address, live_on);
	}
	pthread_mutex_unlock(&again_lock);
	return r;
}

static void drop(const struct block *block)
{
	struct pool *p = block->pool;

	if (block->flags)
		dcu_arena_unmap(block->offset, block->host, block->bytes);
	else
		dcu_arena_free(block->offset, block->host, block->bytes);
	if (p->magic != DCU_IS_POOL)
		return;
	pthread_mutex_lock(&p->lock);
	shrink(p, p->threshold);
	pthread_mutex_unlock(&p->lock);
}

void dcu_pool_give(const struct block *block)
{
	uncharge(block->pool, block->taken);
	drop(block);
}

static void had_again(struct block *block)
{
	block->again -= block->again > 0;
}

static void drop_freed(uint64_t address)
{
	struct block gone;

	if (!dcu_block_find(address, &gone))
		return;
	if (gone.again) {
		dcu_block_change(address, had_again);
		return;
	}
	dcu_block_remove(address, &gone);
	if (gone.kind == DCU_BLOCK_POOL)
		drop(&gone);
	else
		dcu_block_free(&gone);
}

static void drop_block(void *user)
{
	struct block *block = user;

	pthread_mutex_lock(&again_lock);
	drop_freed(block->address);
	pthread_mutex_unlock(&again_lock);
}

static void mark_freed(struct block *block)
{
	block->is_freed = true;
}

/* Driver 580: managed memory is not supported, other memory is invalid. */
static int may_free_async(const struct block *block, uint64_t address)
{
	if (block->address != address || block->is_freed)
		return DCU_INVALID_VALUE;
	if (block->kind == DCU_BLOCK_MANAGED)
		return DCU_NOT_SUPPORTED;
	return block->kind == DCU_BLOCK_POOL || block->kind == DCU_BLOCK_DEVICE
		       ? 0
		       : DCU_INVALID_VALUE;
}

int dcu_free_async(uint64_t address, struct stream *stream)
{
	struct dgp_cmd cmd = {.kind = DGP_KERNEL, .name = dgp_name("[free]")};
	struct block *block = calloc(1, sizeof(*block));
	struct effect *effect;
	int r = dcu_block_find(address, block) ? may_free_async(block, address)
					       : DCU_INVALID_VALUE;

	if (r) {
		free(block);
		return r;
	}
	dcu_block_change(address, mark_freed);
	if (block->kind == DCU_BLOCK_POOL)
		uncharge(block->pool, block->taken);
	effect = dgp_effect_new();
	effect->call = drop_block;
	effect->user = effect->owned = block;
	cmd.effect = (uint64_t)(uintptr_t)effect;
	return dcu_stream_push(stream, &cmd, NULL);
}

/* --- The interface --- */

static int alloc_async(
	uint64_t *ret, size_t bytes, struct pool *pool, struct stream *handle)
{
	struct block block;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!ret)
		return DCU_INVALID_VALUE;
	if (s->capture)
		return dcu_capture_alloc(s, bytes, ret);
	if (!pool)
		pool = dcu_pool_of(s->ctx->device);
	r = dcu_pool_take(pool, s->ctx, bytes ? bytes : 1, &block);
	if (!r)
		*ret = block.address;
	return r;
}

int dcu_cuMemAllocAsync(uint64_t *ret, size_t bytes, struct stream *stream)
{
	return alloc_async(ret, bytes, NULL, stream);
}

int dcu_cuMemAllocFromPoolAsync(
	uint64_t *ret, size_t bytes, struct pool *pool, struct stream *stream)
{
	if (!is_pool(pool) || pool->is_foreign)
		return DCU_INVALID_VALUE;
	return alloc_async(ret, bytes, pool, stream);
}

int dcu_cuMemFreeAsync(uint64_t address, struct stream *handle)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	return s->capture ? dcu_capture_free(s, address) : dcu_free_async(address, s);
}

int dcu_cuDeviceGetDefaultMemPool(struct pool **ret, int ordinal)
{
	struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	*ret = pool_in(defaults, device);
	return 0;
}

int dcu_cuDeviceGetMemPool(struct pool **ret, int ordinal)
{
	struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	*ret = dcu_pool_of(device);
	return 0;
}

int dcu_cuDeviceSetMemPool(int ordinal, struct pool *pool)
{
	if (!dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	if (!is_pool(pool) || pool->device != dcu_device_at(ordinal))
		return DCU_INVALID_VALUE;
	chosen[ordinal] = pool;
	return 0;
}

int dcu_cuMemPoolCreate(struct pool **ret, const struct pool_props *props)
{
	struct device *device;

	if (!ret || !props || props->type != 1)
		return DCU_INVALID_VALUE;
	device = dcu_device_at(props->location.id);
	if (props->location.type != DCU_AT_DEVICE || !device)
		return DCU_INVALID_VALUE;
	*ret = new_pool(device);
	(*ret)->most = props->max_bytes;
	(*ret)->handle_types = props->handle_types;
	return 0;
}

/* Live allocations keep the memory that they need. */
int dcu_cuMemPoolDestroy(struct pool *pool)
{
	if (!is_pool(pool) || pool->is_default)
		return DCU_INVALID_VALUE;
	dgp_effects_apply();
	pthread_mutex_lock(&pool->lock);
	shrink(pool, 0);
	pool->threshold = 0;
	pthread_mutex_unlock(&pool->lock);
	if (!pool->used)
		pool->magic = DCU_DEAD;
	return 0;
}

int dcu_cuMemPoolTrimTo(struct pool *pool, size_t keep)
{
	if (!is_pool(pool))
		return DCU_INVALID_VALUE;
	dgp_effects_apply();
	pthread_mutex_lock(&pool->lock);
	shrink(pool, keep);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

int dcu_cuMemPoolGetAttribute(struct pool *pool, int attribute, void *ret)
{
	const uint64_t values[] = {
		[DCU_POOL_THRESHOLD] = is_pool(pool) ? pool->threshold : 0,
		[DCU_POOL_RESERVED] = is_pool(pool) ? pool->reserved : 0,
		[DCU_POOL_RESERVED_HIGH] = is_pool(pool) ? pool->reserved_high : 0,
		[DCU_POOL_USED] = is_pool(pool) ? pool->used : 0,
		[DCU_POOL_USED_HIGH] = is_pool(pool) ? pool->used_high : 0};

	if (!is_pool(pool) || !ret || attribute < 1 || attribute > DCU_POOL_USED_HIGH)
		return DCU_INVALID_VALUE;
	if (attribute < DCU_POOL_THRESHOLD)
		*(int *)ret = 1;
	else
		*(uint64_t *)ret = values[attribute];
	return 0;
}

int dcu_cuMemPoolSetAttribute(struct pool *pool, int attribute, void *value)
{
	if (!is_pool(pool) || !value)
		return DCU_INVALID_VALUE;
	if (attribute >= 1 && attribute < DCU_POOL_THRESHOLD)
		return 0;
	if (attribute == DCU_POOL_THRESHOLD)
		pool->threshold = *(uint64_t *)value;
	else if (attribute == DCU_POOL_RESERVED_HIGH && !*(uint64_t *)value)
		pool->reserved_high = pool->reserved;
	else if (attribute == DCU_POOL_USED_HIGH && !*(uint64_t *)value)
		pool->used_high = pool->used;
	else
		return DCU_INVALID_VALUE;
	return 0;
}

int dcu_cuDeviceGraphMemTrim(int ordinal)
{
	if (!dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	return dcu_cuMemPoolTrimTo(dcu_graph_pool(dcu_device_at(ordinal)), 0);
}

int dcu_cuDeviceGetGraphMemAttribute(int ordinal, int attribute, void *ret)
{
	static const int same[] = {DCU_POOL_USED, DCU_POOL_USED_HIGH, DCU_POOL_RESERVED,
		DCU_POOL_RESERVED_HIGH};

	if (!dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	if (attribute < 0 || attribute > 3)
		return DCU_INVALID_VALUE;
	return dcu_cuMemPoolGetAttribute(
		dcu_graph_pool(dcu_device_at(ordinal)), same[attribute], ret);
}
