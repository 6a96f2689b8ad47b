/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tenant.h"

/* What of HIP's and HSA's memory more than one program declares. */

struct channels {
	int bits[4], kind;
};

struct pool_properties {
	int type, handle_types;
	struct {
		int type, id;
	} location;
	void *security;
	unsigned char reserved[64];
};

struct piece_properties {
	int type, handle_type;
	struct {
		int type, id;
	} location;
	void *meta;
	unsigned char compression, rdma;
	unsigned short usage;
};

struct alloc_node {
	struct pool_properties properties;
	const void *accesses;
	size_t n_accesses, bytes;
	void *p;
};

int hipGraphAddMemAllocNode(handle *node, handle graph, const handle *deps, size_t n,
	struct alloc_node *parameters);

int hipMemCreate(handle *piece, size_t bytes, const struct piece_properties *properties,
	unsigned long long flags);
int hipMemRelease(handle piece);
int hipMemAddressReserve(
	void **p, size_t bytes, size_t alignment, void *at, unsigned long long flags);
int hipMemMap(
	void *p, size_t bytes, size_t offset, handle piece, unsigned long long flags);
typedef int (*visit)(uint64_t thing, void *userdata);
int hsa_iterate_agents(visit visit, void *userdata);
int hsa_agent_get_info(uint64_t agent, int what, void *ret);
int hsa_amd_agent_iterate_memory_pools(uint64_t agent, visit visit, void *userdata);
int hsa_agent_iterate_regions(uint64_t agent, visit visit, void *userdata);
int hipMallocArray(handle *array, const struct channels *channels, size_t width,
	size_t height, unsigned flags);
int hipExtMallocWithFlags(void **p, size_t bytes, unsigned flags);
int hipMallocPitch(void **p, size_t *pitch, size_t width, size_t height);
int hipMallocAsync(void **p, size_t bytes, handle stream);
int hipMallocFromPoolAsync(void **p, size_t bytes, handle pool, handle stream);
int hipMemPoolCreate(handle *pool, const struct pool_properties *properties);
int hipGraphCreate(handle *graph, unsigned flags);
int hsa_amd_memory_pool_allocate(uint64_t pool, size_t bytes, uint32_t flags, void **p);
int hsa_memory_allocate(uint64_t region, size_t bytes, void **p);
