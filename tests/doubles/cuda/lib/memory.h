/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* The addresses that programs see. Device memory is a file of this process; its addresses
 * are numbers at which the process has no mapping. */

/* Below programs, whose text is not far above 0x550000000000, and above programs with a
 * fixed load address. */
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
	size_t bytes, taken; /* taken: of the device, rounded up; managed: now */
	char *host;          /* the process's mapping */
	enum block_kind kind;
	struct ctx *ctx;
	struct device *device;
	unsigned flags;
	uint64_t id, offset;
	struct pool *pool;
	struct phys *phys;
	uint64_t number; /* 1 + that in the machine, if a file has the memory */
	bool no_access;  /* mapped, and access is not set yet */
	bool at_host;    /* managed, and advised to stay on the host */
	bool is_freed;   /* a stream will free it */
	uint32_t again;  /* how many times it was reused before its stream-ordered free */
};

/* Charges or returns device memory in the machine's count. */
int dcu_take(const struct device *device, uint64_t bytes);
void dcu_give(const struct device *device, uint64_t bytes);

/* New device memory that is counted. */
int dcu_block_new(struct ctx *ctx, size_t bytes, struct block *ret);
void dcu_block_free(const struct block *block);

/* Host memory of the process. */
int dcu_host_new(struct ctx *ctx, size_t bytes, enum block_kind kind, unsigned flags,
	struct block *ret);

void dcu_managed_free(const struct block *block);
/* For a launch: the kernel may use all managed memory. */
void dcu_managed_touch(struct ctx *ctx);

void dcu_blocks_each(void (*call)(struct block *block, void *user), void *user);

/* Device memory that is not counted here: a mapped part of the arena. */
int dcu_arena_new(size_t bytes, uint64_t *ret_offset, char **ret_host);
int dcu_arena_map(size_t bytes, uint64_t offset, char **ret_host);
void dcu_arena_unmap(uint64_t offset, char *host, size_t bytes);
void dcu_arena_free(uint64_t offset, char *host, size_t bytes);
/* Reserves addresses without memory, as an offset from DCU_DEVICE_BASE. */
uint64_t dcu_addresses_take(uint64_t bytes);
void dcu_addresses_give(uint64_t offset, uint64_t bytes);
bool dcu_block_change(uint64_t address, void (*change)(struct block *block));
bool dcu_block_set_access(uint64_t address, bool no_access);
bool dcu_block_set_number(uint64_t address, uint64_t number);

/* Maps another process's memory at an address of this one. */
int dcu_foreign_map(uint32_t process, uint64_t offset, size_t bytes, struct block *ret);
void dcu_foreign_unmap(const struct block *block);

/* A file of the memory, which keeps it, or -1. */
int dcu_phys_file(struct phys *p);

/* Copies the block that contains the address. */
bool dcu_block_find(uint64_t address, struct block *ret);
bool dcu_block_add(const struct block *block);
bool dcu_block_remove(uint64_t address, struct block *ret);

/* Returns the process's mapping of `bytes` at the address; NULL where a part of them does
 * not exist. */
char *dcu_resolve(uint64_t address, size_t bytes);
bool dcu_is_device_address(uint64_t address);
bool dcu_is_pageable(uint64_t address);
