/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* The addresses that programs know.  Device memory is a file of this process; its
 * addresses are numbers at which the process has nothing. */

/* Below programs, whose text is not far above 0x550000000000, and above those that say
 * where they are to be. */
#define DCU_DEVICE_BASE 0x300000000000ULL
#define DCU_DEVICE_END 0x380000000000ULL

enum block_kind {
	DCU_BLOCK_DEVICE,
	DCU_BLOCK_MANAGED,
	DCU_BLOCK_POOL,    /* of a memory pool */
	DCU_BLOCK_MAPPED,  /* physical memory at a reserved address */
	DCU_BLOCK_FOREIGN, /* another process's */
	DCU_BLOCK_HOST,
	DCU_BLOCK_REGISTERED,
};

struct block {
	uint64_t address;
	size_t bytes, taken; /* taken: from the device, rounded up; now, of managed */
	char *host;          /* where the process has it */
	enum block_kind kind;
	struct ctx *ctx;
	struct device *device;
	unsigned flags;
	uint64_t id, offset;
	struct pool *pool;
	struct phys *phys;
	bool no_access; /* mapped, and nobody may touch it yet */
	bool at_host;   /* managed, and told to stay there */
	bool is_freed;  /* a stream will come to its end */
	uint32_t again; /* how many ends it has lived on after, by being had again */
};

/* From or to the device, by the machine's count. */
int dcu_take(const struct device *device, uint64_t bytes);
void dcu_give(const struct device *device, uint64_t bytes);

/* New device memory that is counted. */
int dcu_block_new(struct ctx *ctx, size_t bytes, struct block *ret);
void dcu_block_free(const struct block *block);

/* Of the process's own pages. */
int dcu_host_new(struct ctx *ctx, size_t bytes, enum block_kind kind, unsigned flags,
	struct block *ret);

void dcu_managed_free(const struct block *block);
/* A kernel comes: it may use all that there is. */
void dcu_managed_touch(struct ctx *ctx);

void dcu_blocks_each(void (*call)(struct block *block, void *user), void *user);

/* Device memory that is not counted here: a part of the arena, mapped. */
int dcu_arena_new(size_t bytes, uint64_t *ret_offset, char **ret_host);
int dcu_arena_map(size_t bytes, uint64_t offset, char **ret_host);
void dcu_arena_unmap(uint64_t offset, char *host, size_t bytes);
void dcu_arena_free(uint64_t offset, char *host, size_t bytes);
/* Addresses with nothing behind them, as an offset from DCU_DEVICE_BASE. */
uint64_t dcu_addresses_take(uint64_t bytes);
void dcu_addresses_give(uint64_t offset, uint64_t bytes);
bool dcu_block_change(uint64_t address, void (*change)(struct block *block));
bool dcu_block_set_access(uint64_t address, bool no_access);

/* Another process's memory at an address of this one. */
int dcu_foreign_map(uint32_t process, uint64_t offset, size_t bytes, struct block *ret);
void dcu_foreign_unmap(const struct block *block);

/* Copies the block that the address is in. */
bool dcu_block_find(uint64_t address, struct block *ret);
bool dcu_block_add(const struct block *block);
bool dcu_block_remove(uint64_t address, struct block *ret);

/* Where the process has `bytes` at the address; NULL where they are not all there. */
char *dcu_resolve(uint64_t address, size_t bytes);
bool dcu_is_device_address(uint64_t address);
bool dcu_is_pageable(uint64_t address);
