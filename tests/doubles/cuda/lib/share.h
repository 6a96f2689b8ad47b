/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "memory.h"

/* The description of shared memory for another process: in the bytes of a handle, or in a
 * file. */
struct shared {
	uint64_t magic;
	uint32_t process, gpu;
	uint64_t offset, bytes, address, pool;
	uint64_t number; /* in the machine, of memory with files */
};

_Static_assert(sizeof(struct shared) <= DGP_SHARE_BYTES, "the machine keeps it");

#define DCU_SHARED_BLOCK 0x1b10c
#define DCU_SHARED_PHYS 0x1b10d
#define DCU_SHARED_POOL 0x1b10e
#define DCU_SHARED_RANGE 0x1b10f /* a dma-buf */

/* Records memory of the device in the machine, and sets its number. */
bool dcu_share_new(struct shared *shared, uint64_t n_bytes);
/* Returns one more file with the description, or -1. */
int dcu_share_file(const struct shared *shared);
/* Another process's memory is imported; memory is freed, or an import. */
void dcu_share_import(uint64_t number);
void dcu_share_drop(uint64_t number);
bool dcu_share_read(int fd, uint64_t magic, struct shared *ret);
/* Returns this process's device for the machine's GPU; NULL if it is not visible. */
struct device *dcu_device_of_gpu(uint32_t gpu);
