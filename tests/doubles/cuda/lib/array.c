/* SPDX-License-Identifier: Apache-2.0 */
#include "array.h"
#include "copy.h"
#include "functions.h"
#include <stdlib.h>
#include <string.h>

#define UNIT 65536ULL

struct mipmap {
	uint32_t magic;
	struct ctx *ctx;
	struct block block;
	struct array levels[16];
	unsigned n_levels;
	size_t bytes;
	bool has_memory;
};

static bool is_array(const struct array *a)
{
	return a && a->magic == DCU_IS_ARRAY;
}

static bool is_mipmap(const struct mipmap *m)
{
	return m && m->magic == DCU_IS_MIPMAP;
}

/* Of one channel; 0 for a format that is not known. */
static size_t channel_bytes(uint32_t format)
{
	static const struct {
		uint32_t format;
		size_t bytes;
	} formats[] = {{0x01, 1}, {0x02, 2}, {0x03, 4}, {0x08, 1}, {0x09, 2}, {0x0a, 4},
		{0x10, 2}, {0x20, 4}};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].format == format)
			return formats[i].bytes;
	return 0;
}

static size_t at_least_one(size_t n)
{
	return n ? n : 1;
}

static bool lay_out(struct array *a, const struct array3d_shape *shape)
{
	size_t channel = channel_bytes(shape->format);

	if (!channel || !shape->width ||
		(shape->channels != 1 && shape->channels != 2 && shape->channels != 4))
		return false;
	a->shape = *shape;
	a->element = channel * shape->channels;
	a->pitch = shape->width * a->element;
	a->slice = a->pitch * at_least_one(shape->height);
	a->bytes = a->slice * at_least_one(shape->depth);
	return true;
}

static size_t padded(size_t bytes)
{
	return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* --- Arrays --- */

int dcu_cuArray3DCreate_v2(struct array **ret, const struct array3d_shape *shape)
{
	struct ctx *ctx = dcu_current();
	struct array *a;
	int r = 0;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || !shape)
		return DCU_INVALID_VALUE;
	a = calloc(1, sizeof(*a));
	a->magic = DCU_IS_ARRAY;
	a->ctx = ctx;
	a->has_memory = !(shape->flags & DCU_ARRAY_DEFERRED);
	if (!lay_out(a, shape))
		r = DCU_INVALID_VALUE;
	else if (a->has_memory)
		r = dcu_block_new(ctx, padded(a->bytes), &a->block);
	if (r) {
		free(a);
		return r;
	}
	/* The block is in the table so that the context's end frees it; programs do not
	 * get its address. */
	if (a->has_memory)
		dcu_block_add(&a->block);
	a->host = a->block.host;
	*ret = a;
	return 0;
}

int dcu_cuArrayCreate_v2(struct array **ret, const struct array_shape *shape)
{
	struct array3d_shape wide;

	if (!shape)
		return DCU_INVALID_VALUE;
	wide = (struct array3d_shape){.width = shape->width,
		.height = shape->height,
		.format = shape->format,
		.channels = shape->channels};
	return dcu_cuArray3DCreate_v2(ret, &wide);
}

static void drop(struct ctx *ctx, bool has_memory, uint64_t address)
{
	struct block block;

	if (ctx->magic == DCU_IS_CTX)
		dcu_ctx_await(ctx);
	if (has_memory && dcu_block_remove(address, &block))
		dcu_block_free(&block);
}

int dcu_cuArrayDestroy(struct array *a)
{
	if (!is_array(a) || a->is_level)
		return DCU_INVALID_HANDLE;
	a->magic = DCU_DEAD;
	drop(a->ctx, a->has_memory, a->block.address);
	return 0;
}

static int requirements_of(size_t bytes, bool has_memory, struct requirements *ret)
{
	/* The vendor answers only for arrays whose memory is mapped later. */
	if (has_memory || !ret)
		return DCU_INVALID_VALUE;
	*ret = (struct requirements){.bytes = padded(bytes), .alignment = UNIT};
	return 0;
}

int dcu_cuArrayGetMemoryRequirements(
	struct requirements *ret, struct array *a, int ordinal)
{
	if (!is_array(a))
		return DCU_INVALID_HANDLE;
	return requirements_of(a->bytes, a->has_memory, ret);
}

/* --- Mip-maps --- */

int dcu_cuMipmappedArrayCreate(
	struct mipmap **ret, const struct array3d_shape *shape, unsigned n_levels)
{
	struct ctx *ctx = dcu_current();
	struct array3d_shape level;
	struct mipmap *m;
	int r = 0;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || !shape || !n_levels || n_levels > 16)
		return DCU_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	m->magic = DCU_IS_MIPMAP;
	m->ctx = ctx;
	m->n_levels = n_levels;
	m->has_memory = !(shape->flags & DCU_ARRAY_DEFERRED);
	level = *shape;
	for (unsigned i = 0; i < n_levels && !r; i++) {
		r = lay_out(&m->levels[i], &level) ? 0 : DCU_INVALID_VALUE;
		m->bytes += m->levels[i].bytes;
		level.width = at_least_one(level.width / 2);
		level.height = level.height ? at_least_one(level.height / 2) : 0;
		if (!(level.flags & DCU_ARRAY_LAYERED) && level.depth)
			level.depth = at_least_one(level.depth / 2);
	}
	if (!r && m->has_memory)
		r = dcu_block_new(ctx, padded(m->bytes), &m->block);
	if (r) {
		free(m);
		return r;
	}
	if (m->has_memory)
		dcu_block_add(&m->block);
	*ret = m;
	return 0;
}

int dcu_cuMipmappedArrayDestroy(struct mipmap *m)
{
	if (!is_mipmap(m))
		return DCU_INVALID_HANDLE;
	m->magic = DCU_DEAD;
	for (unsigned i = 0; i < m->n_levels; i++)
		m->levels[i].magic = DCU_DEAD;
	drop(m->ctx, m->has_memory, m->block.address);
	return 0;
}

/* --- Copies --- */

int dcu_array_side(const struct copy_3d_side *side, const struct copy_3d *c,
	char **ret_at, size_t *ret_pitch, size_t *ret_slice)
{
	const struct array *a = side->array;

	if (!is_array(a) || !a->host)
		return DCU_INVALID_HANDLE;
	if (side->x + c->width > a->pitch ||
		side->y + c->height > at_least_one(a->shape.height) ||
		side->z + c->depth > at_least_one(a->shape.depth))
		return DCU_INVALID_VALUE;
	*ret_at = a->host + side->z * a->slice + side->y * a->pitch + side->x;
	*ret_pitch = a->pitch;
	*ret_slice = a->slice;
	return 0;
}

/* A side within one row, from an offset in bytes. */
static struct copy_3d_side in_array(struct array *a, size_t offset)
{
	return (struct copy_3d_side){.type = DCU_MEMORY_ARRAY, .array = a, .x = offset};
}

static struct copy_3d_side at_address(uint64_t address)
{
	return (struct copy_3d_side){.type = DCU_MEMORY_UNIFIED, .device = address};
}

static int copy_row(struct copy_3d_side dst, struct copy_3d_side src, size_t bytes,
	struct stream *handle, bool is_async)
{
	struct copy_3d c = {src, dst, bytes, 1, 1};
	struct transfer t;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	r = dcu_transfer_3d(&c, &t);
	return r ? r : dcu_transfer_push(s, &t, is_async);
}

int dcu_cuMemcpyDtoA_v2(struct array *dst, size_t offset, uint64_t src, size_t bytes)
{
	return copy_row(in_array(dst, offset), at_address(src), bytes, NULL, false);
}

int dcu_cuMemcpyAtoD_v2(uint64_t dst, struct array *src, size_t offset, size_t bytes)
{
	return copy_row(at_address(dst), in_array(src, offset), bytes, NULL, false);
}

int dcu_cuMemcpyHtoA_v2(struct array *dst, size_t offset, const void *src, size_t bytes)
{
	return copy_row(in_array(dst, offset), at_address((uint64_t)(uintptr_t)src),
		bytes, NULL, false);
}

int dcu_cuMemcpyAtoH_v2(void *dst, struct array *src, size_t offset, size_t bytes)
{
	return copy_row(at_address((uint64_t)(uintptr_t)dst), in_array(src, offset),
		bytes, NULL, false);
}

int dcu_cuMemcpyAtoA_v2(struct array *dst, size_t dst_offset, struct array *src,
	size_t src_offset, size_t bytes)
{
	return copy_row(
		in_array(dst, dst_offset), in_array(src, src_offset), bytes, NULL, false);
}

int dcu_cuMemcpyHtoAAsync_v2(struct array *dst, size_t offset, const void *src,
	size_t bytes, struct stream *stream)
{
	return copy_row(in_array(dst, offset), at_address((uint64_t)(uintptr_t)src),
		bytes, stream, true);
}

int dcu_cuMemcpyAtoHAsync_v2(
	void *dst, struct array *src, size_t offset, size_t bytes, struct stream *stream)
{
	return copy_row(at_address((uint64_t)(uintptr_t)dst), in_array(src, offset),
		bytes, stream, true);
}
