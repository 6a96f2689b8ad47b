/* SPDX-License-Identifier: Apache-2.0 */
/* Memory sizes.  Total and free are to the byte what CUDA reports in the lease, and what
 * is not free counts as used, also if another lease has it. */
#include "gate/memory/ledger.h"
#include "gate/nvml-hooks.h"
#include "gate/nvml/lease.h"
#include "gate/process/view.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* CUDA's total excludes what the driver reserves.  A driver that does not report the
 * reserved size includes it in the total. */
static uint64_t find_reserved(void *device)
{
	struct clv_nvml_memory_v2 memory = {.version = CLV_NVML_MEMORY_V2};

	return clv_nvml.nvmlDeviceGetMemoryInfo_v2(device, &memory) == CLV_NVML_SUCCESS
		       ? memory.reserved
		       : 0;
}

static void shrink(uint64_t *total, uint64_t *free_bytes, uint64_t *used)
{
	uint64_t quota = clv_ledger_quota_bytes(), charged = clv_ledger_settled_bytes();

	*total = least(*total, quota);
	*free_bytes = least(*free_bytes, charged < quota ? quota - charged : 0);
	*used = *total - least(*free_bytes, *total);
}

static int shrink_v1(int r, void *device, struct clv_nvml_memory *memory)
{
	const struct clv_view *view;

	if (r != CLV_NVML_SUCCESS || clv_nvml_get_sight(&view) != CLV_NVML_LEASE)
		return r;
	memory->total -= least(find_reserved(device), memory->total);
	shrink(&memory->total, &memory->free, &memory->used);
	return r;
}

int clv_own_nvmlDeviceGetMemoryInfo(
	clv_fn_nvmlDeviceGetMemoryInfo *real, void *device, void *memory)
{
	return shrink_v1(real(device, memory), device, memory);
}

int clv_own_nvmlDeviceGetConfComputeProtectedMemoryUsage(
	clv_fn_nvmlDeviceGetConfComputeProtectedMemoryUsage *real, void *device,
	void *memory)
{
	return shrink_v1(real(device, memory), device, memory);
}

int clv_own_nvmlDeviceGetMemoryInfo_v2(
	clv_fn_nvmlDeviceGetMemoryInfo_v2 *real, void *device, void *memory)
{
	struct clv_nvml_memory_v2 *info = memory;
	const struct clv_view *view;
	int r = real(device, memory);

	if (r != CLV_NVML_SUCCESS || clv_nvml_get_sight(&view) != CLV_NVML_LEASE)
		return r;
	info->total -= least(info->reserved, info->total);
	info->reserved = 0;
	shrink(&info->total, &info->free, &info->used);
	return r;
}

/* Attributes of a MIG device. */
int clv_own_nvmlDeviceGetAttributes_v2(
	clv_fn_nvmlDeviceGetAttributes_v2 *real, void *device, void *attributes)
{
	struct clv_nvml_attributes *info = attributes;
	const struct clv_view *view;
	int r = real(device, attributes);

	if (r == CLV_NVML_SUCCESS && clv_nvml_get_sight(&view) == CLV_NVML_LEASE)
		info->memory_mib =
			least(info->memory_mib, clv_ledger_quota_bytes() / MIB);
	return r;
}

/* The driver returns NOT_FOUND where the kernel sets no limit for the process.  The
 * lease's limit is the lower one of the kernel's and the quota. */
int clv_own_nvmlDeviceGetMemoryLimits_v1(
	clv_fn_nvmlDeviceGetMemoryLimits_v1 *real, void *device, void *limits)
{
	struct clv_nvml_memory_limits *info = limits;
	const struct clv_view *view;
	uint64_t quota;
	int r = real(device, limits);

	if ((r != CLV_NVML_SUCCESS && r != CLV_NVML_NOT_FOUND) || !limits ||
		clv_nvml_get_sight(&view) != CLV_NVML_LEASE)
		return r;
	quota = clv_ledger_quota_bytes();
	if (r == CLV_NVML_NOT_FOUND)
		info->hard = quota;
	info->hard = least(info->hard, quota);
	info->soft = info->hard;
	info->used = clv_ledger_settled_bytes();
	return CLV_NVML_SUCCESS;
}
