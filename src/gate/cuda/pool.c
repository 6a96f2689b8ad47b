/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cuda/pool.h"

#include "gate/cuda/freed.h"
#include "gate/cuda/library.h"
#include "gate/cuda/memory.h"
#include "gate/pieces.h"
#include "gate/streams/driver.h"
#include "gate/streams/stream.h"

#include <pthread.h>
#include <stdlib.h>

/* One that the program has used. */
struct pool {
	struct pool *next;
	void *handle; /* NULL: the one of a device's graphs */
	int device;
	uint64_t charged_bytes; /* what it had reserved when last looked at */
	uint32_t epoch;
	bool is_elsewhere; /* it has memory of the host */
	bool is_destroyed; /* by the program; it lives on for what was taken from it */
	bool is_overgrown; /* what would bring it under the quota again is still to come
			    */
};

static struct pool *pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t n_freed;

static uint64_t attribute(const struct pool *pool, int of_pool, int of_graphs)
{
	uint64_t bytes = 0;

	if (pool->handle)
		clv_cuda.cuMemPoolGetAttribute(pool->handle, of_pool, &bytes);
	else
		clv_cuda.cuDeviceGetGraphMemAttribute(pool->device, of_graphs, &bytes);
	return bytes;
}

static uint64_t reserved_bytes(const struct pool *pool)
{
	return attribute(
		pool, CLV_CUDA_POOL_RESERVED_BYTES, CLV_CUDA_GRAPH_RESERVED_BYTES);
}

static uint64_t used_bytes(const struct pool *pool)
{
	return attribute(pool, CLV_CUDA_POOL_USED_BYTES, CLV_CUDA_GRAPH_USED_BYTES);
}

/* A pool grows in pieces that are larger than what was asked for. */
static bool is_over_quota(void)
{
	return clv_ledger_used_bytes() > clv_ledger_quota_bytes();
}

/* With the lock held.  ahead_bytes: charged for an allocation that has just been made. */
static bool settle(struct pool *pool, uint64_t ahead_bytes)
{
	uint64_t before = pool->charged_bytes;

	if (pool->is_elsewhere || pool->epoch != clv_ledger_epoch())
		return false;
	if (pool->is_overgrown || pool->is_destroyed)
		clv_cuda.cuMemPoolTrimTo(pool->handle, 0);
	pool->charged_bytes = reserved_bytes(pool);
	clv_ledger_correct(before + ahead_bytes, pool->charged_bytes);
	pool->is_overgrown = pool->is_overgrown && is_over_quota();
	return pool->charged_bytes < before;
}

/* The host's memory is not counted, and none of its pools has to be looked after. */
static bool is_over(const struct pool *pool)
{
	return pool->is_destroyed && (pool->is_elsewhere || reserved_bytes(pool) == 0);
}

/* With the lock held: to the driver as well, once nothing of it is left. */
static void bury(void)
{
	struct pool **link = &pools;

	while (*link) {
		struct pool *pool = *link;

		if (!is_over(pool)) {
			link = &pool->next;
			continue;
		}
		*link = pool->next;
		clv_cuda.cuMemPoolDestroy(pool->handle);
		clv_ledger_release(pool->charged_bytes, pool->epoch);
		free(pool);
	}
}

static bool settle_all(void)
{
	bool is_less = false, is_unsettled = false;

	for (struct pool *pool = pools; pool; pool = pool->next) {
		is_less |= settle(pool, 0);
		is_unsettled |= pool->is_overgrown || pool->is_destroyed;
	}
	bury();
	atomic_store(&n_freed, is_unsettled);
	return is_less;
}

static struct pool *find(void *handle, int device)
{
	struct pool *pool = pools;

	while (pool && (pool->handle != handle || (!handle && pool->device != device)))
		pool = pool->next;
	if (pool)
		return pool;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->handle = handle;
	pool->device = device;
	pool->epoch = clv_ledger_epoch();
	pool->next = pools;
	pools = pool;
	return pool;
}

bool clv_cuda_pools_settle(void)
{
	bool is_less;

	pthread_mutex_lock(&pools_lock);
	is_less = settle_all();
	pthread_mutex_unlock(&pools_lock);
	return is_less;
}

void clv_cuda_pools_settle_freed(void)
{
	if (atomic_load_explicit(&n_freed, memory_order_relaxed) > 0 ||
		clv_cuda_freed_any())
		clv_cuda_memory_settle();
}

void clv_cuda_pools_freed(void)
{
	atomic_fetch_add_explicit(&n_freed, 1, memory_order_relaxed);
}

/* Room that the pool has already needs no charge. */
static bool charge_growth(struct pool *pool, uint64_t n_bytes, uint64_t *ret_charged)
{
	uint64_t reserved = reserved_bytes(pool), used = used_bytes(pool);
	struct clv_charge charge;

	*ret_charged = 0;
	if (reserved >= used && reserved - used >= n_bytes)
		return true;
	charge = clv_charge_take(n_bytes);
	if (charge.refused) {
		settle_all();
		clv_cuda_freed_settle();
		clv_pieces_settle();
		charge = clv_charge_take(n_bytes);
	}
	if (charge.charged)
		*ret_charged = n_bytes;
	return !charge.refused;
}

bool clv_cuda_growth_begin(
	struct clv_cuda_growth *growth, void *handle, int device, uint64_t n_bytes)
{
	bool may = true;

	*growth = (struct clv_cuda_growth){0};
	pthread_mutex_lock(&pools_lock);
	growth->pool = find(handle, device);
	if (growth->pool && !growth->pool->is_elsewhere)
		may = charge_growth(growth->pool, n_bytes, &growth->ahead_bytes);
	pthread_mutex_unlock(&pools_lock);
	return may && growth->pool;
}

void clv_cuda_growth_end(const struct clv_cuda_growth *growth)
{
	pthread_mutex_lock(&pools_lock);
	settle(growth->pool, growth->ahead_bytes);
	pthread_mutex_unlock(&pools_lock);
}

/* It grew past the quota: what was got is given back, and the pool's rest too, when the
 * stream comes to it.  Nothing waits for that: what the stream itself waits for may be
 * the program's to do. */
static int undo(struct pool *pool, void *dptr, void *stream)
{
	clv_cuda.cuMemFreeAsync(*(uint64_t *)dptr, stream);
	pthread_mutex_lock(&pools_lock);
	pool->is_overgrown = true;
	settle_all();
	pthread_mutex_unlock(&pools_lock);
	return CLV_CUDA_OUT_OF_MEMORY;
}

static int allocate(void *pool, void *dptr, uint64_t n_bytes, void *stream,
	bool is_per_thread,
	int (*call)(void *dptr, uint64_t n_bytes, void *pool, void *stream))
{
	struct clv_cuda_growth growth;
	int r;

	if (!clv_cuda_growth_begin(&growth, pool, 0, n_bytes))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = call(dptr, n_bytes, pool, stream);
	clv_cuda_growth_end(&growth);
	if (r == CLV_CUDA_SUCCESS && is_over_quota())
		return undo(growth.pool, dptr,
			!stream && is_per_thread ? CLV_STREAM_PER_THREAD : stream);
	return r;
}

/* In a capture it becomes a node, and the graph's when that is launched.  A stream of
 * which the driver will not say is not captured itself. */
static bool counts(void *stream, bool is_per_thread)
{
	int status = CLV_CUDA_CAPTURE_STATUS_NONE;

	if (clv_ledger_quota_bytes() == UINT64_MAX)
		return false;
	if (atomic_load(&clv_n_captures) > 0)
		clv_cuda.cuStreamIsCapturing(
			!stream && is_per_thread ? CLV_STREAM_PER_THREAD : stream,
			&status);
	return status == CLV_CUDA_CAPTURE_STATUS_NONE;
}

static int call_alloc_async(void *dptr, uint64_t n_bytes, void *pool, void *stream)
{
	(void)pool;
	return clv_cuda.cuMemAllocAsync(dptr, n_bytes, stream);
}

static int call_alloc_async_ptsz(void *dptr, uint64_t n_bytes, void *pool, void *stream)
{
	(void)pool;
	return clv_cuda.cuMemAllocAsync_ptsz(dptr, n_bytes, stream);
}

static int call_alloc_from_pool(void *dptr, uint64_t n_bytes, void *pool, void *stream)
{
	return clv_cuda.cuMemAllocFromPoolAsync(dptr, n_bytes, pool, stream);
}

static int call_alloc_from_pool_ptsz(
	void *dptr, uint64_t n_bytes, void *pool, void *stream)
{
	return clv_cuda.cuMemAllocFromPoolAsync_ptsz(dptr, n_bytes, pool, stream);
}

int clv_own_cuMemAllocAsync(clv_fn_cuMemAllocAsync *real, bool is_per_thread, void *dptr,
	size_t n_bytes, void *stream)
{
	void *pool = NULL;
	int device = 0;

	if (!counts(stream, is_per_thread) || !dptr ||
		clv_cuda.cuCtxGetDevice(&device) != CLV_CUDA_SUCCESS ||
		clv_cuda.cuDeviceGetMemPool(&pool, device) != CLV_CUDA_SUCCESS)
		return real(dptr, n_bytes, stream);
	return allocate(pool, dptr, n_bytes, stream, is_per_thread,
		is_per_thread ? call_alloc_async_ptsz : call_alloc_async);
}

int clv_own_cuMemAllocFromPoolAsync(clv_fn_cuMemAllocFromPoolAsync *real,
	bool is_per_thread, void *dptr, size_t n_bytes, void *pool, void *stream)
{
	if (!counts(stream, is_per_thread) || !dptr || !pool)
		return real(dptr, n_bytes, pool, stream);
	return allocate(pool, dptr, n_bytes, stream, is_per_thread,
		is_per_thread ? call_alloc_from_pool_ptsz : call_alloc_from_pool);
}

int clv_own_cuMemPoolCreate(clv_fn_cuMemPoolCreate *real, void *pool, void *pool_props)
{
	const struct clv_cuda_pool_properties *properties = pool_props;
	struct pool *record;
	int r = real(pool, pool_props);

	if (r != CLV_CUDA_SUCCESS ||
		properties->location.type == CLV_CUDA_LOCATION_DEVICE)
		return r;
	pthread_mutex_lock(&pools_lock);
	record = find(*(void **)pool, 0);
	if (record)
		record->is_elsewhere = true;
	pthread_mutex_unlock(&pools_lock);
	return r;
}

/* The driver's default pool is nobody's to destroy, and is a device's own again when that
 * has none of the program's. */
static bool is_default(const struct pool *pool)
{
	void *handle = NULL, *chosen = NULL;

	clv_cuda.cuDeviceGetDefaultMemPool(&handle, pool->device);
	clv_cuda.cuDeviceGetMemPool(&chosen, pool->device);
	if (handle != pool->handle && chosen == pool->handle)
		clv_cuda.cuDeviceSetMemPool(pool->device, handle);
	return handle == pool->handle;
}

/* What a pool has left lives on with it and with its charge; to the driver the pool goes
 * last, for it answers no question about one that is gone. */
static int destroy(struct pool *pool)
{
	uint64_t keep_bytes = 0;

	if (pool->is_destroyed || is_default(pool))
		return CLV_CUDA_INVALID_VALUE;
	clv_cuda.cuMemPoolSetAttribute(
		pool->handle, CLV_CUDA_POOL_RELEASE_THRESHOLD, &keep_bytes);
	pool->is_destroyed = true;
	settle_all();
	return CLV_CUDA_SUCCESS;
}

int clv_own_cuMemPoolDestroy(clv_fn_cuMemPoolDestroy *real, void *handle)
{
	struct pool *pool;
	int r;

	pthread_mutex_lock(&pools_lock);
	for (pool = pools; pool && (!handle || pool->handle != handle);)
		pool = pool->next;
	r = pool ? destroy(pool) : real(handle);
	pthread_mutex_unlock(&pools_lock);
	return r;
}

int clv_own_cuMemPoolTrimTo(
	clv_fn_cuMemPoolTrimTo *real, void *pool, size_t min_bytes_to_keep)
{
	int r = real(pool, min_bytes_to_keep);

	clv_cuda_pools_settle();
	return r;
}

int clv_own_cuDeviceGraphMemTrim(clv_fn_cuDeviceGraphMemTrim *real, int device)
{
	int r = real(device);

	clv_cuda_pools_settle();
	return r;
}
