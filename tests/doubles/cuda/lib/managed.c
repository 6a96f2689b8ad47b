/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"
#include "functions.h"
#include "memory.h"
#include <sys/mman.h>

/* Managed memory. Its bytes are the process's own memory, for both sides; modelled is
 * only how much of the device it takes: nothing until a kernel runs or it is prefetched,
 * all of it then, and nothing while it is advised to stay on the host and is not
 * prefetched. */

#define PAGE 4096ULL
#define MOVED 0x200000ULL /* granularity of migration */

static _Atomic uint32_t n_managed;

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

int dcu_cuMemAllocManaged(uint64_t *ret, size_t bytes, unsigned flags)
{
	struct ctx *ctx = dcu_current();
	struct block block;
	int r;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || !bytes || (flags != 1 && flags != 2))
		return DCU_INVALID_VALUE;
	r = dcu_host_new(ctx, bytes, DCU_BLOCK_MANAGED, flags, &block);
	if (r)
		return r;
	n_managed++;
	*ret = block.address;
	return 0;
}

void dcu_managed_free(const struct block *block)
{
	n_managed--;
	if (block->taken)
		dcu_give(block->device, block->taken);
	munmap(block->host, round_up(block->bytes, PAGE));
}

static int find(uint64_t address)
{
	struct block block;

	if (!dcu_block_find(address, &block) || block.kind != DCU_BLOCK_MANAGED)
		return DCU_INVALID_VALUE;
	return 0;
}

/* --- Where it is --- */

static void to_device(struct block *block)
{
	uint64_t bytes = round_up(block->bytes, MOVED);

	/* A block that does not fit stays where it is. */
	if (!block->taken && !dcu_take(block->device, bytes))
		block->taken = bytes;
}

static void to_host(struct block *block)
{
	if (block->taken)
		dcu_give(block->device, block->taken);
	block->taken = 0;
}

static void touch(struct block *block, void *user)
{
	if (block->kind == DCU_BLOCK_MANAGED && block->ctx == user && !block->at_host)
		to_device(block);
}

void dcu_managed_touch(struct ctx *ctx)
{
	if (n_managed)
		dcu_blocks_each(touch, dcu_ctx_whole(ctx));
}

static void stay_at_host(struct block *block)
{
	block->at_host = true;
	to_host(block);
}

static void stay_nowhere(struct block *block)
{
	block->at_host = false;
}

/* --- What programs say of it --- */

enum { SET_READ_MOSTLY = 1, SET_PREFERRED = 3, UNSET_PREFERRED = 4 };

static int advise(uint64_t address, int advice, bool is_host)
{
	int r = advice < 1 || advice > 6 ? DCU_INVALID_VALUE : find(address);

	if (r)
		return r;
	if (advice == SET_PREFERRED && is_host)
		dcu_block_change(address, stay_at_host);
	else if (advice == SET_PREFERRED || advice == UNSET_PREFERRED)
		dcu_block_change(address, stay_nowhere);
	else if (advice == SET_READ_MOSTLY)
		dcu_block_change(address, to_device);
	return 0;
}

int dcu_cuMemAdvise(uint64_t address, size_t bytes, int advice, int ordinal)
{
	return advise(address, advice, ordinal < 0);
}

int dcu_cuMemAdvise_v2(
	uint64_t address, size_t bytes, int advice, struct location location)
{
	return advise(address, advice, location.type != DCU_AT_DEVICE);
}

/* A prefetch is a copy between host and device that changes no bytes. A block always
 * migrates as a whole. */
static int prefetch(
	uint64_t address, size_t bytes, bool is_to_device, struct stream *handle)
{
	struct dgp_cmd cmd = {.kind = DGP_COPY,
		.engine = is_to_device ? DGP_TO_DEVICE : DGP_TO_HOST,
		.ns = bytes * 1000 / dgp_hello.host_mb_s,
		.name = dgp_name("[prefetch]")};
	int r;
	struct stream *s = dcu_stream(handle, &r);

	r = s ? find(address) : r;
	if (r)
		return r;
	dcu_block_change(address, is_to_device ? to_device : to_host);
	return dcu_stream_push(s, &cmd, NULL);
}

int dcu_cuMemPrefetchAsync(
	uint64_t address, size_t bytes, int ordinal, struct stream *stream)
{
	if (ordinal != -1 && !dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	return prefetch(address, bytes, ordinal != -1, stream);
}

int dcu_cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, struct location location,
	unsigned flags, struct stream *stream)
{
	if (flags)
		return DCU_INVALID_VALUE;
	if (location.type == DCU_AT_DEVICE && !dcu_device_at(location.id))
		return DCU_INVALID_DEVICE;
	return prefetch(address, bytes, location.type == DCU_AT_DEVICE, stream);
}

/* --- In batches, from CUDA 13 --- */

int dcu_cuMemPrefetchBatchAsync(uint64_t *addresses, size_t *sizes, size_t n,
	struct location *locations, size_t *indexes, size_t n_locations,
	unsigned long long flags, struct stream *stream)
{
	size_t at = 0;
	int r = 0;

	if (!addresses || !sizes || !n || !locations || !indexes || !n_locations || flags)
		return DCU_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++) {
		while (at + 1 < n_locations && indexes[at + 1] <= i)
			at++;
		r = dcu_cuMemPrefetchAsync_v2(
			addresses[i], sizes[i], locations[at], 0, stream);
	}
	return r;
}

int dcu_cuMemDiscardBatchAsync(uint64_t *addresses, size_t *sizes, size_t n,
	unsigned long long flags, struct stream *stream)
{
	int r = 0;

	if (!addresses || !sizes || !n || flags || !dcu_stream(stream, &r))
		return r ? r : DCU_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++)
		r = find(addresses[i]);
	return r;
}

int dcu_cuMemDiscardAndPrefetchBatchAsync(uint64_t *addresses, size_t *sizes, size_t n,
	struct location *locations, size_t *indexes, size_t n_locations,
	unsigned long long flags, struct stream *stream)
{
	return dcu_cuMemPrefetchBatchAsync(
		addresses, sizes, n, locations, indexes, n_locations, flags, stream);
}
