/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"
#include "../../gpu/client/file.h"
#include "../../gpu/client/helper.h"
#include "functions.h"
#include "pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define BY_NUMBER 0x1b10f00000000ULL /* the count of an eventfd that is an export */

/* Memory shared by processes: the machine counts it for as long as one of them has it. */

bool dcu_share_new(struct shared *shared, uint64_t n_bytes)
{
	struct dgp_message message = {
		.request = DGP_SHARE, .a = shared->gpu, .b = n_bytes};

	memcpy(message.text, shared, sizeof(*shared));
	if (dgp_request(&message))
		return false;
	shared->number = message.a;
	return true;
}

/* A real export is a file of the control device, and all of them have the same inode, as
 * eventfds do. Its number is the eventfd's count. */
static int make_file(const struct shared *shared)
{
	int fd;

	if (!dgp_hello.one_inode)
		return dgp_file_new(shared, sizeof(*shared));
	fd = eventfd(0, EFD_CLOEXEC);
	if (fd >= 0 && eventfd_write(fd, BY_NUMBER + shared->number) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int dcu_share_file(const struct shared *shared)
{
	struct dgp_message message = {.request = DGP_SHARE_FILE, .a = shared->number};
	int fd = make_file(shared), unused;

	dgp_watch_memory();
	if (fd >= 0 && dgp_request_file(&message, fd, &unused)) {
		close(fd);
		return -1;
	}
	return fd;
}

void dcu_share_import(uint64_t number)
{
	struct dgp_message message = {.request = DGP_SHARE_IMPORT, .a = number};

	dgp_request(&message);
}

void dcu_share_drop(uint64_t number)
{
	struct dgp_message message = {.request = DGP_SHARE_DROP, .a = number};

	dgp_request(&message);
}

static bool read_by_number(int fd, struct shared *ret)
{
	struct dgp_message message = {.request = DGP_SHARED};
	unsigned long long count = 0;
	char path[64], line[128];
	FILE *from;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	from = fopen(path, "re");
	while (from && fgets(line, sizeof(line), from))
		if (sscanf(line, "eventfd-count: %llx", &count) == 1)
			break;
	if (from)
		fclose(from);
	message.a = count - BY_NUMBER;
	if (count < BY_NUMBER || dgp_request(&message))
		return false;
	memcpy(ret, message.text, sizeof(*ret));
	ret->number = count - BY_NUMBER;
	return true;
}

bool dcu_share_read(int fd, uint64_t magic, struct shared *ret)
{
	bool is_read = dgp_hello.one_inode ? read_by_number(fd, ret)
					   : dgp_file_read(fd, ret, sizeof(*ret));

	return is_read && ret->magic == magic;
}

struct device *dcu_device_of_gpu(uint32_t gpu)
{
	for (int i = 0; i < dcu_n_devices; i++)
		if (dcu_devices[i].gpu == gpu)
			return &dcu_devices[i];
	return NULL;
}

static struct shared describe(const struct block *block)
{
	return (struct shared){.magic = DCU_SHARED_BLOCK,
		.process = dgp_hello.number,
		.gpu = block->device->gpu,
		.offset = block->offset,
		.bytes = block->bytes,
		.address = block->address};
}

static int map(const struct shared *shared, uint64_t *ret)
{
	struct ctx *ctx = dcu_current();
	struct block block;
	int r;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	r = dcu_foreign_map(shared->process, shared->offset, shared->bytes, &block);
	if (r)
		return r;
	block.ctx = ctx;
	block.number = shared->number;
	if (block.number)
		dcu_share_import(block.number - 1);
	block.device = dcu_device_of_gpu(shared->gpu);
	if (!block.device)
		block.device = ctx->device;
	dcu_block_add(&block);
	*ret = block.address;
	return 0;
}

/* --- Handles of allocations: the memory lives as long as one is open --- */

/* 1 + the number in the machine; 0: no memory. */
static uint64_t number_of(const struct block *block)
{
	struct shared shared = describe(block);

	if (block->number)
		return block->number;
	if (!dcu_share_new(&shared, block->taken) ||
		!dcu_block_set_number(block->address, shared.number + 1))
		return 0;
	return shared.number + 1;
}

int dcu_cuIpcGetMemHandle(struct shared_bytes *ret, uint64_t address)
{
	struct block block;
	struct shared shared;

	if (!ret || !dcu_block_find(address, &block) || block.kind != DCU_BLOCK_DEVICE)
		return DCU_INVALID_VALUE;
	dgp_watch_memory();
	shared = describe(&block);
	shared.number = number_of(&block);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &shared, sizeof(shared));
	return 0;
}

int dcu_cuIpcOpenMemHandle_v2(uint64_t *ret, struct shared_bytes handle, unsigned flags)
{
	struct shared shared;

	memcpy(&shared, &handle, sizeof(shared));
	if (!ret || flags != 1 || shared.magic != DCU_SHARED_BLOCK)
		return DCU_INVALID_VALUE;
	if (shared.process == dgp_hello.number)
		return DCU_INVALID_CONTEXT;
	return map(&shared, ret);
}

int dcu_cuIpcCloseMemHandle(uint64_t address)
{
	struct block block;

	if (!dcu_block_find(address, &block) || block.address != address ||
		block.kind != DCU_BLOCK_FOREIGN)
		return DCU_INVALID_VALUE;
	if (block.ctx->magic == DCU_IS_CTX)
		dcu_ctx_await_whole(block.ctx);
	if (dcu_block_remove(address, &block)) {
		dcu_foreign_unmap(&block);
		if (block.number)
			dcu_share_drop(block.number - 1);
	}
	return 0;
}

/* --- A dma-buf of a range, which keeps what it is a part of --- */

static int range_file(const struct block *block)
{
	struct shared shared = describe(block);

	if (block->kind == DCU_BLOCK_MAPPED)
		return dcu_phys_file(block->phys);
	shared.magic = DCU_SHARED_RANGE;
	shared.number = number_of(block) - 1;
	return dcu_share_file(&shared);
}

int dcu_cuMemGetHandleForAddressRange(
	void *ret, uint64_t address, size_t bytes, int type, unsigned long long flags)
{
	struct block block;

	if (!ret || type != 1 || flags || !dcu_block_find(address, &block) ||
		address + bytes > block.address + block.bytes ||
		(block.kind != DCU_BLOCK_DEVICE && block.kind != DCU_BLOCK_MAPPED &&
			block.kind != DCU_BLOCK_POOL))
		return DCU_INVALID_VALUE;
	*(int *)ret = range_file(&block);
	return *(int *)ret < 0 ? DCU_OUT_OF_MEMORY : 0;
}

/* --- Pools --- */

static bool is_pool(const struct pool *pool)
{
	return pool && pool->magic == DCU_IS_POOL;
}

int dcu_cuMemPoolExportToShareableHandle(
	void *ret, struct pool *pool, uint32_t type, unsigned long long flags)
{
	struct shared shared = {.magic = DCU_SHARED_POOL, .process = dgp_hello.number};

	if (!ret || !is_pool(pool) || type != DCU_HANDLE_FD || flags ||
		!(pool->handle_types & DCU_HANDLE_FD))
		return DCU_INVALID_VALUE;
	shared.gpu = pool->device->gpu;
	shared.pool = pool->id;
	*(int *)ret = dcu_share_new(&shared, 0) ? dcu_share_file(&shared) : -1;
	return *(int *)ret < 0 ? DCU_OUT_OF_MEMORY : 0;
}

int dcu_cuMemPoolImportFromShareableHandle(
	struct pool **ret, void *handle, uint32_t type, unsigned long long flags)
{
	struct shared shared;
	struct pool *pool;

	if (!ret || type != DCU_HANDLE_FD || flags ||
		!dcu_share_read((int)(intptr_t)handle, DCU_SHARED_POOL, &shared))
		return DCU_INVALID_VALUE;
	pool = calloc(1, sizeof(*pool));
	pool->magic = DCU_IS_POOL;
	pool->device = dcu_device_of_gpu(shared.gpu);
	pool->is_foreign = true;
	pool->process = shared.process;
	pool->id = shared.pool;
	pthread_mutex_init(&pool->lock, NULL);
	*ret = pool;
	return 0;
}

int dcu_cuMemPoolExportPointer(struct shared_bytes *ret, uint64_t address)
{
	struct block block;
	struct shared shared;

	if (!ret || !dcu_block_find(address, &block) || block.kind != DCU_BLOCK_POOL ||
		!(block.pool->handle_types & DCU_HANDLE_FD))
		return DCU_INVALID_VALUE;
	shared = describe(&block);
	shared.pool = block.pool->id;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &shared, sizeof(shared));
	return 0;
}

int dcu_cuMemPoolImportPointer(
	uint64_t *ret, struct pool *pool, struct shared_bytes *data)
{
	struct shared shared;

	if (!ret || !data || !is_pool(pool) || !pool->is_foreign)
		return DCU_INVALID_VALUE;
	memcpy(&shared, data, sizeof(shared));
	if (shared.magic != DCU_SHARED_BLOCK || shared.pool != pool->id ||
		shared.process != pool->process)
		return DCU_INVALID_VALUE;
	return map(&shared, ret);
}

/* --- Memory of other interfaces: any file will do --- */

struct external {
	uint32_t magic;
	struct ctx *ctx;
	uint64_t bytes;
	struct block block; /* the block that it takes */
};

int dcu_cuImportExternalMemory(
	struct external **ret, const struct external_handle *handle)
{
	struct ctx *ctx = dcu_current();
	struct external *e;
	int r;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || !handle || handle->type != 1 || !handle->bytes)
		return DCU_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	r = dcu_block_new(ctx, handle->bytes, &e->block);
	if (r) {
		free(e);
		return r;
	}
	e->magic = DCU_IS_EXTERNAL;
	e->ctx = ctx;
	e->bytes = handle->bytes;
	/* From here on the driver owns the descriptor. */
	close(handle->handle.fd);
	dcu_block_add(&e->block);
	*ret = e;
	return 0;
}

int dcu_cuDestroyExternalMemory(struct external *e)
{
	struct block block;

	if (!e || e->magic != DCU_IS_EXTERNAL)
		return DCU_INVALID_HANDLE;
	e->magic = DCU_DEAD;
	if (e->ctx->magic == DCU_IS_CTX)
		dcu_ctx_await(e->ctx);
	if (dcu_block_remove(e->block.address, &block))
		dcu_block_free(&block);
	return 0;
}
