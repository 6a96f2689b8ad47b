/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"
#include "functions.h"
#include "memory.h"
#include "pool.h"
#include <string.h>

/* The calls that came with CUDA 13, and batches of multi-dimensional copies. */

/* --- Pools by place --- */

static int ordinal_of(const struct location *location, int type, int *ret)
{
	if (!location || type != 1 || location->type != DCU_AT_DEVICE)
		return DCU_INVALID_VALUE;
	*ret = location->id;
	return 0;
}

int dcu_cuMemGetDefaultMemPool(struct pool **ret, struct location *location, int type)
{
	struct ctx *ctx = dcu_current();
	int ordinal, r;

	if (ctx && location && location->type == DCU_AT_HOST && type == 1) {
		*ret = dcu_host_pool(ctx->device);
		return 0;
	}
	r = ordinal_of(location, type, &ordinal);
	return r ? r : dcu_cuDeviceGetDefaultMemPool(ret, ordinal);
}

/* --- Batches of three-dimensional copies --- */

static struct copy_3d_side side_of(const struct batch_operand *o)
{
	struct copy_3d_side s = {.type = DCU_MEMORY_ARRAY};

	if (o->type == 2) {
		s.array = o->array.array;
		s.x = o->array.offset[0];
		s.y = o->array.offset[1];
		s.z = o->array.offset[2];
		return s;
	}
	s.type = DCU_MEMORY_UNIFIED;
	s.device = o->pointer.address;
	s.pitch = o->pointer.row;
	s.height = o->pointer.rows;
	return s;
}

int dcu_cuMemcpy3DBatchAsync_v2(size_t n, struct batch_copy *copies,
	unsigned long long flags, struct stream *handle)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!n || !copies || flags || s == &s->ctx->legacy)
		return DCU_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++) {
		struct copy_3d c = {side_of(&copies[i].src), side_of(&copies[i].dst),
			copies[i].extent[0], copies[i].extent[1], copies[i].extent[2]};
		struct transfer t;

		r = dcu_transfer_3d(&c, &t);
		r = r ? r : dcu_transfer_push(s, &t, true);
	}
	return r;
}

int dcu_cuMemcpy3DBatchAsync(size_t n, struct batch_copy *copies, size_t *ret_failed,
	unsigned long long flags, struct stream *stream)
{
	int r = dcu_cuMemcpy3DBatchAsync_v2(n, copies, flags, stream);

	if (r && ret_failed)
		*ret_failed = SIZE_MAX;
	return r;
}

/* --- Streams of green contexts --- */

int dcu_cuStreamGetCtx_v2(
	struct stream *handle, struct ctx **ret, struct green **ret_green)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	*ret_green = s->green;
	*ret = dcu_ctx_whole(s->ctx);
	return 0;
}

/* --- Calls with attributes --- */

int dcu_cuMemcpyWithAttributesAsync(uint64_t dst, uint64_t src, size_t n_bytes,
	void *attributes, struct stream *stream)
{
	size_t index = 0;

	return dcu_cuMemcpyBatchAsync_v2(
		&dst, &src, &n_bytes, 1, attributes, &index, 1, stream);
}

/* Of the ways to wait, blocking is the one of before. */
int dcu_cuLaunchHostFunc_v2(
	struct stream *handle, host_fn fn, void *user, unsigned sync_mode)
{
	return sync_mode > 1 ? DCU_INVALID_VALUE : dcu_cuLaunchHostFunc(handle, fn, user);
}
