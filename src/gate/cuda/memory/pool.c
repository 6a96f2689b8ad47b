/* SPDX-License-Identifier: Apache-2.0 */
/* The pools that the program has used, and what they have reserved (pool.h). */
#include "gate/cuda/memory/pool.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/freed.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/memory/pieces.h"
#include "gate/process/call-lock.h"
#include "gate/streams/capture.h"
#include "gate/streams/handle.h"
#include "gate/streams/legacy.h"

#include <pthread.h>
#include <stdlib.h>

/* A pool that the program has used. */
struct pool {
	struct pool *next;
	void *handle; /* NULL: the pool of a device's graphs */
	int device;
	uint64_t charged_bytes; /* what it had reserved when it was last settled */
	uint64_t begun_bytes;   /* of allocations that have begun and not ended */
	/* At most this is in use: what the driver told, and allocations since. */
	uint64_t used_most_bytes;
	uint32_t epoch;
	bool is_elsewhere; /* its memory is not the device's */
	bool is_destroyed; /* by the program; kept for its allocations */
	bool is_overgrown; /* it grew past the quota, which is not undone yet */
};

static struct pool *pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
/* What the driver reports while an allocation is under way does not tell whether that is
 * in it.  So a thread has this lock from its decision to the settling of its charge.  One
 * that does not get the lock counts what is under way as in use and as still to come. */
static struct clv_call_lock calls_lock;
static _Atomic uint32_t n_freed;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_call_lock_init(&calls_lock);
}

/* Both locks. */
static bool lock_pools(void)
{
	bool is_locked = clv_call_lock(&calls_lock);

	pthread_mutex_lock(&pools_lock);
	return is_locked;
}

static void unlock_pools(bool is_locked)
{
	pthread_mutex_unlock(&pools_lock);
	if (is_locked)
		clv_call_unlock(&calls_lock);
}

/* Returns the driver's result. */
static int get_attribute(
	const struct pool *pool, int of_pool, int of_graphs, uint64_t *ret)
{
	*ret = 0;
	return pool->handle ? clv_cuda.cuMemPoolGetAttribute(pool->handle, of_pool, ret)
			    : clv_cuda.cuDeviceGetGraphMemAttribute(
				      pool->device, of_graphs, ret);
}

static int get_reserved(const struct pool *pool, uint64_t *ret)
{
	return get_attribute(
		pool, CLV_CUDA_POOL_RESERVED_BYTES, CLV_CUDA_GRAPH_RESERVED_BYTES, ret);
}

static int get_used(const struct pool *pool, uint64_t *ret)
{
	return get_attribute(
		pool, CLV_CUDA_POOL_USED_BYTES, CLV_CUDA_GRAPH_USED_BYTES, ret);
}

/* A pool grows in pieces of this size, which may be more than what was asked for. */
#define PIECE_BYTES (UINT64_C(32) << 20)

static uint64_t grown_bytes(uint64_t made_bytes)
{
	return (made_bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

/* Of the charge, what the pool may have reserved once the calls under way have ended. */
static uint64_t keep_charged(const struct pool *pool, uint64_t charged, uint64_t reserved)
{
	uint64_t most = reserved + pool->begun_bytes;

	if (charged < reserved)
		return reserved;
	return charged < most ? charged : most;
}

static bool is_over_quota(void)
{
	return clv_ledger_used_bytes() > clv_ledger_quota_bytes();
}

/* With the lock held: sets the charge to what the pool has reserved. ahead_bytes: charged
 * for an allocation, of which made_bytes were made.  Where the driver does not tell what
 * is reserved, that is taken as what it was and what the allocation may have added.
 * True: the pool has become smaller. */
static bool settle(struct pool *pool, uint64_t ahead_bytes, uint64_t made_bytes)
{
	uint64_t before = pool->charged_bytes, reserved;

	if (pool->is_elsewhere || pool->epoch != clv_ledger_epoch())
		return false;
	if (pool->is_overgrown || pool->is_destroyed)
		clv_cuda.cuMemPoolTrimTo(pool->handle, 0);
	if (get_reserved(pool, &reserved) == CLV_CUDA_SUCCESS)
		pool->charged_bytes = keep_charged(pool, before + ahead_bytes, reserved);
	else
		pool->charged_bytes = before + grown_bytes(made_bytes);
	clv_ledger_correct(before + ahead_bytes, pool->charged_bytes);
	pool->is_overgrown = pool->is_overgrown && is_over_quota();
	return pool->charged_bytes < before;
}

/* Whether the program has destroyed the pool and nothing is left of it.  Host memory is
 * not charged, so a pool of it need not be kept. */
static bool is_finished(const struct pool *pool)
{
	uint64_t reserved;

	if (!pool->is_destroyed || pool->begun_bytes > 0)
		return false;
	return pool->is_elsewhere ||
	       (get_reserved(pool, &reserved) == CLV_CUDA_SUCCESS && reserved == 0);
}

static void drop(struct pool *gone)
{
	struct pool **link = &pools;

	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	clv_ledger_release(gone->charged_bytes, gone->epoch);
	free(gone);
}

/* With the lock held: destroys finished pools in the driver.  If the driver refuses, the
 * next call tries again. */
static void destroy_finished(void)
{
	struct pool *next;

	for (struct pool *pool = pools; pool; pool = next) {
		next = pool->next;
		if (is_finished(pool) &&
			clv_cuda.cuMemPoolDestroy(pool->handle) == CLV_CUDA_SUCCESS)
			drop(pool);
	}
}

static bool settle_all(void)
{
	bool is_less = false, is_unsettled = false;

	for (struct pool *pool = pools; pool; pool = pool->next) {
		is_less |= settle(pool, 0, 0);
		is_unsettled |= pool->is_overgrown || pool->is_destroyed;
	}
	destroy_finished();
	atomic_store(&n_freed, is_unsettled);
	return is_less;
}

static struct pool *find_or_add(void *handle, int device)
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
	bool is_locked = lock_pools(), is_less = settle_all();

	unlock_pools(is_locked);
	return is_less;
}

bool clv_cuda_pools_any_freed(void)
{
	return atomic_load_explicit(&n_freed, memory_order_relaxed) > 0;
}

void clv_cuda_pools_freed(void)
{
	atomic_fetch_add_explicit(&n_freed, 1, memory_order_relaxed);
}

/* Whether n_bytes more need no charge, because what is charged has that much room.  The
 * pool may have given the room back since, and then gets it again. */
static bool has_room(const struct pool *pool, uint64_t n_bytes)
{
	uint64_t charged = pool->epoch == clv_ledger_epoch() ? pool->charged_bytes : 0;
	uint64_t taken = pool->used_most_bytes + pool->begun_bytes;

	return charged >= taken && charged - taken >= n_bytes;
}

/* Where the driver does not tell what is in use, it could not tell the growth afterwards
 * either, so the program gets the driver's error. */
static int charge_growth(struct pool *pool, uint64_t n_bytes, uint64_t *ret_charged)
{
	struct clv_charge charge;
	int r;

	if (has_room(pool, n_bytes))
		return CLV_CUDA_SUCCESS;
	r = get_used(pool, &pool->used_most_bytes);
	if (r != CLV_CUDA_SUCCESS || has_room(pool, n_bytes))
		return r;
	charge = clv_charge_try(n_bytes);
	if (charge.refused) {
		settle_all();
		clv_cuda_freed_settle();
		clv_pieces_settle();
		if (has_room(pool, n_bytes))
			return CLV_CUDA_SUCCESS;
		charge = clv_charge_take(n_bytes);
	}
	if (charge.charged)
		*ret_charged = n_bytes;
	return charge.refused ? CLV_CUDA_OUT_OF_MEMORY : CLV_CUDA_SUCCESS;
}

int clv_cuda_growth_begin(
	struct clv_cuda_growth *growth, void *handle, int device, uint64_t n_bytes)
{
	int r = CLV_CUDA_SUCCESS;

	*growth = (struct clv_cuda_growth){.n_bytes = n_bytes, .is_locked = lock_pools()};
	growth->pool = find_or_add(handle, device);
	if (!growth->pool)
		r = CLV_CUDA_OUT_OF_MEMORY;
	else if (!growth->pool->is_elsewhere)
		r = charge_growth(growth->pool, n_bytes, &growth->ahead_bytes);
	if (r != CLV_CUDA_SUCCESS) {
		unlock_pools(growth->is_locked);
		return r;
	}
	growth->pool->begun_bytes += n_bytes;
	pthread_mutex_unlock(&pools_lock);
	return r;
}

static void settle_growth(const struct clv_cuda_growth *growth, bool is_made)
{
	pthread_mutex_lock(&pools_lock);
	growth->pool->begun_bytes -= growth->n_bytes;
	if (is_made)
		growth->pool->used_most_bytes += growth->n_bytes;
	settle(growth->pool, growth->ahead_bytes, is_made ? growth->ahead_bytes : 0);
	pthread_mutex_unlock(&pools_lock);
}

static void end_growth(const struct clv_cuda_growth *growth)
{
	if (growth->is_locked)
		clv_call_unlock(&calls_lock);
}

void clv_cuda_growth_end(const struct clv_cuda_growth *growth, bool is_made)
{
	settle_growth(growth, is_made);
	end_growth(growth);
}

/* The pool grew past the quota: the allocation is freed in stream order, and the pool
 * trimmed once the stream has reached that.  Nothing waits for the stream, because it may
 * be waiting for the program. */
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

	/* Memory that another stream has freed is available once that stream has reached
	 * the free.  This may wait for a marker, so it is before the lock. */
	clv_legacy_before_wait(stream, is_per_thread);
	r = clv_cuda_growth_begin(&growth, pool, 0, n_bytes);
	if (r != CLV_CUDA_SUCCESS)
		return r;
	r = call(dptr, n_bytes, pool, stream);
	settle_growth(&growth, r == CLV_CUDA_SUCCESS);
	if (r == CLV_CUDA_SUCCESS && is_over_quota())
		r = undo(growth.pool, dptr,
			!stream && is_per_thread ? CLV_STREAM_PER_THREAD : stream);
	end_growth(&growth);
	return r;
}

/* Whether an allocation is charged now.  In a capture it becomes a node, and is charged
 * to the graph at its launch.  A stream about which the driver returns an error is not
 * itself captured. */
static bool is_charged_now(void *stream, bool is_per_thread)
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

static bool has_context(void)
{
	void *context = NULL;

	return clv_cuda.cuCtxGetCurrent(&context) != CLV_CUDA_SUCCESS || context;
}

/* With no context current, the stream's counts. */
int clv_cuda_device_of(void *stream, int *ret)
{
	void *context = NULL;
	int r = clv_cuda.cuCtxGetDevice(ret);

	if (r == CLV_CUDA_SUCCESS || (uintptr_t)stream <= 2 || has_context() ||
		clv_cuda.cuStreamGetCtx(stream, &context) != CLV_CUDA_SUCCESS)
		return r;
	if (clv_cuda.cuCtxSetCurrent(context) == CLV_CUDA_SUCCESS)
		r = clv_cuda.cuCtxGetDevice(ret);
	clv_cuda.cuCtxSetCurrent(NULL);
	return r;
}

/* The pools from which devices allocate; NULL: not asked yet. */
#define N_DEVICES 64
static _Atomic(void *) pools_of_devices[N_DEVICES];

/* With the lock held. */
static void forget_pools_of_devices(void)
{
	for (int i = 0; i < N_DEVICES; i++)
		atomic_store(&pools_of_devices[i], NULL);
}

static int get_pool_of(int device, void **ret)
{
	bool is_kept = device >= 0 && device < N_DEVICES;
	int r;

	*ret = is_kept ? atomic_load(&pools_of_devices[device]) : NULL;
	if (*ret)
		return CLV_CUDA_SUCCESS;
	pthread_mutex_lock(&pools_lock);
	r = clv_cuda.cuDeviceGetMemPool(ret, device);
	if (r == CLV_CUDA_SUCCESS && is_kept)
		atomic_store(&pools_of_devices[device], *ret);
	pthread_mutex_unlock(&pools_lock);
	return r;
}

static int pool_was_set(int result)
{
	pthread_mutex_lock(&pools_lock);
	forget_pools_of_devices();
	pthread_mutex_unlock(&pools_lock);
	return result;
}

int clv_own_cuDeviceSetMemPool(clv_fn_cuDeviceSetMemPool *real, int dev, void *pool)
{
	return pool_was_set(real(dev, pool));
}

int clv_own_cuMemSetMemPool(
	clv_fn_cuMemSetMemPool *real, void *location, int type, void *pool)
{
	return pool_was_set(real(location, type, pool));
}

int clv_own_cuMemAllocAsync(clv_fn_cuMemAllocAsync *real, bool is_per_thread, void *dptr,
	size_t n_bytes, void *stream)
{
	void *pool = NULL;
	int device, r;

	if (!is_charged_now(stream, is_per_thread) || !dptr)
		return real(dptr, n_bytes, stream);
	r = clv_cuda_device_of(stream, &device);
	if (r == CLV_CUDA_SUCCESS)
		r = get_pool_of(device, &pool);
	if (r != CLV_CUDA_SUCCESS)
		return r;
	return allocate(pool, dptr, n_bytes, stream, is_per_thread,
		is_per_thread ? call_alloc_async_ptsz : call_alloc_async);
}

int clv_own_cuMemAllocFromPoolAsync(clv_fn_cuMemAllocFromPoolAsync *real,
	bool is_per_thread, void *dptr, size_t n_bytes, void *pool, void *stream)
{
	if (!is_charged_now(stream, is_per_thread) || !dptr || !pool)
		return real(dptr, n_bytes, pool, stream);
	return allocate(pool, dptr, n_bytes, stream, is_per_thread,
		is_per_thread ? call_alloc_from_pool_ptsz : call_alloc_from_pool);
}

/* Pinned memory of the host is not charged; managed memory may be on the device. */
static int note_pool(
	int result, void *const *pool, const struct clv_cuda_location *location, int type)
{
	struct pool *record;

	if (result != CLV_CUDA_SUCCESS || type != CLV_CUDA_ALLOCATION_PINNED ||
		location->type == CLV_CUDA_LOCATION_DEVICE)
		return result;
	pthread_mutex_lock(&pools_lock);
	record = find_or_add(*pool, 0);
	if (record)
		record->is_elsewhere = true;
	pthread_mutex_unlock(&pools_lock);
	return result;
}

int clv_own_cuMemPoolCreate(clv_fn_cuMemPoolCreate *real, void *pool, void *pool_props)
{
	const struct clv_cuda_pool_properties *properties = pool_props;
	int r = real(pool, pool_props);

	return r == CLV_CUDA_SUCCESS
		       ? note_pool(r, pool, &properties->location, properties->type)
		       : r;
}

int clv_own_cuMemGetDefaultMemPool(
	clv_fn_cuMemGetDefaultMemPool *real, void *pool, void *location, int type)
{
	return note_pool(real(pool, location, type), pool, location, type);
}

int clv_own_cuMemGetMemPool(
	clv_fn_cuMemGetMemPool *real, void *pool, void *location, int type)
{
	return note_pool(real(pool, location, type), pool, location, type);
}

/* The driver's default pool cannot be destroyed.  A device whose current pool is
 * destroyed gets its default pool again. */
static int leave_device(const struct pool *pool)
{
	void *handle = NULL, *chosen = NULL;
	int r = clv_cuda.cuDeviceGetDefaultMemPool(&handle, pool->device);

	if (r == CLV_CUDA_SUCCESS)
		r = clv_cuda.cuDeviceGetMemPool(&chosen, pool->device);
	if (r == CLV_CUDA_SUCCESS && handle == pool->handle)
		r = CLV_CUDA_INVALID_VALUE;
	if (r == CLV_CUDA_SUCCESS && chosen == pool->handle)
		r = clv_cuda.cuDeviceSetMemPool(pool->device, handle);
	forget_pools_of_devices();
	return r;
}

/* Allocations that are left in a pool keep the pool and its charge.  The driver's pool is
 * destroyed last, because the driver tells nothing about a destroyed pool.  If nothing is
 * left it is destroyed now, and the driver may refuse. */
static int destroy(struct pool *pool)
{
	uint64_t keep_bytes = 0;
	int r = pool->is_destroyed ? CLV_CUDA_INVALID_VALUE : leave_device(pool);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	clv_cuda.cuMemPoolSetAttribute(
		pool->handle, CLV_CUDA_POOL_RELEASE_THRESHOLD, &keep_bytes);
	pool->is_destroyed = true;
	settle(pool, 0, 0);
	if (is_finished(pool)) {
		r = clv_cuda.cuMemPoolDestroy(pool->handle);
		if (r == CLV_CUDA_SUCCESS)
			drop(pool);
		else
			pool->is_destroyed = false;
	}
	settle_all();
	return r;
}

int clv_own_cuMemPoolDestroy(clv_fn_cuMemPoolDestroy *real, void *handle)
{
	bool is_locked = lock_pools();
	struct pool *pool = pools;
	int r;

	while (pool && (!handle || pool->handle != handle))
		pool = pool->next;
	r = pool ? destroy(pool) : real(handle);
	forget_pools_of_devices();
	unlock_pools(is_locked);
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

void clv_cuda_pools_forget_parent(void)
{
	pthread_mutex_init(&pools_lock, NULL);
	forget_pools_of_devices();
	begin_lock();
}
