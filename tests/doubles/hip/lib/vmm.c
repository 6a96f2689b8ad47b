/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* Virtual memory on top of HSA's. ROCm 5 has the names, but the calls fail on Linux. */

#define PIECE ((size_t)2 << 20)
#define IS_THERE (DHI_ROCM >= 6)

struct physical {
	hsa_handle handle;
	struct device *device;
	size_t bytes;
};

static bool is_whole(size_t bytes)
{
	return bytes && bytes % PIECE == 0;
}

int dhi_hipMemAddressReserve(void **ret, size_t bytes, size_t alignment, void *address,
	unsigned long long flags)
{
	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!ret || !is_whole(bytes) || flags)
		return HIP_INVALID_VALUE;
	return dhi_error_of(
		hsa_amd_vmem_address_reserve(ret, bytes, (uintptr_t)address, 0));
}

int dhi_hipMemAddressFree(void *p, size_t bytes)
{
	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	return hsa_amd_vmem_address_free(p, bytes) ? HIP_INVALID_VALUE : 0;
}

static struct device *device_of(const struct alloc_props *props)
{
	if (!props || props->type != 1 || props->location.type != 1)
		return NULL;
	return dhi_device_at(props->location.id);
}

int dhi_hipMemCreate(struct physical **ret, size_t bytes, const struct alloc_props *props,
	unsigned long long flags)
{
	struct device *device = device_of(props);
	struct physical *made;
	hsa_handle handle;
	int r;

	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!ret || !device || !is_whole(bytes) || flags)
		return HIP_INVALID_VALUE;
	r = hsa_amd_vmem_handle_create(device->coarse, bytes, 1, 0, &handle);
	if (r)
		return dhi_error_of(r);
	made = malloc(sizeof(*made));
	*made = (struct physical){handle, device, bytes};
	*ret = made;
	return 0;
}

int dhi_hipMemRelease(struct physical *physical)
{
	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!physical || hsa_amd_vmem_handle_release(physical->handle))
		return HIP_INVALID_VALUE;
	free(physical);
	return 0;
}

int dhi_hipMemMap(void *p, size_t bytes, size_t offset, struct physical *physical,
	unsigned long long flags)
{
	struct memory memory = {.base = p, .bytes = bytes, .kind = MEMORY_MAPPED};

	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!physical || !is_whole(bytes) || flags ||
		hsa_amd_vmem_map(p, bytes, offset, physical->handle, 0))
		return HIP_INVALID_VALUE;
	memory.device = physical->device;
	dhi_memory_add(&memory);
	return 0;
}

int dhi_hipMemUnmap(void *p, size_t bytes)
{
	struct memory memory;

	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!dhi_memory_find(p, &memory) || memory.kind != MEMORY_MAPPED)
		return HIP_INVALID_VALUE;
	dhi_device_await(memory.device);
	if (hsa_amd_vmem_unmap(p, bytes))
		return HIP_INVALID_VALUE;
	dhi_memory_remove(p, &memory);
	return 0;
}

int dhi_hipMemSetAccess(void *p, size_t bytes, const struct access *access, size_t n)
{
	struct hsa_access wanted;
	struct device *device;

	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	device = access && n ? dhi_device_at(access[0].location.id) : NULL;
	if (!device)
		return HIP_INVALID_VALUE;
	wanted = (struct hsa_access){(uint32_t)access[0].flags, device->agent};
	return hsa_amd_vmem_set_access(p, bytes, &wanted, 1) ? HIP_INVALID_VALUE : 0;
}

int dhi_hipMemGetAllocationGranularity(
	size_t *ret, const struct alloc_props *props, int option)
{
	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!ret || !device_of(props))
		return HIP_INVALID_VALUE;
	*ret = PIECE;
	return 0;
}

int dhi_hipMemRetainAllocationHandle(struct physical **ret, void *p)
{
	struct memory memory;
	struct physical *made;
	hsa_handle handle;

	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!ret || !dhi_memory_find(p, &memory) ||
		hsa_amd_vmem_retain_alloc_handle(&handle, p))
		return HIP_INVALID_VALUE;
	made = malloc(sizeof(*made));
	*made = (struct physical){handle, memory.device, memory.bytes};
	*ret = made;
	return 0;
}

int dhi_hipMemExportToShareableHandle(
	void *ret, struct physical *physical, int type, unsigned long long flags)
{
	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!ret || !physical || type != 1)
		return HIP_INVALID_VALUE;
	return hsa_amd_vmem_export_shareable_handle(ret, physical->handle, 0)
		       ? HIP_INVALID_VALUE
		       : 0;
}

int dhi_hipMemImportFromShareableHandle(struct physical **ret, void *file, int type)
{
	struct physical *made;
	hsa_handle handle;

	if (!IS_THERE)
		return HIP_NOT_SUPPORTED;
	if (!ret || type != 1 ||
		hsa_amd_vmem_import_shareable_handle((int)(intptr_t)file, &handle))
		return HIP_INVALID_VALUE;
	made = malloc(sizeof(*made));
	*made = (struct physical){handle, dhi_current(), 0};
	*ret = made;
	return 0;
}
