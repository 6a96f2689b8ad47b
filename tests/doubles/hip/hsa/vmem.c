/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/file.h"
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Addresses and physical memory, separate from each other. A piece lives as long as its
 * handle or a mapping of it, and is counted once. */

#define PIECE ((size_t)2 << 20)
#define MAGIC 0x70687973

struct physical {
	uint32_t magic;
	int references;
	size_t bytes;
	struct pool *pool;
	int type;
	uint64_t offset;
	uint32_t process; /* 0: this process */
	int fd;           /* another process's arena */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct physical *physical(hsa_handle handle)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;

	return p && p->magic == MAGIC ? p : NULL;
}

/* --- Addresses --- */

int dhs_hsa_amd_vmem_address_reserve_align(
	void **ret, size_t bytes, uint64_t address, uint64_t alignment, uint64_t flags)
{
	char *base, *end;
	size_t room = bytes + PIECE;

	if (!ret || !bytes || bytes % GRANULE)
		return HSA_INVALID_ARGUMENT;
	base = mmap((void *)(uintptr_t)address, room, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return HSA_OUT_OF_RESOURCES;
	end = base + room;
	*ret = (void *)(((uintptr_t)base + PIECE - 1) / PIECE * PIECE);
	if (*ret != base)
		munmap(base, (size_t)((char *)*ret - base));
	if ((char *)*ret + bytes != end)
		munmap((char *)*ret + bytes, (size_t)(end - ((char *)*ret + bytes)));
	return 0;
}

int dhs_hsa_amd_vmem_address_reserve(
	void **ret, size_t bytes, uint64_t address, uint64_t flags)
{
	return dhs_hsa_amd_vmem_address_reserve_align(ret, bytes, address, 0, flags);
}

int dhs_hsa_amd_vmem_address_free(void *p, size_t bytes)
{
	struct block block;

	if (!p || dhs_block_find(p, &block))
		return HSA_INVALID_ARGUMENT;
	return munmap(p, bytes) ? HSA_INVALID_ALLOCATION : 0;
}

/* --- Pieces --- */

int dhs_hsa_amd_vmem_handle_create(
	hsa_pool handle, size_t bytes, int type, uint64_t flags, hsa_handle *ret)
{
	struct pool *pool = dhs_pool(handle);
	struct physical *p;
	int r;

	if (!pool || pool->agent->kind != HSA_DEVICE_GPU)
		return HSA_INVALID_ARGUMENT;
	if (!ret || !bytes || bytes % GRANULE)
		return HSA_INVALID_ARGUMENT;
	r = dhs_take(pool->agent, bytes);
	if (r)
		return r;
	p = malloc(sizeof(*p));
	*p = (struct physical){.magic = MAGIC,
		.references = 1,
		.bytes = bytes,
		.pool = pool,
		.type = type,
		.offset = dhs_arena_new(bytes),
		.fd = -1};
	*ret = dhs_handle(p);
	return 0;
}

static void drop(struct physical *p)
{
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = --p->references == 0;
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	if (p->process) {
		close(p->fd);
	} else {
		dhs_arena_free(p->offset, p->bytes);
		dhs_give(p->pool->agent, p->bytes);
	}
	p->magic = 0;
	free(p);
}

int dhs_hsa_amd_vmem_handle_release(hsa_handle handle)
{
	struct physical *p = physical(handle);

	if (!p)
		return HSA_INVALID_ALLOCATION;
	drop(p);
	return 0;
}

static struct physical *keep(struct physical *p)
{
	pthread_mutex_lock(&lock);
	p->references++;
	pthread_mutex_unlock(&lock);
	return p;
}

int dhs_hsa_amd_vmem_map(
	void *at, size_t bytes, size_t offset, hsa_handle handle, uint64_t flags)
{
	struct physical *p = physical(handle);
	struct block block = {.kind = BLOCK_MAPPED, .base = at, .bytes = bytes};

	if (!p)
		return HSA_INVALID_ALLOCATION;
	if (!at || !bytes || offset > p->bytes || bytes > p->bytes - offset)
		return HSA_INVALID_ARGUMENT;
	block.pool = p->pool;
	block.phys = p;
	block.offset = p->offset + offset;
	if (!dhs_block_add(&block))
		return HSA_INVALID_ARGUMENT;
	if (mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
		    p->process ? p->fd : dgp_arena(), (off_t)block.offset) != at) {
		dhs_block_remove(at, &block);
		return HSA_OUT_OF_RESOURCES;
	}
	keep(p);
	return 0;
}

int dhs_hsa_amd_vmem_unmap(void *at, size_t bytes)
{
	struct block block;

	if (!dhs_block_find(at, &block) || block.base != at || block.bytes != bytes ||
		block.kind != BLOCK_MAPPED)
		return HSA_INVALID_ALLOCATION;
	dgp_effects_apply();
	dhs_block_remove(at, &block);
	mmap(at, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	drop(block.phys);
	return 0;
}

/* --- Access --- */

static void set_access(struct block *block, void *user)
{
	block->access = *(uint32_t *)user;
}

int dhs_hsa_amd_vmem_set_access(
	void *at, size_t bytes, const struct hsa_access *access, size_t n)
{
	char *end = (char *)at + bytes;
	struct block block;

	if (!n || !access)
		return HSA_INVALID_ARGUMENT;
	for (char *p = at; p < end; p = block.base + block.bytes) {
		uint32_t how = access[0].permissions;

		if (!dhs_block_find(p, &block) || block.kind != BLOCK_MAPPED)
			return HSA_INVALID_ALLOCATION;
		dhs_block_change(p, set_access, &how);
		mprotect(block.base, block.bytes,
			how ? PROT_READ | PROT_WRITE : PROT_NONE);
	}
	return 0;
}

int dhs_hsa_amd_vmem_get_access(void *at, uint32_t *ret, hsa_agent agent)
{
	struct block block;

	if (!dhs_block_find(at, &block) || block.kind != BLOCK_MAPPED)
		return HSA_INVALID_ALLOCATION;
	*ret = block.access;
	return 0;
}

/* --- Sharing: a file with the location of the piece --- */

struct where {
	uint32_t process, pool;
	uint64_t offset, bytes;
};

static uint32_t number_of(const struct pool *pool)
{
	return (uint32_t)(pool->agent - dhs_agents);
}

int dhs_hsa_amd_vmem_export_shareable_handle(
	int *ret_fd, hsa_handle handle, uint64_t flags)
{
	const struct physical *p = physical(handle);
	struct where where;
	int fd;

	if (!p || !ret_fd || p->process)
		return HSA_INVALID_ALLOCATION;
	where = (struct where){dgp_hello.number, number_of(p->pool), p->offset, p->bytes};
	fd = dgp_file_new(&where, sizeof(where));
	if (fd < 0)
		return HSA_OUT_OF_RESOURCES;
	*ret_fd = fd;
	return 0;
}

int dhs_hsa_amd_vmem_import_shareable_handle(int fd, hsa_handle *ret)
{
	struct dgp_message message = {.request = DGP_ARENA};
	struct physical *p;
	struct where where;
	int arena = -1;

	if (!ret || !dgp_file_read(fd, &where, sizeof(where)) ||
		where.pool >= (uint32_t)dhs_n_agents)
		return HSA_INVALID_ARGUMENT;
	message.a = where.process;
	if (dgp_request_file(&message, -1, &arena) || arena < 0)
		return HSA_INVALID_ARGUMENT;
	p = malloc(sizeof(*p));
	*p = (struct physical){.magic = MAGIC,
		.references = 1,
		.bytes = where.bytes,
		.pool = &dhs_agents[where.pool].pools[0],
		.offset = where.offset,
		.process = where.process,
		.fd = arena};
	*ret = dhs_handle(p);
	return 0;
}

int dhs_hsa_amd_vmem_retain_alloc_handle(hsa_handle *ret, void *at)
{
	struct block block;

	if (!ret || !dhs_block_find(at, &block) || block.kind != BLOCK_MAPPED)
		return HSA_INVALID_ALLOCATION;
	*ret = dhs_handle(keep(block.phys));
	return 0;
}
