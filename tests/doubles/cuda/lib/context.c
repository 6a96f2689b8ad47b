/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "functions.h"
#include "memory.h"
#include "mps.h"
#include "objects.h"
#include "rm.h"
#include <stdlib.h>

/* Contexts, and each thread's stack of them. */

#define HEAP 2 /* the limit of what kernels may allocate themselves */
#define HEAP_BY_ITSELF (8ULL << 20) /* included in the fixed memory of a context */

__thread struct thread dcu_thread;

uint64_t dcu_new_id(void)
{
	static _Atomic uint64_t last;

	return ++last;
}

struct ctx *dcu_current(void)
{
	struct thread *t = &dcu_thread;
	struct ctx *ctx = t->n ? t->stack[t->n - 1] : NULL;

	return ctx && ctx->magic == DCU_IS_CTX ? ctx : NULL;
}

int dcu_ctx_new(struct device *device, uint32_t units, struct ctx **ret)
{
	uint32_t all = device->info.units, most = dcu_mps_units(all);
	uint32_t n = units && units < most ? units : most;
	struct dgp_message message = {.request = DGP_CONTEXT_NEW,
		.a = device->gpu,
		.b = (uint64_t)n * 1000 / all};
	struct ctx *ctx;
	int r = dgp_request(&message);

	if (r)
		return r;
	ctx = calloc(1, sizeof(*ctx));
	*ctx = (struct ctx){.magic = DCU_IS_CTX,
		.device = device,
		.number = (uint32_t)message.a,
		.version = 3020,
		.units = n,
		.id = dcu_new_id(),
		.limits = {1024, 1 << 20, HEAP_BY_ITSELF, 2, 2048, 128, 0, 0}};
	pthread_mutex_init(&ctx->order.lock, NULL);
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->legacy =
		(struct stream){.magic = DCU_IS_STREAM, .ctx = ctx, .id = dcu_new_id()};
	ctx->rm_object = dcu_rm_open(device, ctx->number);
	ctx->legacy.slot = dgp_slot_open(ctx->number, DGP_SLOT_LEGACY, 0);
	*ret = ctx;
	return ctx->legacy.slot < 0 ? DCU_OUT_OF_MEMORY : 0;
}

struct ctx *dcu_ctx_whole(struct ctx *ctx)
{
	return ctx && ctx->primary ? ctx->primary : ctx;
}

bool dcu_ctx_is_related(struct ctx *a, struct ctx *b)
{
	return dcu_ctx_whole(a) == dcu_ctx_whole(b);
}

static struct place tail_of(const struct stream *s)
{
	return (struct place){s->slot, dgp_slot_tail(s->slot)};
}

size_t dcu_ctx_tails(struct ctx *ctx, struct place ret[DGP_SLOTS], size_t n)
{
	if (n < DGP_SLOTS)
		ret[n++] = tail_of(&ctx->legacy);
	pthread_mutex_lock(&ctx->lock);
	for (struct stream *s = ctx->streams; s && n < DGP_SLOTS; s = s->next)
		ret[n++] = tail_of(s);
	pthread_mutex_unlock(&ctx->lock);
	return n;
}

/* Waits for the commands submitted so far; those that other threads add meanwhile are not
 * waited for. */
int dcu_ctx_await(struct ctx *ctx)
{
	struct place all[DGP_SLOTS];
	size_t n = dcu_ctx_tails(ctx, all, 0);
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = dgp_await(all[i].slot, all[i].seq);
	return r;
}

int dcu_ctx_await_whole(struct ctx *ctx)
{
	int r = dcu_ctx_await(ctx);

	return r || !ctx->is_primary ? r : dcu_green_await(ctx->device);
}

/* A larger heap takes device memory at once. */
static int set_heap(struct ctx *ctx, size_t bytes)
{
	size_t least = HEAP_BY_ITSELF, before = ctx->limits[HEAP];
	size_t extra = bytes > least ? bytes - least : 0;
	size_t extra_before = before > least ? before - least : 0;
	int r = extra > extra_before ? dcu_take(ctx->device, extra - extra_before) : 0;

	if (r)
		return r;
	if (extra < extra_before)
		dcu_give(ctx->device, extra_before - extra);
	ctx->limits[HEAP] = bytes;
	return 0;
}

void dcu_ctx_end(struct ctx *ctx)
{
	struct dgp_message message = {.request = DGP_CONTEXT_FREE, .a = ctx->number};

	dcu_ctx_await(ctx);
	set_heap(ctx, 0);
	for (struct stream *s = ctx->streams; s; s = s->next)
		dgp_slot_close(s->slot);
	dgp_slot_close(ctx->legacy.slot);
	dcu_memory_leave(ctx);
	ctx->magic = DCU_DEAD;
	dcu_rm_close(ctx->rm_object);
	dgp_request(&message);
}

/* --- The primary one of a device --- */

int dcu_primary(struct device *device, struct ctx **ret)
{
	int r = 0;

	pthread_mutex_lock(&device->lock);
	if (!device->primary) {
		r = dcu_ctx_new(device, 0, &device->primary);
		if (!r) {
			device->primary->is_primary = true;
			device->primary->flags = device->primary_flags;
		}
	}
	if (!r) {
		device->primary_refs++;
		*ret = device->primary;
	}
	pthread_mutex_unlock(&device->lock);
	return r;
}

int dcu_cuDevicePrimaryCtxRetain(struct ctx **ret, int ordinal)
{
	struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	return ret ? dcu_primary(device, ret) : DCU_INVALID_VALUE;
}

static void end_primary(struct device *device)
{
	if (device->primary)
		dcu_ctx_end(device->primary);
	device->primary = NULL;
	device->primary_refs = 0;
}

int dcu_cuDevicePrimaryCtxRelease_v2(int ordinal)
{
	struct device *device = dcu_device_at(ordinal);
	int r = 0;

	if (!device)
		return DCU_INVALID_DEVICE;
	pthread_mutex_lock(&device->lock);
	if (!device->primary_refs)
		r = DCU_INVALID_CONTEXT;
	else if (!--device->primary_refs)
		end_primary(device);
	pthread_mutex_unlock(&device->lock);
	return r;
}

int dcu_cuDevicePrimaryCtxReset_v2(int ordinal)
{
	struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	pthread_mutex_lock(&device->lock);
	end_primary(device);
	pthread_mutex_unlock(&device->lock);
	return 0;
}

int dcu_cuDevicePrimaryCtxGetState(int ordinal, unsigned *flags, int *active)
{
	struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	if (flags)
		*flags = device->primary_flags;
	if (active)
		*active = device->primary != NULL;
	return 0;
}

/* --- Others --- */

static int push(struct ctx *ctx)
{
	struct thread *t = &dcu_thread;

	if (t->n == (int)(sizeof(t->stack) / sizeof(t->stack[0])))
		return DCU_INVALID_VALUE;
	t->stack[t->n++] = ctx;
	return 0;
}

static int create(
	struct ctx **ret, unsigned flags, int ordinal, uint32_t version, uint32_t units)
{
	struct device *device = dcu_device_at(ordinal);
	int r;

	if (!ret)
		return DCU_INVALID_VALUE;
	if (!device)
		return DCU_INVALID_DEVICE;
	r = dcu_ctx_new(device, units, ret);
	if (r)
		return r;
	(*ret)->flags = flags;
	(*ret)->version = version;
	return push(*ret);
}

int dcu_cuCtxCreate_v2(struct ctx **ret, unsigned flags, int ordinal)
{
	return create(ret, flags, ordinal, 3020, 0);
}

static bool is_affinity(const struct affinity *affinity, int n)
{
	return affinity && n > 0 && affinity->sm_count > 0;
}

static int create_with(struct ctx **ret, const struct affinity *affinity, int n,
	unsigned flags, int ordinal)
{
	if (!is_affinity(affinity, n))
		return create(ret, flags, ordinal, 3020, 0);
	if (!dcu_mps_is_client())
		return DCU_UNSUPPORTED_EXEC_AFFINITY;
	return create(ret, flags, ordinal, 3020, (uint32_t)affinity->sm_count);
}

int dcu_cuCtxGetExecAffinity(struct affinity *ret, int type)
{
	struct ctx *ctx = dcu_current();

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || type)
		return DCU_INVALID_VALUE;
	if (!dcu_mps_is_client())
		return DCU_UNSUPPORTED_EXEC_AFFINITY;
	*ret = (struct affinity){type, (int)ctx->units};
	return 0;
}

int dcu_cuCtxCreate_v3(
	struct ctx **ret, struct affinity *affinity, int n, unsigned flags, int ordinal)
{
	return create_with(ret, affinity, n, flags, ordinal);
}

int dcu_cuCtxCreate_v4(
	struct ctx **ret, struct create_params *params, unsigned flags, int ordinal)
{
	if (!params)
		return create(ret, flags, ordinal, 3020, 0);
	return create_with(ret, params->affinity, params->n_affinity, flags, ordinal);
}

int dcu_cuCtxDestroy_v2(struct ctx *ctx)
{
	struct thread *t = &dcu_thread;

	if (!ctx)
		return DCU_INVALID_VALUE;
	if (ctx->magic != DCU_IS_CTX || ctx->is_primary)
		return DCU_INVALID_CONTEXT;
	if (t->n && t->stack[t->n - 1] == ctx)
		t->n--;
	dcu_ctx_end(ctx);
	return 0;
}

int dcu_cuCtxPushCurrent_v2(struct ctx *ctx)
{
	if (!ctx)
		return DCU_INVALID_VALUE;
	return ctx->magic == DCU_IS_CTX ? push(ctx) : DCU_INVALID_CONTEXT;
}

int dcu_cuCtxPopCurrent_v2(struct ctx **ret)
{
	struct thread *t = &dcu_thread;

	if (!t->n)
		return DCU_INVALID_CONTEXT;
	t->n--;
	if (ret)
		*ret = t->stack[t->n];
	return 0;
}

int dcu_cuCtxSetCurrent(struct ctx *ctx)
{
	struct thread *t = &dcu_thread;

	if (ctx && ctx->magic != DCU_IS_CTX)
		return DCU_INVALID_CONTEXT;
	if (t->n)
		t->n--;
	return ctx ? push(ctx) : 0;
}

int dcu_cuCtxGetCurrent(struct ctx **ret)
{
	if (!ret)
		return DCU_INVALID_VALUE;
	*ret = dcu_current();
	return 0;
}

int dcu_cuCtxGetDevice(int *ret)
{
	struct ctx *ctx = dcu_current();

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	*ret = (int)(ctx->device - dcu_devices);
	return 0;
}

int dcu_cuCtxSynchronize(void)
{
	struct ctx *ctx = dcu_current();

	int r = dcu_capture_is_unsafe();

	if (r)
		return r;
	if (!ctx)
		return DCU_INVALID_CONTEXT;
	return dcu_ctx_await_whole(ctx);
}

int dcu_cuCtxGetLimit(size_t *ret, int limit)
{
	struct ctx *ctx = dcu_ctx_whole(dcu_current());

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (limit < 0 || limit >= 8)
		return DCU_INVALID_VALUE;
	*ret = ctx->limits[limit];
	return 0;
}

int dcu_cuCtxSetLimit(int limit, size_t value)
{
	struct ctx *ctx = dcu_ctx_whole(dcu_current());

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (limit < 0 || limit >= 8)
		return DCU_INVALID_VALUE;
	if (limit == HEAP)
		return set_heap(ctx, value);
	ctx->limits[limit] = value;
	return 0;
}
