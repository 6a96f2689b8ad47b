/* SPDX-License-Identifier: Apache-2.0 */
#include "../by-address.h"
#include "internal.h"
#include <stdlib.h>

/* Device, host and managed memory: each allocation is one of HSA's. */

DEFINE_BY_ADDRESS(dhi_memory, struct memory)

/* --- Of a device --- */

int dhi_take(struct device *device, hsa_pool pool, size_t bytes, void **ret)
{
	int r = hsa_amd_memory_pool_allocate(pool, bytes, 0, ret);

	if (r)
		return dhi_error_of(r);
	device->taken += (bytes + 4095) / 4096 * 4096;
	return 0;
}

void dhi_give(struct device *device, void *p, size_t bytes)
{
	device->taken -= (bytes + 4095) / 4096 * 4096;
	hsa_amd_memory_pool_free(p);
}

static int allocate(hsa_pool pool, void **ret, size_t bytes, unsigned flags)
{
	struct memory memory = {.bytes = bytes,
		.kind = MEMORY_DEVICE,
		.device = dhi_current(),
		.flags = flags};
	void *p;
	int r = dhi_capture_is_unsafe();

	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = NULL;
	if (r || !bytes)
		return r;
	r = dhi_take(memory.device, pool, bytes, &p);
	if (r)
		return r;
	memory.base = p;
	dhi_memory_add(&memory);
	*ret = p;
	return 0;
}

int dhi_hipMalloc(void **ret, size_t bytes)
{
	return allocate(dhi_current()->coarse, ret, bytes, 0);
}

/* 1: fine-grained; 2: a word for a signal. */
int dhi_hipExtMallocWithFlags(void **ret, size_t bytes, unsigned flags)
{
	if (flags > 2)
		return HIP_INVALID_VALUE;
	if (flags == 2 && bytes != 8)
		return HIP_INVALID_VALUE;
	return allocate(
		flags ? dhi_current()->fine : dhi_current()->coarse, ret, bytes, flags);
}

int dhi_hipMallocPitch(void **ret, size_t *pitch, size_t width, size_t height)
{
	if (!ret || !pitch)
		return HIP_INVALID_VALUE;
	*pitch = (width + 255) / 256 * 256;
	return dhi_hipMalloc(ret, *pitch * height);
}

int dhi_hipMalloc3D(struct pitched *ret, struct extent extent)
{
	if (!ret)
		return HIP_INVALID_VALUE;
	ret->width = extent.width;
	ret->height = extent.height;
	return dhi_hipMallocPitch(
		&ret->p, &ret->pitch, extent.width, extent.height * extent.depth);
}

/* --- Host memory --- */

static int allocate_host(void **ret, size_t bytes, unsigned flags, enum memory_kind kind)
{
	struct memory memory = {
		.bytes = bytes, .kind = kind, .device = dhi_current(), .flags = flags};
	void *p;
	int r = dhi_capture_is_unsafe();

	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = NULL;
	if (r || !bytes)
		return r;
	r = hsa_amd_memory_pool_allocate(dhi_host_pool, bytes, 0, &p);
	if (r)
		return dhi_error_of(r);
	for (int i = 0; i < dhi_n_devices; i++)
		hsa_amd_agents_allow_access(1, &dhi_devices[i].agent, NULL, p);
	memory.base = p;
	dhi_memory_add(&memory);
	*ret = p;
	return 0;
}

int dhi_hipHostMalloc(void **ret, size_t bytes, unsigned flags)
{
	return allocate_host(ret, bytes, flags, MEMORY_HOST);
}

int dhi_hipMallocManaged(void **ret, size_t bytes, unsigned flags)
{
	if (!bytes || (flags != 1 && flags != 2))
		return HIP_INVALID_VALUE;
	return allocate_host(ret, bytes, flags, MEMORY_MANAGED);
}

/* --- Freeing, which waits for commands that may use the memory --- */

static void release(const struct memory *memory)
{
	if (memory->kind == MEMORY_DEVICE)
		dhi_give(memory->device, memory->base, memory->bytes);
	else if (memory->kind == MEMORY_POOL)
		dhi_pool_give(memory);
	else
		hsa_amd_memory_pool_free(memory->base);
}

static int free_memory(void *p, bool is_host)
{
	struct memory memory;

	if (!p)
		return 0;
	if (!dhi_memory_find(p, &memory) || memory.base != p ||
		(memory.kind == MEMORY_HOST) != is_host ||
		memory.kind == MEMORY_REGISTERED || memory.kind == MEMORY_FOREIGN ||
		memory.kind == MEMORY_MAPPED)
		return HIP_INVALID_VALUE;
	if (dhi_capture_is_unsafe())
		return HIP_CAPTURE_UNSUPPORTED;
	dhi_device_await(memory.device);
	if (!dhi_memory_remove(p, &memory))
		return HIP_INVALID_VALUE;
	release(&memory);
	return 0;
}

int dhi_hipFree(void *p)
{
	return free_memory(p, false);
}

int dhi_hipHostFree(void *p)
{
	return free_memory(p, true);
}

/* --- Memory of the program --- */

int dhi_hipHostRegister(void *p, size_t bytes, unsigned flags)
{
	struct memory memory = {.base = p,
		.bytes = bytes,
		.kind = MEMORY_REGISTERED,
		.device = dhi_current(),
		.flags = flags};
	void *locked;

	if (!p || !bytes || flags > 15)
		return HIP_INVALID_VALUE;
	if (!dhi_memory_add(&memory))
		return HIP_HOST_REGISTERED;
	return dhi_error_of(hsa_amd_memory_lock(p, bytes, NULL, 0, &locked));
}

int dhi_hipHostUnregister(void *p)
{
	struct memory memory;

	if (!dhi_memory_find(p, &memory) || memory.base != p ||
		memory.kind != MEMORY_REGISTERED)
		return HIP_HOST_NOT_REGISTERED;
	dhi_device_await(memory.device);
	hsa_amd_memory_unlock(p);
	dhi_memory_remove(p, &memory);
	return 0;
}

int dhi_hipHostGetDevicePointer(void **ret, void *host, unsigned flags)
{
	struct memory memory;

	if (!ret || !dhi_memory_find(host, &memory) || dhi_is_device_memory(&memory))
		return HIP_INVALID_VALUE;
	*ret = host;
	return 0;
}

/* Nothing is copied: managed memory is host memory. */
int dhi_hipMemPrefetchAsync(
	const void *p, size_t bytes, int device, struct stream *handle)
{
	struct memory memory;
	struct stream *s = dhi_stream(handle);

	if (!dhi_memory_find(p, &memory) || memory.kind != MEMORY_MANAGED ||
		device >= dhi_n_devices || !s)
		return HIP_INVALID_VALUE;
	return dhi_submit(s, &(struct op){.kind = OP_EMPTY});
}

/* --- Queries --- */

/* Before ROCm 6 HIP does not see other processes. */
int dhi_hipMemGetInfo(size_t *ret_free, size_t *ret_total)
{
	struct device *device = dhi_current();
	uint64_t available = device->bytes - device->taken;

	if (!ret_free || !ret_total)
		return HIP_INVALID_VALUE;
	if (DHI_ROCM >= 6 &&
		hsa_agent_get_info(device->agent, HSA_AMD_MEMORY_AVAILABLE, &available))
		return HIP_UNKNOWN;
	*ret_free = available;
	*ret_total = device->bytes;
	return 0;
}

int dhi_hipMemGetAddressRange(void **base, size_t *bytes, void *p)
{
	struct memory memory;

	if (!dhi_memory_find(p, &memory))
		return HIP_NOT_FOUND;
	if (base)
		*base = memory.base;
	if (bytes)
		*bytes = memory.bytes;
	return 0;
}

static const int types[] = {
	[MEMORY_DEVICE] = HIP_MEMORY_DEVICE,
	[MEMORY_HOST] = HIP_MEMORY_HOST,
	[MEMORY_MANAGED] = HIP_MEMORY_MANAGED,
	[MEMORY_REGISTERED] = HIP_MEMORY_HOST,
	[MEMORY_POOL] = HIP_MEMORY_DEVICE,
	[MEMORY_FOREIGN] = HIP_MEMORY_DEVICE,
	[MEMORY_MAPPED] = HIP_MEMORY_DEVICE,
};

int dhi_hipPointerGetAttributes(struct pointer_attributes *ret, const void *p)
{
	struct memory memory;

	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = (struct pointer_attributes){0};
	if (!dhi_memory_find(p, &memory))
		return DHI_ROCM >= 6 ? 0 : HIP_INVALID_VALUE;
	ret->type = types[memory.kind];
	ret->device = memory.device->ordinal;
	ret->device_pointer = (void *)(uintptr_t)p;
	ret->host_pointer = dhi_is_device_memory(&memory) ? NULL : (void *)(uintptr_t)p;
	ret->is_managed = memory.kind == MEMORY_MANAGED;
	ret->flags = memory.flags;
	return 0;
}
