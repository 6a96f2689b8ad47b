/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"
#include "../../gpu/client/helper.h"
#include "capture.h"
#include "functions.h"
#include "memory.h"
#include "module.h"
#include <stdlib.h>
#include <string.h>

/* The calls that launch a function of the GPU or of the host. */

static bool read_extra(struct launch *l, void **extra)
{
	const char *buffer = NULL;
	size_t bytes = 0;

	for (; *extra != DCU_EXTRA_END; extra += 2) {
		if (*extra == (void *)DCU_EXTRA_POINTER)
			buffer = extra[1];
		else if (*extra == (void *)DCU_EXTRA_BYTES)
			bytes = *(size_t *)extra[1];
		else
			return false;
	}
	if (buffer)
		memcpy(&l->args, buffer,
			bytes < sizeof(l->args) ? bytes : sizeof(l->args));
	return true;
}

static bool has_shape(const struct launch *l)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	return l->grid[0] && l->grid[1] && l->grid[2] && threads && threads <= 1024;
}

static bool is_word(uint64_t address)
{
	return address % 4 == 0 && dcu_resolve(address, 4);
}

/* A real kernel would fail at a wrong address, or write to other memory. */
static bool has_words(const struct launch *l)
{
	switch (l->func->kind) {
	case DCU_STORE:
		return dcu_resolve(l->args.first, 4);
	case DCU_SERVE:
		return l->args.fifth && is_word(l->args.first) && is_word(l->args.third);
	case DCU_RELAY:
		return is_word(l->args.first) && is_word(l->args.third);
	case DCU_AWAIT:
		return is_word(l->args.first);
	default:
		return true;
	}
}

int dcu_launch_prepare(struct launch *l, void **params, void **extra)
{
	unsigned n;

	if (!l->func || l->func->magic != DCU_IS_FUNC)
		return DCU_INVALID_HANDLE;
	if (!has_shape(l) || l->shared_bytes > 232448)
		return DCU_INVALID_VALUE;
	n = dcu_func_n_args(l->func);
	for (unsigned i = 0; params && i < n; i++)
		memcpy((char *)&l->args + dcu_func_args[i].offset, params[i],
			dcu_func_args[i].bytes);
	if (n && !params && (!extra || !read_extra(l, extra)))
		return DCU_INVALID_VALUE;
	return has_words(l) ? 0 : DCU_INVALID_VALUE;
}

static uint64_t length_of(const struct launch *l)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];

	switch (l->func->kind) {
	case DCU_PARAM:
		return l->args.first;
	case DCU_SCALED:
		return l->func->ns * blocks;
	default:
		return l->func->ns;
	}
}

static void add_store(const struct launch *l, struct dgp_cmd *cmd)
{
	cmd->effect = (uint64_t)(uintptr_t)dgp_effect_fill(
		dcu_resolve(l->args.first, 4), l->args.second, 4, 1);
	cmd->waits_for_host = !dcu_is_device_address(l->args.first) && dgp_helper_start();
}

static void add_spin(const struct launch *l, struct dgp_cmd *cmd)
{
	struct dgp_spin spin = {.at = dcu_resolve(l->args.first, 4),
		.value = l->args.second,
		.turns = l->func->kind == DCU_SERVE ? l->args.fifth : 1};

	if (l->func->kind != DCU_AWAIT) {
		spin.out = dcu_resolve(l->args.third, 4);
		spin.out_value = l->args.fourth;
	}
	dgp_spin_cmd(&spin, cmd);
}

struct dgp_cmd dcu_launch_cmd(const struct launch *l)
{
	struct dgp_cmd cmd = {.kind = DGP_KERNEL,
		.ns = length_of(l),
		.name = l->func->name_number,
		.units = l->func->units};

	if (l->func->kind == DCU_STORE)
		add_store(l, &cmd);
	else if (l->func->kind >= DCU_AWAIT)
		add_spin(l, &cmd);
	return cmd;
}

int dcu_launch_push(struct stream *stream, const struct launch *l)
{
	struct dgp_cmd cmd;
	int r;

	if (stream->capture)
		return dcu_capture_launch(stream, l);
	r = dcu_func_load(l->func, stream->ctx);
	if (r)
		return r;
	dcu_managed_touch(stream->ctx);
	cmd = dcu_launch_cmd(l);
	return dcu_stream_push(stream, &cmd, NULL);
}

static int launch(struct launch *l, struct stream *handle, void **params, void **extra)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	r = dcu_launch_prepare(l, params, extra);
	return r ? r : dcu_launch_push(s, l);
}

int dcu_cuLaunchKernel(struct func *func, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
	struct stream *stream, void **params, void **extra)
{
	struct launch l = {.func = func,
		.grid = {gx, gy, gz},
		.block = {bx, by, bz},
		.shared_bytes = shared_bytes};

	return launch(&l, stream, params, extra);
}

int dcu_cuLaunchKernelEx(
	const struct launch_config *c, struct func *func, void **params, void **extra)
{
	struct launch l = {.func = func};

	if (!c)
		return DCU_INVALID_VALUE;
	memcpy(l.grid, c->grid, sizeof(l.grid));
	memcpy(l.block, c->block, sizeof(l.block));
	l.shared_bytes = c->shared_bytes;
	return launch(&l, c->stream, params, extra);
}

int dcu_cuLaunchCooperativeKernel(struct func *func, unsigned gx, unsigned gy,
	unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
	struct stream *stream, void **params)
{
	uint64_t threads = (uint64_t)bx * by * bz, blocks = (uint64_t)gx * gy * gz;
	uint64_t room = threads ? 2048 / threads : 0;
	int r;
	const struct stream *s = dcu_stream(stream, &r);

	/* All of its blocks must be resident at once. */
	if (s && blocks > s->ctx->units * (room > 32 ? 32 : room))
		return DCU_COOPERATIVE_TOO_LARGE;
	return dcu_cuLaunchKernel(
		func, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, NULL);
}

int dcu_cuLaunchCooperativeKernelMultiDevice(
	struct launch_params *all, unsigned n, unsigned flags)
{
	int r = all && n ? 0 : DCU_INVALID_VALUE;

	for (unsigned i = 0; i < n && !r; i++) {
		struct launch l = {
			.func = all[i].func, .shared_bytes = all[i].shared_bytes};
		struct stream *s = all[i].stream;

		/* Each launch runs in its stream's context; a default stream has none. */
		if ((uintptr_t)s <= DCU_STREAM_IS_PER_THREAD || s->magic != DCU_IS_STREAM)
			return DCU_INVALID_VALUE;
		memcpy(l.grid, all[i].grid, sizeof(l.grid));
		memcpy(l.block, all[i].block, sizeof(l.block));
		r = dcu_launch_prepare(&l, all[i].params, NULL);
		r = r ? r : dcu_launch_push(s, &l);
	}
	return r;
}

/* --- The oldest API: the function stores its parameters --- */

static bool is_func(const struct func *f)
{
	return f && f->magic == DCU_IS_FUNC;
}

int dcu_cuFuncSetBlockShape(struct func *f, int x, int y, int z)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (x < 1 || y < 1 || z < 1)
		return DCU_INVALID_VALUE;
	f->block[0] = (unsigned)x;
	f->block[1] = (unsigned)y;
	f->block[2] = (unsigned)z;
	return 0;
}

int dcu_cuParamSetSize(struct func *f, unsigned bytes)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (bytes > sizeof(f->params))
		return DCU_INVALID_VALUE;
	f->param_bytes = bytes;
	return 0;
}

int dcu_cuParamSetv(struct func *f, int offset, void *value, unsigned bytes)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (offset < 0 || (size_t)offset + bytes > sizeof(f->params))
		return DCU_INVALID_VALUE;
	memcpy(f->params + offset, value, bytes);
	return 0;
}

int dcu_cuLaunchGridAsync(struct func *f, int x, int y, struct stream *stream)
{
	void *extra[] = {(void *)DCU_EXTRA_POINTER, NULL, (void *)DCU_EXTRA_BYTES, NULL,
		DCU_EXTRA_END};

	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (x < 1 || y < 1)
		return DCU_INVALID_VALUE;
	extra[1] = f->params;
	extra[3] = &f->param_bytes;
	return dcu_cuLaunchKernel(f, (unsigned)x, (unsigned)y, 1, f->block[0],
		f->block[1], f->block[2], f->shared_bytes, stream, NULL, extra);
}

int dcu_cuLaunchGrid(struct func *f, int x, int y)
{
	return dcu_cuLaunchGridAsync(f, x, y, NULL);
}

int dcu_cuLaunch(struct func *f)
{
	return dcu_cuLaunchGridAsync(f, 1, 1, NULL);
}

/* --- Functions of the host --- */

static void call_host_fn(struct host_task *task)
{
	((host_fn)(uintptr_t)task->fn)(task->user);
}

static void call_stream_fn(struct host_task *task)
{
	((stream_fn)(uintptr_t)task->fn)(task->handle, 0, task->user);
}

static int push_task(struct stream *s, const struct host_task *task)
{
	struct host_task *copy = malloc(sizeof(*copy));
	struct dgp_cmd cmd = {.kind = DGP_HOST, .waits_for_host = 1};

	*copy = *task;
	cmd.effect = (uint64_t)(uintptr_t)copy;
	if (!dgp_helper_start())
		return DCU_OUT_OF_MEMORY;
	return dcu_stream_push(s, &cmd, NULL);
}

int dcu_cuLaunchHostFunc(struct stream *handle, host_fn fn, void *user)
{
	struct host_task task = {
		.call = call_host_fn, .fn = (void *)(uintptr_t)fn, .user = user};
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!fn)
		return DCU_INVALID_VALUE;
	return s->capture ? dcu_capture_host(s, &task) : push_task(s, &task);
}

int dcu_cuStreamAddCallback(
	struct stream *handle, stream_fn fn, void *user, unsigned flags)
{
	struct host_task task = {.call = call_stream_fn,
		.fn = (void *)(uintptr_t)fn,
		.user = user,
		.handle = handle};
	int r;
	struct stream *s = dcu_stream(handle, &r);

	r = s ? dcu_capture_forbids(s) : r;
	if (r)
		return r;
	return fn && !flags ? push_task(s, &task) : DCU_INVALID_VALUE;
}

/* --- Values in memory --- */

int dcu_wait_at(
	struct stream *handle, void *at, uint64_t value, unsigned how, unsigned bytes)
{
	struct host_task task = {
		.value = value, .how = how, .bytes = bytes, .value_at = at};
	int r;
	struct stream *s = dcu_stream(handle, &r);

	r = s ? dcu_capture_forbids(s) : r;
	if (r)
		return r;
	return at ? push_task(s, &task) : DCU_INVALID_VALUE;
}

int dcu_write_at(struct stream *handle, void *at, uint64_t value, unsigned bytes)
{
	struct dgp_cmd cmd = {.kind = DGP_WRITE};
	struct effect *effect;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	r = s ? dcu_capture_forbids(s) : r;
	if (r)
		return r;
	if (!at)
		return DCU_INVALID_VALUE;
	effect = dgp_effect_new();
	effect->dst = at;
	effect->width = bytes;
	effect->owned = malloc(sizeof(value));
	memcpy(effect->owned, &value, sizeof(value));
	effect->src = effect->owned;
	cmd.effect = (uint64_t)(uintptr_t)effect;
	/* Another stream may wait for this command. */
	cmd.waits_for_host = dgp_helper_start();
	return dcu_stream_push(s, &cmd, NULL);
}

int dcu_cuStreamWaitValue32_v2(
	struct stream *stream, uint64_t address, uint32_t value, unsigned flags)
{
	return dcu_wait_at(stream, dcu_resolve(address, 4), value, flags, 4);
}

int dcu_cuStreamWaitValue64_v2(
	struct stream *stream, uint64_t address, uint64_t value, unsigned flags)
{
	return dcu_wait_at(stream, dcu_resolve(address, 8), value, flags, 8);
}

int dcu_cuStreamWriteValue32_v2(
	struct stream *stream, uint64_t address, uint32_t value, unsigned flags)
{
	return dcu_write_at(stream, dcu_resolve(address, 4), value, 4);
}

int dcu_cuStreamWriteValue64_v2(
	struct stream *stream, uint64_t address, uint64_t value, unsigned flags)
{
	return dcu_write_at(stream, dcu_resolve(address, 8), value, 8);
}
