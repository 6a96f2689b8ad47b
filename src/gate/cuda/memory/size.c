/* SPDX-License-Identifier: Apache-2.0 */
/* The reported size of a device is the quota. */
#include "gate/cuda/context/library.h"
#include "gate/memory/ledger.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int clv_own_cuMemGetInfo_v2(clv_fn_cuMemGetInfo_v2 *real, void *ret_free, void *ret_total)
{
	int r = real(ret_free, ret_total);

	if (r == CLV_CUDA_SUCCESS)
		clv_ledger_clamp_info(ret_free, ret_total);
	return r;
}

/* The old version, with sizes of 32 bits. */
int clv_own_cuMemGetInfo(clv_fn_cuMemGetInfo *real, void *ret_free, void *ret_total)
{
	size_t free_bytes = 0, total_bytes = 0;
	int r = real(ret_free, ret_total);

	if (r == CLV_CUDA_SUCCESS)
		r = clv_own_cuMemGetInfo_v2(
			clv_cuda.cuMemGetInfo_v2, &free_bytes, &total_bytes);
	if (r != CLV_CUDA_SUCCESS)
		return r;
	if (ret_free)
		*(uint32_t *)ret_free = (uint32_t)least(free_bytes, UINT32_MAX);
	if (ret_total)
		*(uint32_t *)ret_total = (uint32_t)least(total_bytes, UINT32_MAX);
	return r;
}

int clv_own_cuDeviceTotalMem_v2(clv_fn_cuDeviceTotalMem_v2 *real, void *bytes, int device)
{
	int r = real(bytes, device);

	if (r == CLV_CUDA_SUCCESS)
		clv_ledger_clamp_info(NULL, bytes);
	return r;
}

int clv_own_cuDeviceTotalMem(clv_fn_cuDeviceTotalMem *real, void *bytes, int device)
{
	size_t n_bytes = 0;
	int r = real(bytes, device);

	if (r == CLV_CUDA_SUCCESS)
		r = clv_own_cuDeviceTotalMem_v2(
			clv_cuda.cuDeviceTotalMem_v2, &n_bytes, device);
	if (r == CLV_CUDA_SUCCESS && bytes)
		*(uint32_t *)bytes = (uint32_t)least(n_bytes, UINT32_MAX);
	return r;
}
