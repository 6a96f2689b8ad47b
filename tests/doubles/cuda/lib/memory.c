/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include "share.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The table of blocks, by address, and the arena that has the device memory. */

#define PAGE 4096ULL
#define GRANULE 512ULL /* small allocations are rounded up to this */
#define MIB (1ULL << 20)

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct block *blocks;
static size_t n_blocks, room;

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Returns the index of the first block that ends behind the address. */
static size_t place(uint64_t address)
{
	size_t low = 0, high = n_blocks;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (blocks[middle].address + blocks[middle].bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool dcu_block_find(uint64_t address, struct block *ret)
{
	bool found;
	size_t i;

	pthread_rwlock_rdlock(&lock);
	i = place(address);
	found = i < n_blocks && blocks[i].address <= address;
	if (found)
		*ret = blocks[i];
	pthread_rwlock_unlock(&lock);
	return found;
}

bool dcu_block_add(const struct block *block)
{
	size_t i;
	bool is_free;

	pthread_rwlock_wrlock(&lock);
	i = place(block->address);
	is_free = i == n_blocks || blocks[i].address >= block->address + block->bytes;
	if (is_free) {
		if (n_blocks == room) {
			room = room * 2 + 64;
			blocks = realloc(blocks, room * sizeof(*blocks));
		}
		memmove(blocks + i + 1, blocks + i, (n_blocks - i) * sizeof(*blocks));
		blocks[i] = *block;
		blocks[i].ctx = dcu_ctx_whole(block->ctx);
		n_blocks++;
	}
	pthread_rwlock_unlock(&lock);
	return is_free;
}

bool dcu_block_remove(uint64_t address, struct block *ret)
{
	bool found;
	size_t i;

	pthread_rwlock_wrlock(&lock);
	i = place(address);
	found = i < n_blocks && blocks[i].address == address;
	if (found) {
		*ret = blocks[i];
		memmove(blocks + i, blocks + i + 1, (n_blocks - i - 1) * sizeof(*blocks));
		n_blocks--;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

/* --- The arena --- */

/* Freed ranges; the addresses behind `arena_end` were never used. */
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hole {
	uint64_t offset, bytes;
	struct hole *next;
} * holes;
static uint64_t arena_end;

static uint64_t take_offset(uint64_t bytes)
{
	uint64_t offset;

	pthread_mutex_lock(&arena_lock);
	for (struct hole **at = &holes; *at; at = &(*at)->next) {
		struct hole *hole = *at;

		if (hole->bytes != bytes)
			continue;
		*at = hole->next;
		offset = hole->offset;
		free(hole);
		pthread_mutex_unlock(&arena_lock);
		return offset;
	}
	offset = arena_end;
	arena_end += bytes;
	pthread_mutex_unlock(&arena_lock);
	return offset;
}

static void give_offset(uint64_t offset, uint64_t bytes)
{
	struct hole *hole = malloc(sizeof(*hole));

	fallocate(dgp_arena(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		(off_t)bytes);
	pthread_mutex_lock(&arena_lock);
	*hole = (struct hole){offset, bytes, holes};
	holes = hole;
	pthread_mutex_unlock(&arena_lock);
}

int dcu_take(const struct device *device, uint64_t bytes)
{
	struct dgp_message message = {.request = DGP_TAKE, .a = device->gpu, .b = bytes};

	return dgp_request(&message);
}

void dcu_give(const struct device *device, uint64_t bytes)
{
	struct dgp_message message = {.request = DGP_GIVE, .a = device->gpu, .b = bytes};

	dgp_request(&message);
}

uint64_t dcu_addresses_take(uint64_t bytes)
{
	return take_offset(round_up(bytes, PAGE));
}

void dcu_addresses_give(uint64_t offset, uint64_t bytes)
{
	give_offset(offset, round_up(bytes, PAGE));
}

int dcu_arena_map(size_t bytes, uint64_t offset, char **ret_host)
{
	char *host = mmap(NULL, round_up(bytes, PAGE), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, dgp_arena(), (off_t)offset);

	if (host == MAP_FAILED)
		return DCU_OUT_OF_MEMORY;
	*ret_host = host;
	return 0;
}

int dcu_arena_new(size_t bytes, uint64_t *ret_offset, char **ret_host)
{
	uint64_t offset = dcu_addresses_take(bytes);
	int r = dcu_arena_map(bytes, offset, ret_host);

	if (r)
		dcu_addresses_give(offset, bytes);
	else
		*ret_offset = offset;
	return r;
}

void dcu_arena_unmap(uint64_t offset, char *host, size_t bytes)
{
	munmap(host, round_up(bytes, PAGE));
	fallocate(dgp_arena(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		(off_t)round_up(bytes, PAGE));
}

void dcu_arena_free(uint64_t offset, char *host, size_t bytes)
{
	munmap(host, round_up(bytes, PAGE));
	dcu_addresses_give(offset, bytes);
}

static uint64_t unit_of(size_t bytes)
{
	if (bytes > MIB)
		return 2 * MIB;
	return bytes > MIB / 2 ? MIB : GRANULE;
}

int dcu_block_new(struct ctx *ctx, size_t bytes, struct block *ret)
{
	int r;

	if (bytes > ctx->device->info.memory_bytes)
		return DCU_OUT_OF_MEMORY;
	*ret = (struct block){.bytes = bytes,
		.taken = round_up(bytes, unit_of(bytes)),
		.kind = DCU_BLOCK_DEVICE,
		.ctx = ctx,
		.device = ctx->device,
		.id = dcu_new_id()};
	r = dcu_take(ret->device, ret->taken);
	if (r)
		return r;
	r = dcu_arena_new(bytes, &ret->offset, &ret->host);
	if (r)
		dcu_give(ret->device, ret->taken);
	ret->address = DCU_DEVICE_BASE + ret->offset;
	return r;
}

void dcu_block_free(const struct block *block)
{
	dcu_arena_free(block->offset, block->host, block->bytes);
	if (block->number)
		dcu_share_drop(block->number - 1);
	else if (block->taken)
		dcu_give(block->device, block->taken);
}

/* --- Other processes' --- */

int dcu_foreign_map(uint32_t process, uint64_t offset, size_t bytes, struct block *ret)
{
	struct dgp_message message = {.request = DGP_ARENA, .a = process};
	uint64_t mapped = round_up(bytes, PAGE), addresses;
	int fd, r = dgp_request_file(&message, -1, &fd);
	char *host;

	if (r || fd < 0)
		return r ? r : DCU_INVALID_HANDLE;
	host = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		(off_t)offset);
	close(fd);
	if (host == MAP_FAILED)
		return DCU_OUT_OF_MEMORY;
	addresses = take_offset(mapped);
	*ret = (struct block){.address = DCU_DEVICE_BASE + addresses,
		.bytes = bytes,
		.host = host,
		.kind = DCU_BLOCK_FOREIGN,
		.offset = addresses,
		.id = dcu_new_id()};
	return 0;
}

void dcu_foreign_unmap(const struct block *block)
{
	dcu_arena_free(block->offset, block->host, block->bytes);
}

static bool pop_of(const struct ctx *ctx, struct block *ret)
{
	bool found = false;

	pthread_rwlock_wrlock(&lock);
	for (size_t i = 0; i < n_blocks && !found; i++) {
		if (blocks[i].ctx != ctx || blocks[i].kind == DCU_BLOCK_REGISTERED ||
			blocks[i].kind == DCU_BLOCK_MAPPED)
			continue;
		found = true;
		*ret = blocks[i];
		memmove(blocks + i, blocks + i + 1, (n_blocks - i - 1) * sizeof(*blocks));
		n_blocks--;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

void dcu_memory_leave(struct ctx *ctx)
{
	struct block block;

	while (pop_of(ctx, &block))
		if (block.kind == DCU_BLOCK_DEVICE || block.kind == DCU_BLOCK_FOREIGN)
			dcu_block_free(&block);
		else if (block.kind == DCU_BLOCK_MANAGED)
			dcu_managed_free(&block);
		else if (block.kind != DCU_BLOCK_POOL)
			munmap(block.host, round_up(block.bytes, PAGE));
}

/* --- Addresses --- */

bool dcu_is_device_address(uint64_t address)
{
	return address >= DCU_DEVICE_BASE && address < DCU_DEVICE_END;
}

/* Adjacent blocks count as one if they are adjacent in the process too. */
static char *resolve_in_table(uint64_t address, size_t bytes)
{
	size_t i = place(address);
	char *at = NULL;

	while (i < n_blocks && blocks[i].address <= address && !blocks[i].no_access) {
		const struct block *b = &blocks[i++];
		char *here = b->host + (address - b->address);
		size_t left = b->bytes - (address - b->address);

		if (!at)
			at = here;
		if (bytes <= left)
			return at;
		if (i == n_blocks || blocks[i].host != here + left)
			return NULL;
		bytes -= left;
		address += left;
	}
	return NULL;
}

char *dcu_resolve(uint64_t address, size_t bytes)
{
	char *at;

	if (address + bytes < address)
		return NULL;
	if (!dcu_is_device_address(address))
		return address ? (char *)(uintptr_t)address : NULL;
	pthread_rwlock_rdlock(&lock);
	at = resolve_in_table(address, bytes);
	pthread_rwlock_unlock(&lock);
	return at;
}

bool dcu_block_change(uint64_t address, void (*change)(struct block *block))
{
	bool found;
	size_t i;

	pthread_rwlock_wrlock(&lock);
	i = place(address);
	found = i < n_blocks && blocks[i].address <= address;
	if (found)
		change(&blocks[i]);
	pthread_rwlock_unlock(&lock);
	return found;
}

void dcu_blocks_each(void (*call)(struct block *block, void *user), void *user)
{
	pthread_rwlock_wrlock(&lock);
	for (size_t i = 0; i < n_blocks; i++)
		call(&blocks[i], user);
	pthread_rwlock_unlock(&lock);
}

static void allow(struct block *block)
{
	block->no_access = false;
}

static void forbid(struct block *block)
{
	block->no_access = true;
}

bool dcu_block_set_access(uint64_t address, bool no_access)
{
	return dcu_block_change(address, no_access ? forbid : allow);
}

bool dcu_block_set_number(uint64_t address, uint64_t number)
{
	size_t i;
	bool is_found;

	pthread_rwlock_wrlock(&lock);
	i = place(address);
	is_found = i < n_blocks && blocks[i].address <= address;
	if (is_found)
		blocks[i].number = number;
	pthread_rwlock_unlock(&lock);
	return is_found;
}

bool dcu_is_pageable(uint64_t address)
{
	struct block block;

	return !dcu_is_device_address(address) && !dcu_block_find(address, &block);
}
