/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "memory.h"

/* What is said of memory to another process: as the bytes of a handle, or in a file. */
struct shared {
	uint64_t magic;
	uint32_t process, gpu;
	uint64_t offset, bytes, address, pool;
};

_Static_assert(sizeof(struct shared) <= DGP_SHARE_BYTES, "the machine keeps it");

#define DCU_SHARED_BLOCK 0x1b10c
#define DCU_SHARED_PHYS 0x1b10d
#define DCU_SHARED_POOL 0x1b10e

/* A file that says it, or -1. */
int dcu_share_file(const struct shared *shared);
bool dcu_share_read(int fd, uint64_t magic, struct shared *ret);
/* This process's device that is the machine's GPU; NULL where it cannot see it. */
struct device *dcu_device_of_gpu(uint32_t gpu);
