/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <string.h>

/* The variants of a launch. */

uint32_t dhi_arg_offset(int i)
{
	static const uint32_t offsets[N_ARGS + 1] = {0, 8, 16, 24, 28, ARGS_MAX};

	return offsets[i];
}

static void copy_params(const struct func *f, void **params, char *args)
{
	for (int i = 0; params && dhi_arg_offset(i) < f->kernarg_bytes; i++)
		memcpy(args + dhi_arg_offset(i), params[i], i == 0 || i == 2 ? 8 : 4);
}

static int copy_buffer(void **extra, char *args)
{
	const void *buffer = NULL;
	size_t bytes = 0;

	for (int i = 0; extra[i] != HIP_BUFFER_END; i += 2)
		if (extra[i] == HIP_BUFFER_POINTER)
			buffer = extra[i + 1];
		else if (extra[i] == HIP_BUFFER_SIZE)
			bytes = *(size_t *)extra[i + 1];
		else
			return HIP_INVALID_VALUE;
	if (!buffer || bytes > ARGS_MAX)
		return HIP_INVALID_VALUE;
	memcpy(args, buffer, bytes);
	return 0;
}

static bool is_shape(const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	return grid[0] && grid[1] && grid[2] && threads && threads <= 1024;
}

int dhi_launch_op(struct func *f, const uint32_t grid[3], const uint32_t block[3],
	size_t shared, void **params, void **extra, struct op *ret)
{
	if (!dhi_is_func(f))
		return HIP_INVALID_DEVICE_FUNCTION;
	if (!is_shape(grid, block) || shared > 65536)
		return HIP_INVALID_CONFIGURATION;
	if (f->kernarg_bytes && !params && !extra)
		return HIP_INVALID_VALUE;
	*ret = (struct op){.kind = OP_KERNEL, .kernel.func = f};
	memcpy(ret->kernel.grid, grid, sizeof(ret->kernel.grid));
	memcpy(ret->kernel.block, block, sizeof(ret->kernel.block));
	ret->kernel.shared = (uint32_t)shared;
	if (!extra) {
		copy_params(f, params, ret->kernel.args);
		return 0;
	}
	return copy_buffer(extra, ret->kernel.args);
}

/* The grid counts threads, as in HSA. */
static int launch(struct func *f, const uint32_t grid[3], const uint32_t block[3],
	size_t shared, struct stream *handle, void **params, void **extra,
	struct event *const events[2])
{
	struct stream *s = dhi_stream(handle);
	struct op op;
	int r;

	if (!s)
		return HIP_INVALID_HANDLE;
	r = dhi_launch_op(f, grid, block, shared, params, extra, &op);
	if (!r && f->module->device != s->device)
		r = HIP_INVALID_DEVICE_FUNCTION;
	if (r)
		return r;
	op.kernel.start = events ? events[0] : NULL;
	op.kernel.stop = events ? events[1] : NULL;
	return dhi_submit(s, &op);
}

static int launch_blocks(struct func *f, struct dim3 grid, struct dim3 block,
	size_t shared, struct stream *handle, void **params, void **extra)
{
	uint32_t threads[3] = {grid.x * block.x, grid.y * block.y, grid.z * block.z};
	uint32_t blocks[3] = {block.x, block.y, block.z};

	return launch(f, threads, blocks, shared, handle, params, extra, NULL);
}

static int launch_stub(const void *host, struct dim3 grid, struct dim3 block, void **args,
	size_t shared, struct stream *handle)
{
	struct stream *s = dhi_stream(handle);

	if (!s)
		return HIP_INVALID_HANDLE;
	return launch_blocks(
		dhi_func_of(host, s->device), grid, block, shared, handle, args, NULL);
}

/* --- Functions of modules --- */

int dhi_hipModuleLaunchKernel(struct func *f, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, struct stream *stream,
	void **params, void **extra)
{
	return launch_blocks(f, (struct dim3){gx, gy, gz}, (struct dim3){bx, by, bz},
		shared, stream, params, extra);
}

/* All of its blocks must be resident at once, on the units that HSA reports. */
static bool is_too_large(const struct stream *s, struct dim3 grid, struct dim3 block)
{
	uint64_t threads = (uint64_t)block.x * block.y * block.z;
	uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
	uint64_t room = threads > 0 ? 2048 / threads : 0;

	return blocks > (uint64_t)s->device->units * (room > 32 ? 32 : room);
}

int dhi_hipModuleLaunchCooperativeKernel(struct func *f, unsigned gx, unsigned gy,
	unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
	struct stream *stream, void **params)
{
	struct dim3 grid = {gx, gy, gz}, block = {bx, by, bz};
	struct stream *s = dhi_stream(stream);

	if (s && is_too_large(s, grid, block))
		return HIP_COOPERATIVE_TOO_LARGE;
	return launch_blocks(f, grid, block, shared, stream, params, NULL);
}

int dhi_hipDrvLaunchKernelEx(
	const struct drv_launch_config *c, struct func *f, void **params, void **extra)
{
	if (!c)
		return HIP_INVALID_VALUE;
	return launch_blocks(f, (struct dim3){c->grid[0], c->grid[1], c->grid[2]},
		(struct dim3){c->block[0], c->block[1], c->block[2]}, c->shared,
		c->stream, params, extra);
}

int dhi_hipExtModuleLaunchKernel(struct func *f, uint32_t wx, uint32_t wy, uint32_t wz,
	uint32_t bx, uint32_t by, uint32_t bz, size_t shared, struct stream *stream,
	void **params, void **extra, struct event *start, struct event *stop,
	uint32_t flags)
{
	uint32_t grid[3] = {wx, wy, wz}, block[3] = {bx, by, bz};
	struct event *events[2] = {start, stop};

	if ((start && !dhi_is_event(start)) || (stop && !dhi_is_event(stop)))
		return HIP_INVALID_HANDLE;
	return launch(f, grid, block, shared, stream, params, extra, events);
}

int dhi_hipHccModuleLaunchKernel(struct func *f, uint32_t wx, uint32_t wy, uint32_t wz,
	uint32_t bx, uint32_t by, uint32_t bz, size_t shared, struct stream *stream,
	void **params, void **extra, struct event *start, struct event *stop)
{
	return dhi_hipExtModuleLaunchKernel(
		f, wx, wy, wz, bx, by, bz, shared, stream, params, extra, start, stop, 0);
}

/* --- Stubs of the program --- */

int dhi_hipLaunchKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **args, size_t shared, struct stream *stream)
{
	return launch_stub(host, grid, block, args, shared, stream);
}

int dhi_hipLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **args, unsigned shared, struct stream *stream)
{
	struct stream *s = dhi_stream(stream);

	if (s && is_too_large(s, grid, block))
		return HIP_COOPERATIVE_TOO_LARGE;
	return launch_stub(host, grid, block, args, shared, stream);
}

int dhi_hipLaunchKernelExC(const struct launch_config *c, const void *host, void **args)
{
	if (!c)
		return HIP_INVALID_VALUE;
	return launch_stub(host, c->grid, c->block, args, c->shared, c->stream);
}

int dhi_hipExtLaunchKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **args, size_t shared, struct stream *handle, struct event *start,
	struct event *stop, int flags)
{
	struct stream *s = dhi_stream(handle);

	if (!s)
		return HIP_INVALID_HANDLE;
	return dhi_hipExtModuleLaunchKernel(dhi_func_of(host, s->device),
		grid.x * block.x, grid.y * block.y, grid.z * block.z, block.x, block.y,
		block.z, shared, handle, args, NULL, start, stop, 0);
}

static int launch_all(struct launch *launches, int n)
{
	int r = launches && n > 0 ? 0 : HIP_INVALID_VALUE;

	for (int i = 0; i < n && !r; i++)
		r = launch_stub(launches[i].function, launches[i].grid, launches[i].block,
			launches[i].args, launches[i].shared, launches[i].stream);
	return r;
}

int dhi_hipLaunchCooperativeKernelMultiDevice(
	struct launch *launches, int n, unsigned flags)
{
	return launch_all(launches, n);
}

int dhi_hipExtLaunchMultiKernelMultiDevice(struct launch *launches, int n, unsigned flags)
{
	return launch_all(launches, n);
}

/* --- Launches in several calls --- */

static _Thread_local struct {
	struct dim3 grid, block;
	size_t shared;
	struct stream *stream;
	char args[ARGS_MAX];
	size_t bytes;
} configured;

int dhi_hipConfigureCall(
	struct dim3 grid, struct dim3 block, size_t shared, struct stream *stream)
{
	configured.grid = grid;
	configured.block = block;
	configured.shared = shared;
	configured.stream = stream;
	configured.bytes = 0;
	return 0;
}

int dhi_hipSetupArgument(const void *arg, size_t bytes, size_t offset)
{
	if (!arg || offset + bytes > ARGS_MAX)
		return HIP_INVALID_VALUE;
	memcpy(configured.args + offset, arg, bytes);
	if (configured.bytes < offset + bytes)
		configured.bytes = offset + bytes;
	return 0;
}

int dhi_hipLaunchByPtr(const void *host)
{
	struct stream *s = dhi_stream(configured.stream);
	void *extra[] = {HIP_BUFFER_POINTER, configured.args, HIP_BUFFER_SIZE,
		&configured.bytes, HIP_BUFFER_END};

	if (!s)
		return HIP_INVALID_HANDLE;
	return launch_blocks(dhi_func_of(host, s->device), configured.grid,
		configured.block, configured.shared, configured.stream, NULL, extra);
}

hip_plain __hipPushCallConfiguration(
	struct dim3 grid, struct dim3 block, size_t shared, struct stream *stream)
{
	return dhi_hipConfigureCall(grid, block, shared, stream);
}

hip_plain __hipPopCallConfiguration(
	struct dim3 *grid, struct dim3 *block, size_t *shared, struct stream **stream)
{
	*grid = configured.grid;
	*block = configured.block;
	*shared = configured.shared;
	*stream = configured.stream;
	return 0;
}
