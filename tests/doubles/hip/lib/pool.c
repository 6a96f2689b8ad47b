/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>

/* Pools: stream-ordered memory. Each allocation is one of HSA's; a freed one is kept for
 * the next of its size until a synchronization, and then released as far as the pool
 * keeps more than its threshold. */

struct kept {
	void *p;
	size_t bytes;
	struct stream *stream; /* the stream in whose order it is free */
	struct mark *mark;     /* after it, free in the order of every stream */
	struct kept *next;
};

struct pool {
	uint32_t magic;
	struct device *device;
	uint64_t threshold, reserved, reserved_high, used, used_high;
	uint64_t settings[3];
	struct kept *kept;
	pthread_mutex_t lock;
	struct pool *next;
};

static struct pool *pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_pool(const struct pool *pool)
{
	return pool && pool->magic == IS_POOL;
}

static struct pool *make(struct device *device)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	pool->magic = IS_POOL;
	pool->device = device;
	for (int i = 0; i < 3; i++)
		pool->settings[i] = 1;
	pthread_mutex_init(&pool->lock, NULL);
	pool->next = pools;
	pools = pool;
	return pool;
}

static struct pool *of_device(struct device *device)
{
	pthread_mutex_lock(&pools_lock);
	if (!device->default_pool)
		device->default_pool = device->pool = make(device);
	pthread_mutex_unlock(&pools_lock);
	return device->pool;
}

static uint64_t rounded(size_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

static void note_reserved(struct pool *pool, uint64_t bytes)
{
	pool->reserved += bytes;
	if (pool->reserved_high < pool->reserved)
		pool->reserved_high = pool->reserved;
}

static void note_used(struct pool *pool, uint64_t bytes)
{
	pool->used += bytes;
	if (pool->used_high < pool->used)
		pool->used_high = pool->used;
}

/* --- Kept allocations --- */

static struct kept **find_kept(
	struct pool *pool, const struct stream *stream, uint64_t bytes)
{
	struct kept **at = &pool->kept;

	for (; *at; at = &(*at)->next)
		if ((*at)->bytes == bytes &&
			((*at)->stream == stream || dhi_mark_is_done((*at)->mark)))
			break;
	return at;
}

static void *take_kept(struct pool *pool, const struct stream *stream, uint64_t bytes)
{
	struct kept **at = find_kept(pool, stream, bytes), *kept = *at;
	void *p;

	if (!kept)
		return NULL;
	*at = kept->next;
	p = kept->p;
	dhi_mark_drop(kept->mark);
	free(kept);
	return p;
}

static void trim(struct pool *pool, uint64_t keep)
{
	struct kept **at = &pool->kept;

	while (*at && pool->reserved > keep) {
		struct kept *kept = *at;

		if (!dhi_mark_is_done(kept->mark)) {
			at = &kept->next;
			continue;
		}
		*at = kept->next;
		pool->reserved -= kept->bytes;
		dhi_give(pool->device, kept->p, kept->bytes);
		dhi_mark_drop(kept->mark);
		free(kept);
	}
}

void dhi_pool_trim(struct device *device)
{
	pthread_mutex_lock(&pools_lock);
	for (struct pool *pool = pools; pool; pool = pool->next) {
		if (pool->device != device || !is_pool(pool))
			continue;
		pthread_mutex_lock(&pool->lock);
		trim(pool, pool->threshold);
		pthread_mutex_unlock(&pool->lock);
	}
	pthread_mutex_unlock(&pools_lock);
}

static void keep(const struct memory *memory, struct stream *stream, struct mark *mark)
{
	struct pool *pool = memory->pool;
	struct kept *kept = calloc(1, sizeof(*kept));

	*kept = (struct kept){memory->base, rounded(memory->bytes), stream, mark, NULL};
	pthread_mutex_lock(&pool->lock);
	pool->used -= kept->bytes;
	kept->next = pool->kept;
	pool->kept = kept;
	pthread_mutex_unlock(&pool->lock);
}

/* Called by hipFree, which has waited. */
void dhi_pool_give(const struct memory *memory)
{
	keep(memory, NULL, NULL);
	dhi_pool_trim(memory->device);
}

/* --- Allocating and freeing --- */

static int allocate(
	struct pool *pool, const struct stream *stream, uint64_t bytes, void **ret)
{
	int r = 0;

	pthread_mutex_lock(&pool->lock);
	*ret = take_kept(pool, stream, bytes);
	if (!*ret) {
		r = dhi_take(pool->device, pool->device->coarse, bytes, ret);
		if (r) {
			trim(pool, 0);
			r = dhi_take(pool->device, pool->device->coarse, bytes, ret);
		}
		if (!r)
			note_reserved(pool, bytes);
	}
	if (!r)
		note_used(pool, bytes);
	pthread_mutex_unlock(&pool->lock);
	return r;
}

int dhi_hipMallocFromPoolAsync(
	void **ret, size_t bytes, struct pool *pool, struct stream *handle)
{
	struct stream *s = dhi_stream(handle);
	struct memory memory = {.bytes = bytes, .kind = MEMORY_POOL, .pool = pool};
	struct op op = {.kind = OP_ALLOC};
	void *p;
	int r;

	if (!ret || !is_pool(pool) || !s)
		return HIP_INVALID_VALUE;
	*ret = NULL;
	if (!bytes)
		return 0;
	if (s->capture) {
		r = dhi_graph_take(dhi_capture_graph(s), pool->device, bytes, ret);
		op.memory.p = *ret;
		return r ? r : dhi_submit(s, &op);
	}
	r = allocate(pool, s, rounded(bytes), &p);
	if (r)
		return r;
	memory.base = p;
	memory.device = pool->device;
	dhi_memory_add(&memory);
	*ret = p;
	return 0;
}

int dhi_hipMallocAsync(void **ret, size_t bytes, struct stream *handle)
{
	struct stream *s = dhi_stream(handle);

	if (!s)
		return HIP_INVALID_HANDLE;
	return dhi_hipMallocFromPoolAsync(ret, bytes, of_device(s->device), handle);
}

int dhi_pool_perform_free(struct stream *s, void *p)
{
	struct memory memory;

	if (!dhi_memory_remove(p, &memory))
		return HIP_INVALID_VALUE;
	keep(&memory, s, dhi_stream_mark(s));
	return 0;
}

int dhi_hipFreeAsync(void *p, struct stream *handle)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_FREE, .memory = {p, 0}};
	struct memory memory;

	if (!s || !p || !dhi_memory_find(p, &memory) || memory.base != p)
		return HIP_INVALID_VALUE;
	if (s->capture)
		op.kind = OP_EMPTY;
	else if (memory.kind != MEMORY_POOL)
		return dhi_hipFree(p);
	return dhi_submit(s, &op);
}

/* --- Pools themselves --- */

int dhi_hipDeviceGetDefaultMemPool(struct pool **ret, int ordinal)
{
	if (!dhi_device_at(ordinal))
		return HIP_INVALID_DEVICE;
	if (!ret)
		return HIP_INVALID_VALUE;
	of_device(dhi_device_at(ordinal));
	*ret = dhi_device_at(ordinal)->default_pool;
	return 0;
}

int dhi_hipDeviceGetMemPool(struct pool **ret, int ordinal)
{
	if (!dhi_device_at(ordinal))
		return HIP_INVALID_DEVICE;
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = of_device(dhi_device_at(ordinal));
	return 0;
}

int dhi_hipDeviceSetMemPool(int ordinal, struct pool *pool)
{
	struct device *device = dhi_device_at(ordinal);

	if (!device)
		return HIP_INVALID_DEVICE;
	if (!is_pool(pool) || pool->device != device)
		return HIP_INVALID_VALUE;
	of_device(device);
	device->pool = pool;
	return 0;
}

int dhi_hipMemPoolCreate(struct pool **ret, const struct pool_props *props)
{
	struct device *device;

	if (!ret || !props || props->type != 1 || props->location.type != 1)
		return HIP_INVALID_VALUE;
	device = dhi_device_at(props->location.id);
	if (!device)
		return HIP_INVALID_VALUE;
	pthread_mutex_lock(&pools_lock);
	*ret = make(device);
	pthread_mutex_unlock(&pools_lock);
	return 0;
}

int dhi_hipMemPoolDestroy(struct pool *pool)
{
	if (!is_pool(pool) || pool == pool->device->default_pool)
		return HIP_INVALID_VALUE;
	dhi_device_await(pool->device);
	pthread_mutex_lock(&pool->lock);
	trim(pool, 0);
	pool->threshold = 0;
	pthread_mutex_unlock(&pool->lock);
	if (pool->device->pool == pool)
		pool->device->pool = pool->device->default_pool;
	return 0;
}

int dhi_hipMemPoolTrimTo(struct pool *pool, size_t bytes)
{
	if (!is_pool(pool))
		return HIP_INVALID_VALUE;
	pthread_mutex_lock(&pool->lock);
	trim(pool, bytes);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

/* The first three are 32-bit numbers. */
int dhi_hipMemPoolSetAttribute(struct pool *pool, int attribute, void *value)
{
	if (!is_pool(pool) || !value)
		return HIP_INVALID_VALUE;
	if (attribute >= 1 && attribute <= 3)
		pool->settings[attribute - 1] = *(uint32_t *)value;
	else if (attribute == 4)
		pool->threshold = *(uint64_t *)value;
	else if (attribute == 6 && !*(uint64_t *)value)
		pool->reserved_high = pool->reserved;
	else if (attribute == 8 && !*(uint64_t *)value)
		pool->used_high = pool->used;
	else
		return HIP_INVALID_VALUE;
	return 0;
}

int dhi_hipMemPoolGetAttribute(struct pool *pool, int attribute, void *ret)
{
	const uint64_t *const numbers[] = {&pool->threshold, &pool->reserved,
		&pool->reserved_high, &pool->used, &pool->used_high};

	if (!is_pool(pool) || !ret || attribute < 1 || attribute > 8)
		return HIP_INVALID_VALUE;
	if (attribute <= 3)
		*(uint32_t *)ret = (uint32_t)pool->settings[attribute - 1];
	else
		*(uint64_t *)ret = *numbers[attribute - 4];
	return 0;
}
