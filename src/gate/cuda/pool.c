/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cuda/pool.h"

#include "gate/cuda/library.h"
#include "gate/cuda/memory.h"
#include "gate/cuda/stream.h"

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

/* With the lock held.  ahead_bytes: charged for an allocation that has just been made. */
static bool settle(struct pool *pool, uint64_t ahead_bytes)
{
	uint64_t before = pool->charged_bytes;

	if (pool->is_elsewhere || pool->epoch != clv_ledger_epoch())
		return false;
	pool->charged_bytes = reserved_bytes(pool);
	clv_ledger_correct(before + ahead_bytes, pool->charged_bytes);
	return pool->charged_bytes < before;
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
	bool is_less = false;

	pthread_mutex_lock(&pools_lock);
	atomic_store(&n_freed, 0);
	for (struct pool *pool = pools; pool; pool = pool->next)
		is_less |= settle(pool, 0);
	pthread_mutex_unlock(&pools_lock);
	return is_less;
}

void clv_cuda_pools_settle_freed(void)
{
	if (atomic_load_explicit(&n_freed, memory_order_relaxed) > 0)
		clv_cuda_pools_settle();
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
		for (struct pool *each = pools; each; each = each->next)
			settle(each, 0);
		charge = clv_charge_take(n_bytes);
	}
	if (charge.charged)
		*ret_charged = n_bytes;
	return !charge.refused;
}

/* A pool grows in pieces that are larger than what was asked for. */
static bool is_over_quota(void)
{
	return clv_ledger_used_bytes() > clv_ledger_quota_bytes();
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

/* It grew past the quota: what was got is given back, and the pool's rest too. */
static int undo(struct pool *pool, void *dptr, void *stream)
{
	clv_cuda.cuMemFreeAsync(*(uint64_t *)dptr, stream);
	clv_cuda.cuStreamSynchronize(stream);
	clv_cuda.cuMemPoolTrimTo(pool->handle, 0);
	clv_cuda_pools_settle();
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
			!stream && is_per_thread ? CLV_CUDA_STREAM_PER_THREAD : stream);
	return r;
}

/* In a capture it becomes a node, and the graph's when that is launched. */
static bool counts(void *stream, bool is_per_thread)
{
	return clv_ledger_quota_bytes() != UINT64_MAX &&
	       !clv_cuda_is_capturing(stream, is_per_thread);
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

int clv_own_cuMemFreeAsync(
	clv_fn_cuMemFreeAsync *real, bool is_per_thread, uint64_t dptr, void *stream)
{
	(void)is_per_thread;
	atomic_fetch_add_explicit(&n_freed, 1, memory_order_relaxed);
	return CLV_CUDA_FREE(dptr, real(dptr, stream));
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

int clv_own_cuMemPoolDestroy(clv_fn_cuMemPoolDestroy *real, void *handle)
{
	struct pool *gone = NULL, **link;
	int r;

	pthread_mutex_lock(&pools_lock);
	r = real(handle);
	for (link = &pools; r == CLV_CUDA_SUCCESS && *link; link = &(*link)->next) {
		if ((*link)->handle == handle) {
			gone = *link;
			*link = gone->next;
			break;
		}
	}
	pthread_mutex_unlock(&pools_lock);
	if (gone)
		clv_ledger_release(gone->charged_bytes, gone->epoch);
	free(gone);
	return r;
}
