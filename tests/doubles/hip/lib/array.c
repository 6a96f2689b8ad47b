/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>

/* Arrays: rows of device memory, one HSA allocation each; and the copies with arrays. */

struct array {
	void *data; /* the first field, as programs of ROCm 5 know it */
	struct channels channels;
	uint32_t type, width, height, depth;
	int format;
	uint32_t n_channels;
	uint32_t magic;
	struct device *device;
	size_t pitch, bytes;
};

struct mipmap {
	uint32_t magic, levels;
	struct array *arrays[16];
};

struct shape {
	size_t width, height, depth, element;
	unsigned layers;
};

static bool is_array(const struct array *array)
{
	return array && array->magic == IS_ARRAY;
}

static size_t at_least(size_t value, size_t least)
{
	return value > least ? value : least;
}

static int make(struct array **ret, const struct shape *shape)
{
	size_t rows = at_least(shape->height, 1) * at_least(shape->depth, 1);
	struct array *array;
	struct memory memory = {.kind = MEMORY_DEVICE, .device = dhi_current()};
	void *p;
	int r = dhi_capture_is_unsafe();

	if (r)
		return r;
	if (!ret || !shape->width || !shape->element)
		return HIP_INVALID_VALUE;
	array = calloc(1, sizeof(*array));
	array->pitch = (shape->width * shape->element + 255) / 256 * 256;
	array->bytes = array->pitch * rows;
	r = dhi_take(memory.device, memory.device->coarse, array->bytes, &p);
	if (r) {
		free(array);
		return r;
	}
	memory.base = array->data = p;
	memory.bytes = array->bytes;
	dhi_memory_add(&memory);
	array->magic = IS_ARRAY;
	array->device = memory.device;
	array->width = (uint32_t)shape->width;
	array->height = (uint32_t)shape->height;
	array->depth = (uint32_t)shape->depth;
	*ret = array;
	return 0;
}

static size_t element_of(const struct channels *channels)
{
	int bits = 0;

	for (int i = 0; i < 4; i++)
		bits += channels->bits[i];
	return (size_t)bits / 8;
}

/* The numbers of the formats give the size of a channel. */
static size_t element_of_format(int format, unsigned channels)
{
	static const struct {
		int format;
		size_t bytes;
	} formats[] = {{0x01, 1}, {0x02, 2}, {0x03, 4}, {0x08, 1}, {0x09, 2}, {0x0a, 4},
		{0x10, 2}, {0x20, 4}};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].format == format)
			return formats[i].bytes * channels;
	return 0;
}

int dhi_hipMallocArray(struct array **ret, const struct channels *channels, size_t width,
	size_t height, unsigned flags)
{
	struct shape shape = {width, height, 0, channels ? element_of(channels) : 0, 0};
	int r = make(ret, &shape);

	if (!r)
		(*ret)->channels = *channels;
	return r;
}

int dhi_hipMalloc3DArray(struct array **ret, const struct channels *channels,
	struct extent extent, unsigned flags)
{
	struct shape shape = {extent.width, extent.height, extent.depth,
		channels ? element_of(channels) : 0, 0};
	int r = make(ret, &shape);

	if (!r)
		(*ret)->channels = *channels;
	return r;
}

int dhi_hipArray3DCreate(struct array **ret, const struct array_3d_desc *d)
{
	struct shape shape = {0};
	int r;

	if (!d)
		return HIP_INVALID_VALUE;
	shape = (struct shape){d->width, d->height, d->depth,
		element_of_format(d->format, d->channels), 0};
	r = make(ret, &shape);
	if (!r) {
		(*ret)->format = d->format;
		(*ret)->n_channels = d->channels;
	}
	return r;
}

int dhi_hipFreeArray(struct array *array)
{
	struct memory memory;

	if (!is_array(array))
		return array ? HIP_INVALID_HANDLE : HIP_INVALID_VALUE;
	dhi_device_await(array->device);
	if (dhi_memory_remove(array->data, &memory))
		dhi_give(array->device, array->data, array->bytes);
	array->magic = 0;
	return 0;
}

int dhi_hipArrayDestroy(struct array *array)
{
	return dhi_hipFreeArray(array);
}

/* --- Mip-maps: an array for each level --- */

static int make_levels(struct mipmap **ret, struct shape shape, unsigned levels)
{
	struct mipmap *m;
	int r = ret && levels && levels <= 16 ? 0 : HIP_INVALID_VALUE;

	if (r)
		return r;
	m = calloc(1, sizeof(*m));
	m->magic = IS_ARRAY;
	for (; m->levels < levels && !r; m->levels++) {
		r = make(&m->arrays[m->levels], &shape);
		shape.width = at_least(shape.width / 2, 1);
		shape.height = shape.height ? at_least(shape.height / 2, 1) : 0;
		shape.depth = shape.depth ? at_least(shape.depth / 2, 1) : 0;
	}
	if (!r) {
		*ret = m;
		return 0;
	}
	for (unsigned i = 0; i + 1 < m->levels; i++)
		dhi_hipFreeArray(m->arrays[i]);
	free(m);
	return r;
}

int dhi_hipMallocMipmappedArray(struct mipmap **ret, const struct channels *channels,
	struct extent extent, unsigned levels, unsigned flags)
{
	struct shape shape = {extent.width, extent.height, extent.depth,
		channels ? element_of(channels) : 0, 0};

	return make_levels(ret, shape, levels);
}

int dhi_hipFreeMipmappedArray(struct mipmap *m)
{
	if (!m || m->magic != IS_ARRAY)
		return HIP_INVALID_VALUE;
	for (unsigned i = 0; i < m->levels; i++)
		dhi_hipFreeArray(m->arrays[i]);
	m->magic = 0;
	return 0;
}

int dhi_hipGetMipmappedArrayLevel(
	struct array **ret, const struct mipmap *m, unsigned level)
{
	if (!ret || !m || m->magic != IS_ARRAY || level >= m->levels)
		return HIP_INVALID_VALUE;
	*ret = m->arrays[level];
	return 0;
}

/* --- Copies --- */

/* A place in an array, or behind a pitched pointer. */
static bool place(const struct array *array, const struct pitched *p,
	const struct position *at, size_t element, char **ret, size_t *pitch,
	size_t *slice)
{
	if (array && !is_array(array))
		return false;
	*ret = array ? array->data : p->p;
	*pitch = array ? array->pitch : p->pitch;
	*slice = array ? array->pitch * at_least(array->height, 1) : p->pitch * p->height;
	*ret += at->x * (array ? element : 1) + at->y * *pitch + at->z * *slice;
	return *ret;
}

/* With an array, the width counts elements. */
int dhi_copy_3d_args(const struct copy_3d *c, struct copy_args *ret)
{
	const struct array *array;
	size_t element = 1;
	char *src;

	if (!c || c->kind < 0 || c->kind > 4)
		return HIP_INVALID_VALUE;
	array = c->src_array ? c->src_array : c->dst_array;
	if (array && is_array(array) && array->format)
		element = element_of_format(array->format, array->n_channels);
	else if (array && is_array(array))
		element = element_of(&array->channels);
	*ret = (struct copy_args){.width = c->extent.width * element,
		.height = c->extent.height,
		.depth = c->extent.depth};
	if (!place(c->src_array, &c->src, &c->src_at, element, &src, &ret->src_pitch,
		    &ret->src_slice) ||
		!place(c->dst_array, &c->dst, &c->dst_at, element, &ret->dst,
			&ret->dst_pitch, &ret->dst_slice))
		return HIP_INVALID_VALUE;
	ret->src = src;
	return 0;
}

static int copy(const struct copy_args *args, struct stream *handle, bool is_async)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_COPY, .copy = *args};
	struct memory memory;

	if (!s)
		return HIP_INVALID_HANDLE;
	if (is_async && (s->capture || (dhi_memory_find(args->dst, &memory) &&
					       dhi_memory_find(args->src, &memory))))
		return dhi_submit(s, &op);
	return dhi_submit_sync(s, &op);
}

static int copy_3d(const struct copy_3d *c, struct stream *stream, bool is_async)
{
	struct copy_args args;
	int r = dhi_copy_3d_args(c, &args);

	return r ? r : copy(&args, stream, is_async);
}

int dhi_hipMemcpy3D(const struct copy_3d *c)
{
	return copy_3d(c, NULL, false);
}

int dhi_hipMemcpy3DAsync(const struct copy_3d *c, struct stream *stream)
{
	return copy_3d(c, stream, true);
}

/* Rows between memory and an array; x counts bytes. */
static int with_array(const struct array *array, size_t x, size_t y, char *memory,
	size_t pitch, size_t width, size_t height, struct stream *stream, bool to_array,
	bool is_async)
{
	struct copy_args args = {.width = width, .height = height, .depth = 1};
	char *in;

	if (!is_array(array) || !memory)
		return HIP_INVALID_VALUE;
	in = (char *)array->data + y * array->pitch + x;
	args.dst = to_array ? in : memory;
	args.src = to_array ? memory : in;
	args.dst_pitch = to_array ? array->pitch : pitch;
	args.src_pitch = to_array ? pitch : array->pitch;
	return copy(&args, stream, is_async);
}

int dhi_hipMemcpy2DToArray(struct array *dst, size_t x, size_t y, const void *src,
	size_t pitch, size_t width, size_t height, int kind)
{
	return with_array(dst, x, y, (char *)(uintptr_t)src, pitch, width, height, NULL,
		true, false);
}

int dhi_hipMemcpy2DToArrayAsync(struct array *dst, size_t x, size_t y, const void *src,
	size_t pitch, size_t width, size_t height, int kind, struct stream *stream)
{
	return with_array(dst, x, y, (char *)(uintptr_t)src, pitch, width, height, stream,
		true, true);
}

int dhi_hipMemcpy2DFromArray(void *dst, size_t pitch, const struct array *src, size_t x,
	size_t y, size_t width, size_t height, int kind)
{
	return with_array(src, x, y, dst, pitch, width, height, NULL, false, false);
}

int dhi_hipMemcpy2DFromArrayAsync(void *dst, size_t pitch, const struct array *src,
	size_t x, size_t y, size_t width, size_t height, int kind, struct stream *stream)
{
	return with_array(src, x, y, dst, pitch, width, height, stream, false, true);
}

/* --- By the driver's names --- */

static bool side(int type, const void *host, const void *device,
	const struct array *array, size_t x, size_t y, size_t pitch, char **ret,
	size_t *ret_pitch)
{
	const void *base = type == HIP_MEMORY_HOST ? host : device;

	if (type == HIP_MEMORY_ARRAY && !is_array(array))
		return false;
	if (type == HIP_MEMORY_ARRAY)
		base = array->data;
	*ret_pitch = type == HIP_MEMORY_ARRAY ? array->pitch : pitch;
	*ret = (char *)(uintptr_t)base + y * *ret_pitch + x;
	return base;
}

static int copy_2d(const struct copy_2d *c, struct stream *stream, bool is_async)
{
	struct copy_args args = {.depth = 1};
	char *src;

	if (!c ||
		!side(c->src_type, c->src_host, c->src_device, c->src_array, c->src_x,
			c->src_y, c->src_pitch, &src, &args.src_pitch) ||
		!side(c->dst_type, c->dst_host, c->dst_device, c->dst_array, c->dst_x,
			c->dst_y, c->dst_pitch, &args.dst, &args.dst_pitch))
		return HIP_INVALID_VALUE;
	args.src = src;
	args.width = c->width;
	args.height = c->height;
	return copy(&args, stream, is_async);
}

int dhi_hipMemcpyParam2D(const struct copy_2d *c)
{
	return copy_2d(c, NULL, false);
}

int dhi_hipMemcpyParam2DAsync(const struct copy_2d *c, struct stream *stream)
{
	return copy_2d(c, stream, true);
}
