/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/helper.h"
#include "array.h"
#include "capture.h"
#include "copy.h"
#include "memory.h"
#include <stdlib.h>
#include <string.h>

/* Converts the API's parameters into rows of bytes, and pushes them to a stream. */

#define STAGED_MAX 65536 /* the driver stages up to this before the call returns */

static void note_sides(struct transfer *t, uint64_t dst, uint64_t src)
{
	t->to_device = dcu_is_device_address(dst);
	t->from_device = dcu_is_device_address(src);
	t->pageable = dcu_is_pageable(dst) || dcu_is_pageable(src);
}

static struct copy_3d_side at_address(uint64_t address)
{
	return (struct copy_3d_side){.type = DCU_MEMORY_UNIFIED, .device = address};
}

int dcu_transfer_1d(uint64_t dst, uint64_t src, size_t bytes, struct transfer *ret)
{
	char *to = dcu_resolve(dst, bytes), *from = dcu_resolve(src, bytes);

	if (!to || !from)
		return DCU_INVALID_VALUE;
	*ret = (struct transfer){
		.effect = dgp_effect_copy(to, from, bytes), .bytes = bytes};
	ret->copy = (struct copy_3d){at_address(src), at_address(dst), bytes, 1, 1};
	note_sides(ret, dst, src);
	return 0;
}

int dcu_transfer_fill(uint64_t dst, size_t pitch, uint32_t value, unsigned element,
	size_t width, size_t height, struct transfer *ret)
{
	size_t row = width * element;
	char *to;

	if (dst % element || (height > 1 && pitch < row))
		return DCU_INVALID_VALUE;
	to = dcu_resolve(dst, height ? pitch * (height - 1) + row : 0);
	if (!to)
		return DCU_INVALID_VALUE;
	*ret = (struct transfer){.effect = dgp_effect_fill(to, value, element, width),
		.bytes = row * height};
	ret->effect->height = height;
	ret->effect->dst_pitch = pitch;
	ret->to_device = ret->from_device = true;
	ret->is_set = true;
	ret->set = (struct set_params){dst, pitch, value, element, width, height};
	return 0;
}

/* --- More dimensions --- */

struct side {
	uint64_t address;
	char *at;
	size_t pitch, slice;
};

static int find_side(
	const struct copy_3d_side *s, const struct copy_3d *c, struct side *ret)
{
	size_t height = s->height ? s->height : c->height;
	size_t start, bytes;

	if (s->type == DCU_MEMORY_ARRAY)
		return dcu_array_side(s, c, &ret->at, &ret->pitch, &ret->slice);
	if (s->type < DCU_MEMORY_HOST || s->type > DCU_MEMORY_UNIFIED)
		return DCU_INVALID_VALUE;
	ret->address =
		s->type == DCU_MEMORY_HOST ? (uint64_t)(uintptr_t)s->host : s->device;
	ret->pitch = s->pitch ? s->pitch : c->width;
	if (ret->pitch < c->width || s->x + c->width > ret->pitch + s->x)
		return DCU_INVALID_VALUE;
	ret->slice = ret->pitch * height;
	start = s->z * ret->slice + s->y * ret->pitch + s->x;
	bytes = (c->depth - 1) * ret->slice + (c->height - 1) * ret->pitch + c->width;
	ret->address += start;
	ret->at = dcu_resolve(ret->address, bytes);
	return ret->at ? 0 : DCU_INVALID_VALUE;
}

int dcu_transfer_3d(const struct copy_3d *c, struct transfer *ret)
{
	struct side dst = {.address = DCU_DEVICE_BASE}, src = dst;
	int r;

	if (!c)
		return DCU_INVALID_VALUE;
	*ret = (struct transfer){.copy = *c};
	if (!c->width || !c->height || !c->depth) {
		ret->effect = dgp_effect_new();
		ret->to_device = ret->from_device = true;
		return 0;
	}
	r = find_side(&c->dst, c, &dst);
	r = r ? r : find_side(&c->src, c, &src);
	if (r)
		return r;
	ret->bytes = c->width * c->height * c->depth;
	ret->effect = dgp_effect_copy(dst.at, src.at, c->width);
	ret->effect->height = c->height;
	ret->effect->depth = c->depth;
	ret->effect->dst_pitch = dst.pitch;
	ret->effect->src_pitch = src.pitch;
	ret->effect->dst_slice = dst.slice;
	ret->effect->src_slice = src.slice;
	note_sides(ret, dst.address, src.address);
	return 0;
}

static struct copy_3d_side widen(const struct copy_2d_side *s)
{
	return (struct copy_3d_side){.x = s->x,
		.y = s->y,
		.type = s->type,
		.host = s->host,
		.device = s->device,
		.array = s->array,
		.pitch = s->pitch};
}

int dcu_transfer_2d(const struct copy_2d *c, struct transfer *ret)
{
	struct copy_3d wide;

	if (!c)
		return DCU_INVALID_VALUE;
	wide = (struct copy_3d){widen(&c->src), widen(&c->dst), c->width, c->height, 1};
	return dcu_transfer_3d(&wide, ret);
}

/* --- Into a stream --- */

/* The multiprocessors do fills and copies within the device. */
struct dgp_cmd dcu_transfer_cmd(const struct transfer *t)
{
	bool on_device = t->from_device && t->to_device;
	uint64_t rate = on_device ? dgp_hello.device_mb_s : dgp_hello.host_mb_s;

	return (struct dgp_cmd){.kind = on_device ? DGP_KERNEL : DGP_COPY,
		.engine = t->to_device ? DGP_TO_DEVICE : DGP_TO_HOST,
		.ns = t->bytes * 1000 / rate,
		.name = dgp_name(on_device      ? t->effect->src ? "[copy]" : "[set]"
				 : t->to_device ? "[to-device]"
						: "[to-host]"),
		.effect = (uint64_t)(uintptr_t)t->effect};
}

/* The program may change the source as soon as the call has returned. */
static bool stage(struct transfer *t)
{
	struct effect *e = t->effect;

	if (t->from_device || t->bytes > STAGED_MAX || e->height != 1 || e->depth != 1)
		return false;
	e->owned = malloc(e->width ? e->width : 1);
	memcpy(e->owned, e->src, e->width);
	e->src = e->owned;
	return true;
}

int dcu_transfer_push(struct stream *stream, struct transfer *t, bool is_async)
{
	bool on_device = t->from_device && t->to_device;
	bool awaits = !is_async && !on_device;
	struct dgp_cmd cmd;
	uint64_t seq;
	int r;

	if (stream->capture)
		return dcu_capture_transfer(stream, t, is_async);
	if (t->pageable && is_async && !on_device)
		awaits = !stage(t);
	cmd = dcu_transfer_cmd(t);
	cmd.waits_for_host = !awaits && !t->to_device && dgp_helper_start();
	r = dcu_stream_push(stream, &cmd, &seq);
	if (r)
		dgp_effect_free(t->effect);
	return r || !awaits ? r : dgp_await(stream->slot, seq);
}
