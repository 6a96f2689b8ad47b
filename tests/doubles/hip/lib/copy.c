/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* The variants of the copy and fill calls. */

/* Pageable host memory: asynchronous copies block for it. */
static bool is_pageable(const void *p)
{
	struct memory memory;

	return !dhi_memory_find(p, &memory);
}

static bool is_on_device(const void *p)
{
	struct memory memory;

	return dhi_memory_find(p, &memory) &&
	       (dhi_is_device_memory(&memory) || memory.kind == MEMORY_MANAGED);
}

static int check(const struct copy_args *c, int kind)
{
	struct memory memory;
	size_t bytes = c->width * c->height * c->depth;

	if (kind < 0 || kind > 4)
		return HIP_INVALID_DIRECTION;
	if (!bytes)
		return 0;
	if (!c->dst || !c->src)
		return HIP_INVALID_VALUE;
	if (dhi_memory_find(c->dst, &memory) &&
		c->dst + c->width > memory.base + memory.bytes)
		return HIP_INVALID_VALUE;
	if (dhi_memory_find(c->src, &memory) &&
		c->src + c->width > memory.base + memory.bytes)
		return HIP_INVALID_VALUE;
	return 0;
}

static int copy(const struct copy_args *c, int kind, struct stream *handle, bool is_async)
{
	struct op op = {.kind = OP_COPY, .copy = *c};
	struct stream *s = dhi_stream(handle);
	int r = check(c, kind);

	if (!s)
		return HIP_INVALID_HANDLE;
	if (r || !c->width || !c->height || !c->depth)
		return r;
	if (is_async && (s->capture || (!is_pageable(c->dst) && !is_pageable(c->src))))
		return dhi_submit(s, &op);
	return dhi_submit_sync(s, &op);
}

static int linear(void *dst, const void *src, size_t bytes, int kind,
	struct stream *handle, bool is_async)
{
	struct copy_args c = {
		.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1};

	return copy(&c, kind, handle, is_async);
}

int dhi_hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
	return linear(dst, src, bytes, kind, NULL, false);
}

int dhi_hipMemcpyAsync(
	void *dst, const void *src, size_t bytes, int kind, struct stream *stream)
{
	return linear(dst, src, bytes, kind, stream, true);
}

int dhi_hipMemcpyWithStream(
	void *dst, const void *src, size_t bytes, int kind, struct stream *stream)
{
	return linear(dst, src, bytes, kind, stream, false);
}

/* Checks that the side that must be device memory is. */
static int driver(void *dst, const void *src, size_t bytes, const void *of_device,
	struct stream *stream, bool is_async)
{
	if (bytes && !is_on_device(of_device))
		return HIP_INVALID_VALUE;
	return linear(dst, src, bytes, HIP_ANY, stream, is_async);
}

int dhi_hipMemcpyHtoD(void *dst, void *src, size_t bytes)
{
	return driver(dst, src, bytes, dst, NULL, false);
}

int dhi_hipMemcpyDtoH(void *dst, void *src, size_t bytes)
{
	return driver(dst, src, bytes, src, NULL, false);
}

int dhi_hipMemcpyDtoD(void *dst, void *src, size_t bytes)
{
	return driver(dst, src, bytes, dst, NULL, false);
}

int dhi_hipMemcpyHtoDAsync(void *dst, void *src, size_t bytes, struct stream *stream)
{
	return driver(dst, src, bytes, dst, stream, true);
}

int dhi_hipMemcpyDtoHAsync(void *dst, void *src, size_t bytes, struct stream *stream)
{
	return driver(dst, src, bytes, src, stream, true);
}

int dhi_hipMemcpyDtoDAsync(void *dst, void *src, size_t bytes, struct stream *stream)
{
	return driver(dst, src, bytes, dst, stream, true);
}

int dhi_hipMemcpyPeer(
	void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	if (!dhi_device_at(dst_device) || !dhi_device_at(src_device))
		return HIP_INVALID_DEVICE;
	return linear(dst, src, bytes, HIP_ANY, NULL, false);
}

int dhi_hipMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
	size_t bytes, struct stream *stream)
{
	if (!dhi_device_at(dst_device) || !dhi_device_at(src_device))
		return HIP_INVALID_DEVICE;
	return linear(dst, src, bytes, HIP_ANY, stream, true);
}

/* --- Two and three dimensions --- */

static int rows(const struct copy_args *c, int kind, struct stream *stream, bool is_async)
{
	if (c->dst_pitch < c->width || c->src_pitch < c->width)
		return 12; /* the pitch is invalid */
	return copy(c, kind, stream, is_async);
}

int dhi_hipMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	size_t width, size_t height, int kind)
{
	struct copy_args c = {dst, src, dst_pitch, 0, src_pitch, 0, width, height, 1};

	return rows(&c, kind, NULL, false);
}

int dhi_hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	size_t width, size_t height, int kind, struct stream *stream)
{
	struct copy_args c = {dst, src, dst_pitch, 0, src_pitch, 0, width, height, 1};

	return rows(&c, kind, stream, true);
}

/* --- Filling --- */

static int fill(const struct fill_args *f, struct stream *handle, bool is_async)
{
	struct op op = {.kind = OP_FILL, .fill = *f};
	struct stream *s = dhi_stream(handle);
	size_t bytes = f->width * f->height * f->depth;
	struct memory memory;

	if (!s)
		return HIP_INVALID_HANDLE;
	if (!bytes)
		return 0;
	if (!dhi_memory_find(f->dst, &memory) ||
		f->dst + f->width > memory.base + memory.bytes)
		return HIP_INVALID_VALUE;
	/* As in the real runtime: no call waits for a fill of device memory. */
	if (!is_async && memory.kind == MEMORY_HOST)
		return dhi_submit_sync(s, &op);
	return dhi_submit(s, &op);
}

static int fill_row(void *dst, uint32_t value, uint32_t element, size_t count,
	struct stream *stream, bool is_async)
{
	struct fill_args f = {.dst = dst,
		.width = count * element,
		.height = 1,
		.depth = 1,
		.value = value,
		.element = element};

	return fill(&f, stream, is_async);
}

int dhi_hipMemset(void *dst, int value, size_t bytes)
{
	return fill_row(dst, (uint32_t)value, 1, bytes, NULL, false);
}

int dhi_hipMemsetAsync(void *dst, int value, size_t bytes, struct stream *stream)
{
	return fill_row(dst, (uint32_t)value, 1, bytes, stream, true);
}

#define FILLS(suffix, type, bytes)                                                 \
	int dhi_hipMemset##suffix(void *dst, type value, size_t count)             \
	{                                                                          \
		return fill_row(dst, (uint32_t)value, bytes, count, NULL, false);  \
	}                                                                          \
	int dhi_hipMemset##suffix##Async(                                          \
		void *dst, type value, size_t count, struct stream *stream)        \
	{                                                                          \
		return fill_row(dst, (uint32_t)value, bytes, count, stream, true); \
	}

FILLS(D8, unsigned char, 1)
FILLS(D16, unsigned short, 2)
FILLS(D32, int, 4)

int dhi_hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
	struct stream *stream)
{
	struct fill_args f = {dst, pitch, 0, width, height, 1, (uint32_t)value, 1};

	return fill(&f, stream, true);
}

int dhi_hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
	return dhi_hipMemset2DAsync(dst, pitch, value, width, height, NULL);
}

int dhi_hipMemset3DAsync(
	struct pitched dst, int value, struct extent extent, struct stream *stream)
{
	struct fill_args f = {dst.p, dst.pitch, dst.pitch * dst.height, extent.width,
		extent.height, extent.depth, (uint32_t)value, 1};

	return fill(&f, stream, true);
}

int dhi_hipMemset3D(struct pitched dst, int value, struct extent extent)
{
	return dhi_hipMemset3DAsync(dst, value, extent, NULL);
}

int dhi_hipMemcpyLater(void *dst, void *src, size_t bytes)
{
	return dhi_hipMemcpyDtoD(dst, src, bytes);
}
