/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include "memory.h"
#include "share.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Physical memory and addresses, separate from each other. A reserved range is also
 * reserved in this process's own addresses: adjacent mappings must be usable as one. */

#define GRANULE (2ULL << 20)

struct phys {
	uint32_t magic, process;
	struct device *device; /* NULL: host memory, which is not counted */
	uint64_t bytes, offset;
	uint32_t refs;
	bool is_multicast;
	struct phys *original; /* for a local import: keeps the original alive */
	bool is_shared;        /* it was exported, or imported from another process */
	uint64_t number;       /* in the machine */
	struct allocation_prop prop;
};

struct range {
	uint64_t address, bytes;
	char *host;
	struct range *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;

static bool is_phys(const struct phys *p)
{
	return p && p->magic == DCU_IS_PHYS;
}

static struct range *range_of(uint64_t address, uint64_t bytes)
{
	struct range *r = ranges;

	while (r && (address < r->address || address + bytes > r->address + r->bytes))
		r = r->next;
	return r;
}

/* --- Addresses --- */

int dcu_cuMemAddressReserve(uint64_t *ret, size_t bytes, size_t alignment, uint64_t wish,
	unsigned long long flags)
{
	struct range *r;
	uint64_t offset;

	if (!ret || !bytes || bytes % GRANULE || flags)
		return DCU_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	/* The alignment concerns addresses; the arena has only pages. */
	offset = dcu_addresses_take(bytes + GRANULE);
	r->address = (DCU_DEVICE_BASE + offset + GRANULE - 1) / GRANULE * GRANULE;
	r->bytes = bytes;
	r->host = mmap(NULL, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->host == MAP_FAILED) {
		free(r);
		return DCU_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&lock);
	r->next = ranges;
	ranges = r;
	pthread_mutex_unlock(&lock);
	*ret = r->address;
	return 0;
}

static bool is_mapped(const struct range *r)
{
	struct block block;

	for (uint64_t at = r->address; at < r->address + r->bytes; at += GRANULE)
		if (dcu_block_find(at, &block))
			return true;
	return false;
}

int dcu_cuMemAddressFree(uint64_t address, size_t bytes)
{
	int result = DCU_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	for (struct range **at = &ranges; *at; at = &(*at)->next) {
		struct range *r = *at;

		if (r->address != address || r->bytes != bytes || is_mapped(r))
			continue;
		*at = r->next;
		munmap(r->host, r->bytes);
		free(r);
		result = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* --- Memory --- */

static int make(uint64_t bytes, struct device *device, struct phys **ret)
{
	struct phys *p = calloc(1, sizeof(*p));
	int r = device ? dcu_take(device, bytes) : 0;

	if (r) {
		free(p);
		return r;
	}
	p->magic = DCU_IS_PHYS;
	p->process = dgp_hello.number;
	p->device = device;
	p->bytes = bytes;
	p->offset = dcu_addresses_take(bytes);
	p->refs = 1;
	*ret = p;
	return 0;
}

int dcu_cuMemCreate(struct phys **ret, size_t bytes, const struct allocation_prop *prop,
	unsigned long long flags)
{
	struct device *device = NULL;
	int r;

	if (!ret || !prop || !bytes || bytes % GRANULE || flags || prop->type != 1)
		return DCU_INVALID_VALUE;
	if (prop->location.type == DCU_AT_DEVICE) {
		device = dcu_device_at(prop->location.id);
		if (!device)
			return DCU_INVALID_DEVICE;
	} else if (prop->location.type < 1 || prop->location.type > DCU_AT_HOST_HERE) {
		return DCU_INVALID_VALUE;
	}
	r = make(bytes, device, ret);
	if (!r)
		(*ret)->prop = *prop;
	return r;
}

static void unref(struct phys *p)
{
	if (--p->refs)
		return;
	p->magic = DCU_DEAD;
	if (p->original)
		unref(p->original);
	if (p->is_shared)
		dcu_share_drop(p->number);
	if (p->process != dgp_hello.number || p->is_shared)
		return;
	dcu_addresses_give(p->offset, p->bytes);
	if (p->device)
		dcu_give(p->device, p->bytes);
}

int dcu_cuMemRelease(struct phys *p)
{
	if (!is_phys(p))
		return DCU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	unref(p);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int file_of(const struct phys *p)
{
	struct dgp_message message = {.request = DGP_ARENA, .a = p->process};
	int fd = -1;

	if (p->process == dgp_hello.number || !p->process)
		return dup(dgp_arena());
	dgp_request_file(&message, -1, &fd);
	return fd;
}

static int map(
	struct range *r, uint64_t address, size_t bytes, size_t offset, struct phys *p)
{
	struct block block = {.address = address,
		.bytes = bytes,
		.host = r->host + (address - r->address),
		.kind = DCU_BLOCK_MAPPED,
		.ctx = dcu_current(),
		.device = p->device ? p->device : &dcu_devices[0],
		.phys = p,
		.no_access = true,
		.id = dcu_new_id()};
	int fd;

	if (!dcu_block_add(&block))
		return DCU_ALREADY_MAPPED;
	fd = file_of(p);
	if (fd < 0 || mmap(block.host, bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd,
			      (off_t)(p->offset + offset)) == MAP_FAILED) {
		dcu_block_remove(address, &block);
		return DCU_INVALID_VALUE;
	}
	close(fd);
	p->refs++;
	return 0;
}

int dcu_cuMemMap(uint64_t address, size_t bytes, size_t offset, struct phys *p,
	unsigned long long flags)
{
	struct range *r;
	int result = DCU_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	r = range_of(address, bytes);
	if (is_phys(p) && r && bytes && !flags && !(address % GRANULE) &&
		!(bytes % GRANULE) && offset + bytes <= p->bytes)
		result = map(r, address, bytes, offset, p);
	pthread_mutex_unlock(&lock);
	return result;
}

int dcu_cuMemUnmap(uint64_t address, size_t bytes)
{
	struct block block;
	struct ctx *ctx = dcu_current();
	uint64_t end = address + bytes;

	if (!dcu_block_find(address, &block) || block.kind != DCU_BLOCK_MAPPED)
		return DCU_INVALID_VALUE;
	if (ctx)
		dcu_ctx_await(ctx);
	pthread_mutex_lock(&lock);
	while (address < end && dcu_block_remove(address, &block)) {
		mmap(block.host, block.bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		address += block.bytes;
		unref(block.phys);
	}
	pthread_mutex_unlock(&lock);
	return address == end ? 0 : DCU_INVALID_VALUE;
}

int dcu_cuMemSetAccess(
	uint64_t address, size_t bytes, const struct access *access, size_t n)
{
	struct block block;

	if (!access || !n)
		return DCU_INVALID_VALUE;
	for (uint64_t at = address; at < address + bytes;
		at = block.address + block.bytes)
		if (!dcu_block_find(at, &block) || block.kind != DCU_BLOCK_MAPPED ||
			!dcu_block_set_access(at, access[n - 1].flags == 0))
			return DCU_INVALID_VALUE;
	return 0;
}

int dcu_cuMemRetainAllocationHandle(struct phys **ret, void *at)
{
	struct block block;

	if (!ret || !dcu_block_find((uint64_t)(uintptr_t)at, &block) ||
		block.kind != DCU_BLOCK_MAPPED)
		return DCU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	block.phys->refs++;
	pthread_mutex_unlock(&lock);
	*ret = block.phys;
	return 0;
}

/* --- To other processes --- */

int dcu_phys_file(struct phys *p)
{
	struct shared shared = {.magic = DCU_SHARED_PHYS};

	while (p->original)
		p = p->original;
	shared.process = p->process;
	shared.number = p->number;
	shared.gpu = p->device ? p->device->gpu : 0;
	shared.offset = p->offset;
	shared.bytes = p->bytes;
	shared.address = (uint64_t)(uintptr_t)p;
	if (!p->is_shared && p->process == dgp_hello.number) {
		p->is_shared = dcu_share_new(&shared, p->device ? p->bytes : 0);
		p->number = shared.number;
	}
	return p->is_shared ? dcu_share_file(&shared) : -1;
}

int dcu_cuMemExportToShareableHandle(
	void *ret, struct phys *p, uint32_t type, unsigned long long flags)
{
	if (!ret || !is_phys(p) || type != DCU_HANDLE_FD || flags ||
		!(p->prop.handle_types & DCU_HANDLE_FD))
		return DCU_INVALID_VALUE;
	*(int *)ret = dcu_phys_file(p);
	return *(int *)ret < 0 ? DCU_OUT_OF_MEMORY : 0;
}

/* An import and the exported handle both keep the memory alive. */
static void keep_original(struct phys *p, struct phys *original)
{
	pthread_mutex_lock(&lock);
	if (is_phys(original)) {
		original->refs++;
		p->original = original;
	}
	pthread_mutex_unlock(&lock);
}

int dcu_cuMemImportFromShareableHandle(struct phys **ret, void *handle, uint32_t type)
{
	struct shared shared;
	struct phys *p;

	if (!ret || type != DCU_HANDLE_FD ||
		!dcu_share_read((int)(intptr_t)handle, DCU_SHARED_PHYS, &shared))
		return DCU_INVALID_VALUE;
	p = calloc(1, sizeof(*p));
	p->magic = DCU_IS_PHYS;
	p->process = shared.process;
	p->device = dcu_device_of_gpu(shared.gpu);
	p->bytes = shared.bytes;
	p->offset = shared.offset;
	p->refs = 1;
	if (p->process == dgp_hello.number) {
		p->process = 0; /* never returned twice */
		keep_original(p, (struct phys *)(uintptr_t)shared.address);
	}
	/* A process's own import of what it has freed is one of the machine's too. */
	if (!p->original) {
		dcu_share_import(shared.number);
		p->is_shared = true;
		p->number = shared.number;
	}
	p->prop = (struct allocation_prop){
		.type = 1, .handle_types = type, .location = {DCU_AT_DEVICE, 0}};
	*ret = p;
	return 0;
}

/* --- Multicast: an object without memory of its own --- */

int dcu_cuMulticastCreate(struct phys **ret, const struct multicast_prop *prop)
{
	struct phys *p;

	if (!ret || !prop || !prop->n_devices || !prop->bytes || prop->bytes % GRANULE)
		return DCU_INVALID_VALUE;
	if (make(prop->bytes, NULL, &p))
		return DCU_OUT_OF_MEMORY;
	p->is_multicast = true;
	*ret = p;
	return 0;
}
