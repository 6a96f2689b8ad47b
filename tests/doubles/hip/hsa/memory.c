/* SPDX-License-Identifier: Apache-2.0 */
#include "../by-address.h"
#include "internal.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Memory: the machine counts each allocation separately. A GPU's memory is a part of the
 * process's arena, which the process can access, as behind a large BAR. */

/* --- Lookup by address --- */

DEFINE_BY_ADDRESS(dhs_block, struct block)

bool dhs_block_change(
	const void *p, void (*change)(struct block *block, void *user), void *user)
{
	struct block *found;

	pthread_rwlock_wrlock(&lock);
	found = find(p);
	if (found)
		change(found, user);
	pthread_rwlock_unlock(&lock);
	return found;
}

/* --- From the machine --- */

int dhs_take(const struct agent *agent, uint64_t bytes)
{
	struct dgp_message message = {.request = DGP_TAKE, .a = agent->gpu, .b = bytes};

	return dgp_request(&message) ? HSA_OUT_OF_RESOURCES : 0;
}

void dhs_give(const struct agent *agent, uint64_t bytes)
{
	struct dgp_message message = {.request = DGP_GIVE, .a = agent->gpu, .b = bytes};

	dgp_request(&message);
}

/* Addresses in the arena are not reused; there are enough of them. */
uint64_t dhs_arena_new(size_t bytes)
{
	static _Atomic uint64_t end;

	return atomic_fetch_add(&end, bytes);
}

void dhs_arena_free(uint64_t offset, size_t bytes)
{
	if (dgp_arena() >= 0)
		fallocate(dgp_arena(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)offset, (off_t)bytes);
}

static int allocate_device(struct block *block)
{
	int r = dhs_take(block->pool->agent, block->bytes);

	if (r)
		return r;
	block->taken = block->bytes;
	block->offset = dhs_arena_new(block->bytes);
	block->base = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, dgp_arena(), (off_t)block->offset);
	if (block->base != MAP_FAILED)
		return 0;
	dhs_give(block->pool->agent, block->taken);
	return HSA_OUT_OF_RESOURCES;
}

static int allocate_host(struct block *block)
{
	block->base = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return block->base == MAP_FAILED ? HSA_OUT_OF_RESOURCES : 0;
}

int dhs_hsa_amd_memory_pool_allocate(
	hsa_pool handle, size_t bytes, uint32_t flags, void **ret)
{
	struct block block = {.kind = BLOCK_POOL, .pool = dhs_pool(handle)};
	int r;

	if (!ret || !bytes)
		return HSA_INVALID_ARGUMENT;
	if (!block.pool)
		return HSA_INVALID_POOL;
	if (bytes > (uint64_t)1 << 40)
		return HSA_INVALID_ALLOCATION;
	block.bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
	r = block.pool->agent->kind == HSA_DEVICE_GPU ? allocate_device(&block)
						      : allocate_host(&block);
	if (r)
		return r;
	dhs_block_add(&block);
	*ret = block.base;
	return 0;
}

int dhs_hsa_amd_memory_pool_allocate_later(
	hsa_pool handle, size_t bytes, uint32_t flags, void **ret)
{
	return dhs_hsa_amd_memory_pool_allocate(handle, bytes, flags, ret);
}

/* Effects of completed commands are applied before the memory is freed. */
int dhs_hsa_amd_memory_pool_free(void *p)
{
	struct block block;

	if (!p)
		return 0;
	if (!dhs_block_find(p, &block) || block.base != p || block.kind != BLOCK_POOL)
		return HSA_INVALID_ALLOCATION;
	dgp_effects_apply();
	if (!dhs_block_remove(p, &block))
		return HSA_INVALID_ALLOCATION;
	munmap(block.base, block.bytes);
	if (block.pool->agent->kind == HSA_DEVICE_GPU) {
		dhs_arena_free(block.offset, block.bytes);
		dhs_give(block.pool->agent, block.taken);
	}
	return 0;
}

int dhs_hsa_memory_allocate(hsa_handle region, size_t bytes, void **ret)
{
	int r = dhs_hsa_amd_memory_pool_allocate(region, bytes, 0, ret);

	return r == HSA_INVALID_POOL ? HSA_INVALID_REGION : r;
}

int dhs_hsa_memory_free(void *p)
{
	return dhs_hsa_amd_memory_pool_free(p);
}

int dhs_hsa_amd_agents_allow_access(
	uint32_t n, const hsa_agent *agents, const uint32_t *flags, const void *p)
{
	struct block block;

	if (!n || !agents || flags || !p)
		return HSA_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < n; i++)
		if (!dhs_agent(agents[i]))
			return HSA_INVALID_AGENT;
	return dhs_block_find(p, &block) ? 0 : HSA_INVALID_ALLOCATION;
}

/* --- Memory of the program --- */

static void add_lock(struct block *block, void *user)
{
	block->locks++;
}

int dhs_hsa_amd_memory_lock(
	void *host, size_t bytes, hsa_agent *agents, int n, void **ret)
{
	struct block block = {.kind = BLOCK_LOCKED,
		.base = host,
		.bytes = bytes,
		.pool = &dhs_agents[0].pools[0],
		.locks = 1};

	if (!host || !bytes || !ret)
		return HSA_INVALID_ARGUMENT;
	if (!dhs_block_add(&block) && !dhs_block_change(host, add_lock, NULL))
		return HSA_OUT_OF_RESOURCES;
	*ret = host;
	return 0;
}

static void drop_lock(struct block *block, void *user)
{
	*(uint32_t *)user = --block->locks;
}

int dhs_hsa_amd_memory_unlock(void *host)
{
	struct block block;
	uint32_t left = 0;

	if (!dhs_block_find(host, &block) || block.kind != BLOCK_LOCKED)
		return HSA_INVALID_ARGUMENT;
	dhs_block_change(host, drop_lock, &left);
	if (!left)
		dhs_block_remove(block.base, &block);
	return 0;
}

/* --- Properties of an address --- */

static const uint32_t types[] = {
	[BLOCK_POOL] = HSA_POINTER_HSA,
	[BLOCK_LOCKED] = HSA_POINTER_LOCKED,
	[BLOCK_MAPPED] = HSA_POINTER_HSA,
	[BLOCK_FOREIGN] = HSA_POINTER_IPC,
};

static void all_agents(uint32_t *n, hsa_agent **ret, void *(*allocate)(size_t bytes))
{
	*n = (uint32_t)dhs_n_agents;
	*ret = allocate(sizeof(hsa_agent) * *n);
	for (uint32_t i = 0; i < *n; i++)
		(*ret)[i] = dhs_handle(&dhs_agents[i]);
}

int dhs_hsa_amd_pointer_info(const void *p, struct hsa_pointer_info *ret, void *alloc,
	uint32_t *n_accessible, hsa_agent **accessible)
{
	struct hsa_pointer_info info = {.size = sizeof(info)};
	struct block block;

	if (!p || !ret || !ret->size)
		return HSA_INVALID_ARGUMENT;
	if (dhs_block_find(p, &block)) {
		info.type = types[block.kind];
		info.agent_base = info.host_base = block.base;
		info.bytes = block.bytes;
		info.user = block.user;
		info.owner = dhs_handle(block.pool->agent);
		info.global_flags = block.pool->flags;
	}
	if (ret->size < info.size)
		info.size = ret->size;
	memcpy(ret, &info, info.size);
	if (alloc && n_accessible && accessible)
		all_agents(n_accessible, accessible, (void *(*)(size_t))(uintptr_t)alloc);
	return 0;
}
