/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"
#include "functions.h"
#include "memory.h"

/* The variants of the copy and fill calls. */

static uint64_t address_of(const void *host)
{
	return (uint64_t)(uintptr_t)host;
}

static int push(struct stream *handle, struct transfer *t, int r, bool is_async)
{
	int why;
	struct stream *s = dcu_stream(handle, &why);

	if (!r && s)
		return dcu_transfer_push(s, t, is_async);
	if (!r)
		dgp_effect_free(t->effect);
	return s ? r : why;
}

static int copy(
	uint64_t dst, uint64_t src, size_t bytes, struct stream *stream, bool is_async)
{
	struct transfer t;
	int r;

	if (!bytes)
		return dcu_current() ? 0 : DCU_INVALID_CONTEXT;
	r = dcu_transfer_1d(dst, src, bytes, &t);
	return push(stream, &t, r, is_async);
}

/* One side must be device memory. */
static int copy_between(uint64_t dst, uint64_t src, size_t bytes, struct stream *stream,
	bool is_async, uint64_t device)
{
	struct block block;

	if (bytes && !dcu_is_device_address(device) && !dcu_block_find(device, &block))
		return dcu_current() ? DCU_INVALID_VALUE : DCU_INVALID_CONTEXT;
	return copy(dst, src, bytes, stream, is_async);
}

int dcu_cuMemcpy(uint64_t dst, uint64_t src, size_t bytes)
{
	return copy(dst, src, bytes, NULL, false);
}

int dcu_cuMemcpyAsync(uint64_t dst, uint64_t src, size_t bytes, struct stream *stream)
{
	return copy(dst, src, bytes, stream, true);
}

int dcu_cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	return copy_between(dst, address_of(src), bytes, NULL, false, dst);
}

int dcu_cuMemcpyHtoDAsync_v2(
	uint64_t dst, const void *src, size_t bytes, struct stream *stream)
{
	return copy_between(dst, address_of(src), bytes, stream, true, dst);
}

int dcu_cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes)
{
	return copy_between(address_of(dst), src, bytes, NULL, false, src);
}

int dcu_cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t bytes, struct stream *stream)
{
	return copy_between(address_of(dst), src, bytes, stream, true, src);
}

int dcu_cuMemcpyDtoD_v2(uint64_t dst, uint64_t src, size_t bytes)
{
	return copy_between(dst, src, bytes, NULL, false, dst);
}

int dcu_cuMemcpyDtoDAsync_v2(
	uint64_t dst, uint64_t src, size_t bytes, struct stream *stream)
{
	return copy_between(dst, src, bytes, stream, true, dst);
}

int dcu_cuMemcpyPeer(uint64_t dst, struct ctx *dst_ctx, uint64_t src, struct ctx *src_ctx,
	size_t bytes)
{
	return copy(dst, src, bytes, NULL, false);
}

int dcu_cuMemcpyPeerAsync(uint64_t dst, struct ctx *dst_ctx, uint64_t src,
	struct ctx *src_ctx, size_t bytes, struct stream *stream)
{
	return copy(dst, src, bytes, stream, true);
}

static int copy_2d(const struct copy_2d *c, struct stream *stream, bool is_async)
{
	struct transfer t;
	int r = dcu_transfer_2d(c, &t);

	return push(stream, &t, r, is_async);
}

int dcu_cuMemcpy2D_v2(const struct copy_2d *c)
{
	return copy_2d(c, NULL, false);
}

int dcu_cuMemcpy2DUnaligned_v2(const struct copy_2d *c)
{
	return copy_2d(c, NULL, false);
}

int dcu_cuMemcpy2DAsync_v2(const struct copy_2d *c, struct stream *stream)
{
	return copy_2d(c, stream, true);
}

static int copy_3d(const struct copy_3d *c, struct stream *stream, bool is_async)
{
	struct transfer t;
	int r = dcu_transfer_3d(c, &t);

	return push(stream, &t, r, is_async);
}

int dcu_cuMemcpy3D_v2(const struct copy_3d *c)
{
	return copy_3d(c, NULL, false);
}

int dcu_cuMemcpy3DAsync_v2(const struct copy_3d *c, struct stream *stream)
{
	return copy_3d(c, stream, true);
}

int dcu_cuMemcpy3DPeer(const struct copy_3d *c)
{
	return copy_3d(c, NULL, false);
}

int dcu_cuMemcpy3DPeerAsync(const struct copy_3d *c, struct stream *stream)
{
	return copy_3d(c, stream, true);
}

/* --- Filling --- */

struct fill {
	uint64_t dst;
	size_t pitch, width, height;
	uint32_t value;
	unsigned element;
};

static int fill(const struct fill *f, struct stream *stream)
{
	struct transfer t;
	int r;

	if (!f->width || !f->height)
		return dcu_current() ? 0 : DCU_INVALID_CONTEXT;
	r = dcu_transfer_fill(
		f->dst, f->pitch, f->value, f->element, f->width, f->height, &t);
	return push(stream, &t, r, true);
}

#define FILLS(suffix, type, bytes)                                                      \
	int dcu_cuMemsetD##suffix##_v2(uint64_t dst, type value, size_t n)              \
	{                                                                               \
		return fill(&(struct fill){dst, 0, n, 1, value, bytes}, NULL);          \
	}                                                                               \
	int dcu_cuMemsetD##suffix##Async(                                               \
		uint64_t dst, type value, size_t n, struct stream *stream)              \
	{                                                                               \
		return fill(&(struct fill){dst, 0, n, 1, value, bytes}, stream);        \
	}                                                                               \
	int dcu_cuMemsetD2D##suffix##_v2(                                               \
		uint64_t dst, size_t pitch, type value, size_t width, size_t height)    \
	{                                                                               \
		return fill(                                                            \
			&(struct fill){dst, pitch, width, height, value, bytes}, NULL); \
	}                                                                               \
	int dcu_cuMemsetD2D##suffix##Async(uint64_t dst, size_t pitch, type value,      \
		size_t width, size_t height, struct stream *stream)                     \
	{                                                                               \
		return fill(&(struct fill){dst, pitch, width, height, value, bytes},    \
			stream);                                                        \
	}

FILLS(8, unsigned char, 1)
FILLS(16, unsigned short, 2)
FILLS(32, unsigned, 4)
