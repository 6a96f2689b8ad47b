/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* The addresses that programs know.  Device memory is a file of this process; its
 * addresses are numbers at which the process has nothing. */

#define DCU_DEVICE_BASE 0x500000000000ULL
#define DCU_DEVICE_END 0x580000000000ULL

enum block_kind {
	DCU_BLOCK_DEVICE,
	DCU_BLOCK_MANAGED,
	DCU_BLOCK_HOST,
	DCU_BLOCK_REGISTERED,
};

struct block {
	uint64_t address;
	size_t bytes, taken; /* taken: from the device, rounded up */
	char *host;          /* where the process has it */
	enum block_kind kind;
	struct ctx *ctx;
	struct device *device;
	unsigned flags;
	uint64_t id, offset;
};

/* From or to the device, by the machine's count. */
int dcu_take(const struct device *device, uint64_t bytes);
void dcu_give(const struct device *device, uint64_t bytes);

/* New device memory that is counted. */
int dcu_block_new(struct ctx *ctx, size_t bytes, struct block *ret);
void dcu_block_free(const struct block *block);

/* Copies the block that the address is in. */
bool dcu_block_find(uint64_t address, struct block *ret);
bool dcu_block_add(const struct block *block);
bool dcu_block_remove(uint64_t address, struct block *ret);

/* Where the process has `bytes` at the address; NULL where they are not all there. */
char *dcu_resolve(uint64_t address, size_t bytes);
bool dcu_is_device_address(uint64_t address);
bool dcu_is_pageable(uint64_t address);
