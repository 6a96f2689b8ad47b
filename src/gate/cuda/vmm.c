/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory that is mapped by hand.  It lives as long as its handle or any mapping
 * of it.  What another process made is charged to whoever maps it. */
#include "gate/cuda/library.h"
#include "gate/cuda/memory.h"

#include <pthread.h>
#include <stdlib.h>

struct piece {
	struct piece *next;
	uint64_t handle;
	uint32_t n_references; /* of the handle, and mappings */
	struct clv_charge charge;
};

struct mapping {
	struct mapping *next;
	uint64_t address, n_bytes;
	struct piece *piece;      /* NULL: it is another process's */
	struct clv_charge charge; /* of that */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static struct mapping *mappings;

static struct piece *find(uint64_t handle)
{
	struct piece *piece = pieces;

	while (piece && piece->handle != handle)
		piece = piece->next;
	return piece;
}

static void drop(struct piece *piece)
{
	struct piece **link = &pieces;

	if (--piece->n_references > 0)
		return;
	while (*link != piece)
		link = &(*link)->next;
	*link = piece->next;
	clv_charge_undo(&piece->charge);
	free(piece);
}

/* The program holds one reference.  False: no memory for the record. */
static bool remember(uint64_t handle, const struct clv_charge *charge)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	if (!piece)
		return false;
	piece->handle = handle;
	piece->n_references = 1;
	piece->charge = *charge;
	pthread_mutex_lock(&lock);
	piece->next = pieces;
	pieces = piece;
	pthread_mutex_unlock(&lock);
	return true;
}

static int settle(const struct clv_charge *charge, const uint64_t *handle, int result)
{
	if (result != CLV_CUDA_SUCCESS || !remember(*handle, charge))
		clv_charge_undo(charge);
	return result;
}

int clv_own_cuMemCreate(
	clv_fn_cuMemCreate *real, void *handle, size_t size, void *prop, uint64_t flags)
{
	const struct clv_cuda_memory_properties *properties = prop;
	bool is_of_device =
		properties && properties->location.type == CLV_CUDA_LOCATION_DEVICE;
	struct clv_charge charge = {0};

	if (is_of_device && !clv_cuda_charge(size, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, handle, real(handle, size, prop, flags));
}

/* Its mappings show memory that is bound to it, and have none of their own. */
int clv_own_cuMulticastCreate(clv_fn_cuMulticastCreate *real, void *mc_handle, void *prop)
{
	struct clv_charge none = {0};

	return settle(&none, mc_handle, real(mc_handle, prop));
}

int clv_own_cuMemRelease(clv_fn_cuMemRelease *real, uint64_t handle)
{
	struct piece *piece;
	int r;

	pthread_mutex_lock(&lock);
	r = real(handle);
	piece = r == CLV_CUDA_SUCCESS ? find(handle) : NULL;
	if (piece)
		drop(piece);
	pthread_mutex_unlock(&lock);
	return r;
}

int clv_own_cuMemRetainAllocationHandle(
	clv_fn_cuMemRetainAllocationHandle *real, void *handle, void *addr)
{
	struct piece *piece;
	int r;

	pthread_mutex_lock(&lock);
	r = real(handle, addr);
	piece = r == CLV_CUDA_SUCCESS ? find(*(uint64_t *)handle) : NULL;
	if (piece)
		piece->n_references++;
	pthread_mutex_unlock(&lock);
	return r;
}

/* With the lock held. */
static int map(struct mapping *mapping, uint64_t handle, int (*call)(void *userdata),
	void *userdata)
{
	int r;

	mapping->piece = find(handle);
	if (!mapping->piece && !clv_cuda_charge(mapping->n_bytes, &mapping->charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = call(userdata);
	if (r != CLV_CUDA_SUCCESS) {
		clv_charge_undo(&mapping->charge);
		return r;
	}
	if (mapping->piece)
		mapping->piece->n_references++;
	mapping->next = mappings;
	mappings = mapping;
	return r;
}

struct map_call {
	clv_fn_cuMemMap *real;
	uint64_t address, handle, flags;
	size_t n_bytes, offset;
};

static int call_map(void *userdata)
{
	const struct map_call *call = userdata;

	return call->real(
		call->address, call->n_bytes, call->offset, call->handle, call->flags);
}

int clv_own_cuMemMap(clv_fn_cuMemMap *real, uint64_t address, size_t size, size_t offset,
	uint64_t handle, uint64_t flags)
{
	struct map_call call = {real, address, handle, flags, size, offset};
	struct mapping *mapping = calloc(1, sizeof(*mapping));
	int r;

	if (!mapping)
		return CLV_CUDA_OUT_OF_MEMORY;
	mapping->address = address;
	mapping->n_bytes = size;
	pthread_mutex_lock(&lock);
	r = map(mapping, handle, call_map, &call);
	pthread_mutex_unlock(&lock);
	if (r != CLV_CUDA_SUCCESS)
		free(mapping);
	return r;
}

static void forget(uint64_t address, uint64_t n_bytes)
{
	struct mapping **link = &mappings;

	while (*link) {
		struct mapping *mapping = *link;

		if (mapping->address < address || mapping->address >= address + n_bytes) {
			link = &mapping->next;
			continue;
		}
		*link = mapping->next;
		if (mapping->piece)
			drop(mapping->piece);
		else
			clv_charge_undo(&mapping->charge);
		free(mapping);
	}
}

int clv_own_cuMemUnmap(clv_fn_cuMemUnmap *real, uint64_t address, size_t size)
{
	int r;

	pthread_mutex_lock(&lock);
	r = real(address, size);
	if (r == CLV_CUDA_SUCCESS)
		forget(address, size);
	pthread_mutex_unlock(&lock);
	return r;
}
