/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/file.h"
#include "internal.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Another process's memory: a part of its arena, counted only there. */

struct shared {
	uint32_t process, reserved;
	uint64_t offset, bytes;
};

_Static_assert(
	sizeof(struct shared) <= sizeof(struct hsa_ipc), "it goes into the handle");

int dhs_hsa_amd_ipc_memory_create(void *p, size_t bytes, struct hsa_ipc *ret)
{
	struct shared shared = {.process = dgp_hello.number};
	struct block block;

	if (!ret || !dhs_block_find(p, &block) || block.base != p ||
		block.kind != BLOCK_POOL || block.pool->agent->kind != HSA_DEVICE_GPU ||
		bytes > block.bytes)
		return HSA_INVALID_ARGUMENT;
	shared.offset = block.offset;
	shared.bytes = block.bytes;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &shared, sizeof(shared));
	return 0;
}

static int arena_of(uint32_t process)
{
	struct dgp_message message = {.request = DGP_ARENA, .a = process};
	int fd = -1;

	return dgp_request_file(&message, -1, &fd) ? -1 : fd;
}

int dhs_hsa_amd_ipc_memory_attach(const struct hsa_ipc *handle, size_t bytes, uint32_t n,
	const hsa_agent *agents, void **ret)
{
	struct shared shared;
	struct block block = {.kind = BLOCK_FOREIGN};
	int fd;

	if (!handle || !ret)
		return HSA_INVALID_ARGUMENT;
	memcpy(&shared, handle, sizeof(shared));
	block.bytes = shared.bytes;
	block.pool = &dhs_agents[dhs_n_agents > 1].pools[0];
	fd = arena_of(shared.process);
	if (fd < 0)
		return HSA_INVALID_ARGUMENT;
	block.base = mmap(NULL, block.bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, (off_t)shared.offset);
	close(fd);
	if (block.base == MAP_FAILED)
		return HSA_OUT_OF_RESOURCES;
	dhs_block_add(&block);
	*ret = block.base;
	return 0;
}

int dhs_hsa_amd_ipc_memory_detach(void *p)
{
	struct block block;

	if (!dhs_block_find(p, &block) || block.base != p || block.kind != BLOCK_FOREIGN)
		return HSA_INVALID_ARGUMENT;
	dgp_effects_apply();
	dhs_block_remove(p, &block);
	munmap(block.base, block.bytes);
	return 0;
}

/* A file of the memory, which the machine does not count. */
int dhs_hsa_amd_portable_export_dmabuf(
	const void *p, size_t bytes, int *ret_fd, uint64_t *ret_offset)
{
	struct block block;

	if (!ret_fd || !ret_offset || !bytes || !dhs_block_find(p, &block) ||
		block.kind != BLOCK_POOL ||
		bytes > block.bytes - (size_t)((const char *)p - (char *)block.base))
		return HSA_INVALID_ARGUMENT;
	*ret_offset = (uint64_t)((const char *)p - (char *)block.base);
	*ret_fd = dgp_file_new(&block.offset, sizeof(block.offset));
	return *ret_fd < 0 ? HSA_OUT_OF_RESOURCES : 0;
}
