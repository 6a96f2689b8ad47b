/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "functions.h"
#include "memory.h"
#include "pool.h"
#include <stdlib.h>
#include <sys/mman.h>

/* Allocation of device and host memory by programs. */

int dcu_cuMemAlloc_v2(uint64_t *ret, size_t bytes)
{
	struct ctx *ctx = dcu_current();
	struct block block;
	int r;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || !bytes)
		return DCU_INVALID_VALUE;
	r = dcu_capture_is_unsafe();
	r = r ? r : dcu_block_new(ctx, bytes, &block);
	if (r)
		return r;
	dcu_block_add(&block);
	*ret = block.address;
	return 0;
}

int dcu_cuMemAllocPitch_v2(
	uint64_t *ret, size_t *pitch, size_t width, size_t height, unsigned element)
{
	size_t row = (width + 511) / 512 * 512;

	if (!pitch || !width || !height ||
		(element != 4 && element != 8 && element != 16))
		return DCU_INVALID_VALUE;
	*pitch = row;
	return dcu_cuMemAlloc_v2(ret, row * height);
}

int dcu_host_new(struct ctx *ctx, size_t bytes, enum block_kind kind, unsigned flags,
	struct block *ret)
{
	size_t mapped = (bytes + 4095) / 4096 * 4096;

	*ret = (struct block){.bytes = bytes,
		.kind = kind,
		.ctx = ctx,
		.device = ctx->device,
		.flags = flags,
		.id = dcu_new_id()};
	if (dcu_capture_is_unsafe())
		return DCU_CAPTURE_UNSUPPORTED;
	ret->host = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ret->host == MAP_FAILED)
		return DCU_OUT_OF_MEMORY;
	ret->address = (uint64_t)(uintptr_t)ret->host;
	dcu_block_add(ret);
	return 0;
}

int dcu_cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	struct ctx *ctx = dcu_current();
	struct block block;
	int r;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || !bytes || flags > 7)
		return DCU_INVALID_VALUE;
	r = dcu_host_new(ctx, bytes, DCU_BLOCK_HOST, flags, &block);
	if (!r)
		*ret = block.host;
	return r;
}

int dcu_cuMemAllocHost_v2(void **ret, size_t bytes)
{
	return dcu_cuMemHostAlloc(ret, bytes, 0);
}

/* Freeing waits for the commands that may still use the block. */
static int free_block(uint64_t address, bool is_host)
{
	struct block block;

	if (!dcu_current())
		return DCU_INVALID_CONTEXT;
	if (!dcu_block_find(address, &block) || block.address != address ||
		block.kind == DCU_BLOCK_REGISTERED || block.kind == DCU_BLOCK_MAPPED ||
		block.kind == DCU_BLOCK_FOREIGN || block.is_freed ||
		(block.kind == DCU_BLOCK_HOST) != is_host)
		return DCU_INVALID_VALUE;
	if (dcu_capture_is_unsafe())
		return DCU_CAPTURE_UNSUPPORTED;
	if (block.ctx->magic == DCU_IS_CTX)
		dcu_ctx_await_whole(block.ctx);
	if (!dcu_block_remove(address, &block))
		return DCU_INVALID_VALUE;
	if (block.kind == DCU_BLOCK_DEVICE)
		dcu_block_free(&block);
	else if (block.kind == DCU_BLOCK_POOL)
		dcu_pool_give(&block);
	else if (block.kind == DCU_BLOCK_MANAGED)
		dcu_managed_free(&block);
	else
		munmap(block.host, (block.bytes + 4095) / 4096 * 4096);
	return 0;
}

int dcu_cuMemFree_v2(uint64_t address)
{
	return address ? free_block(address, false) : 0;
}

int dcu_cuMemFreeHost(void *host)
{
	return free_block((uint64_t)(uintptr_t)host, true);
}

int dcu_cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
	struct ctx *ctx = dcu_current();
	struct block block = {.address = (uint64_t)(uintptr_t)host,
		.bytes = bytes,
		.host = host,
		.kind = DCU_BLOCK_REGISTERED,
		.ctx = ctx,
		.flags = flags,
		.id = dcu_new_id()};

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!host || !bytes || flags > 15)
		return DCU_INVALID_VALUE;
	block.device = ctx->device;
	return dcu_block_add(&block) ? 0 : 712;
}

int dcu_cuMemHostGetDevicePointer_v2(uint64_t *ret, void *host, unsigned flags)
{
	struct block block;

	if (!dcu_current())
		return DCU_INVALID_CONTEXT;
	if (!ret || flags || !dcu_block_find((uint64_t)(uintptr_t)host, &block) ||
		dcu_is_device_address(block.address))
		return DCU_INVALID_VALUE;
	*ret = (uint64_t)(uintptr_t)host;
	return 0;
}

int dcu_cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	struct ctx *ctx = dcu_current();
	struct dgp_message message = {.request = DGP_MEMORY};
	int r;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	message.a = ctx->device->gpu;
	r = dgp_request(&message);
	if (r)
		return r;
	if (ret_free)
		*ret_free = message.a;
	if (ret_total)
		*ret_total = message.b;
	return 0;
}

/* --- What an address is --- */

static const int types[] = {
	[DCU_BLOCK_DEVICE] = DCU_MEMORY_DEVICE,
	[DCU_BLOCK_MANAGED] = DCU_MEMORY_DEVICE,
	[DCU_BLOCK_POOL] = DCU_MEMORY_DEVICE,
	[DCU_BLOCK_MAPPED] = DCU_MEMORY_DEVICE,
	[DCU_BLOCK_FOREIGN] = DCU_MEMORY_DEVICE,
	[DCU_BLOCK_HOST] = DCU_MEMORY_HOST,
	[DCU_BLOCK_REGISTERED] = DCU_MEMORY_HOST,
};

static int pointer_attribute(
	const struct block *block, int attribute, uint64_t address, void *ret)
{
	switch (attribute) {
	case 1: /* context */
		*(struct ctx **)ret = block->ctx;
		return 0;
	case 2: /* type of memory */
		*(unsigned *)ret = (unsigned)types[block->kind];
		return 0;
	case 3: /* address on the device */
		*(uint64_t *)ret = address;
		return 0;
	case 4: /* address in the process */
		if (dcu_is_device_address(address))
			return DCU_INVALID_VALUE;
		*(uint64_t *)ret = address;
		return 0;
	case 7: /* number of the allocation */
		*(unsigned long long *)ret = block->id;
		return 0;
	case 8: /* managed */
		*(unsigned *)ret = block->kind == DCU_BLOCK_MANAGED;
		return 0;
	case 9: /* ordinal */
		*(int *)ret = (int)(block->device - dcu_devices);
		return 0;
	case 11: /* start */
		*(uint64_t *)ret = block->address;
		return 0;
	case 12: /* bytes */
		*(size_t *)ret = block->bytes;
		return 0;
	case 13: /* mapped */
		*(unsigned *)ret = 1;
		return 0;
	}
	return DCU_NOT_SUPPORTED;
}

int dcu_cuPointerGetAttribute(void *ret, int attribute, uint64_t address)
{
	struct block block;

	if (!ret)
		return DCU_INVALID_VALUE;
	if (!dcu_block_find(address, &block))
		return DCU_INVALID_VALUE;
	return pointer_attribute(&block, attribute, address, ret);
}
