/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is allocated and freed by an address. */
#include "gate/cuda/memory.h"

#include "gate/cuda/library.h"
#include "gate/cuda/pool.h"
#include "gate/cuda/stream.h"

/* What a row may be widened to; the driver says by how much only afterwards. */
#define PITCH_ALIGNMENT 512u

bool clv_cuda_charge(uint64_t n_bytes, struct clv_charge *ret)
{
	*ret = clv_charge_take(n_bytes);
	if (ret->refused && clv_cuda_pools_settle())
		*ret = clv_charge_take(n_bytes);
	ret->owner = clv_cuda_current_context();
	return !ret->refused;
}

int clv_cuda_settle(struct clv_charge *charge, uint64_t made, int result)
{
	if (result == CLV_CUDA_SUCCESS)
		clv_charge_pointer(charge, (const void *)(uintptr_t)made);
	else
		clv_charge_undo(charge);
	return result;
}

void clv_cuda_freed(struct clv_charge *withdrawn, uint64_t made, int result)
{
	if (result == CLV_CUDA_SUCCESS)
		clv_charge_undo(withdrawn);
	else
		clv_charge_pointer(withdrawn, (const void *)(uintptr_t)made);
}

int clv_own_cuMemAlloc_v2(clv_fn_cuMemAlloc_v2 *real, void *dptr, size_t n_bytes)
{
	struct clv_charge charge;
	int r;

	if (!clv_cuda_charge(n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(dptr, n_bytes);
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

int clv_own_cuMemAllocManaged(
	clv_fn_cuMemAllocManaged *real, void *dptr, size_t n_bytes, uint32_t flags)
{
	struct clv_charge charge;
	int r;

	if (!clv_cuda_charge(n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(dptr, n_bytes, flags);
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

int clv_own_cuMemAllocPitch_v2(clv_fn_cuMemAllocPitch_v2 *real, void *dptr, void *p_pitch,
	size_t width_in_bytes, size_t height, uint32_t element_size_bytes)
{
	size_t widest = (width_in_bytes + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT *
			PITCH_ALIGNMENT;
	struct clv_charge charge;
	int r;

	if (!clv_cuda_charge(widest * height, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(dptr, p_pitch, width_in_bytes, height, element_size_bytes);
	if (r == CLV_CUDA_SUCCESS && charge.charged) {
		uint64_t real_bytes = *(size_t *)p_pitch * height;

		clv_ledger_correct(charge.n_bytes, real_bytes);
		charge.n_bytes = real_bytes;
	}
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

/* What a pool has is the pool's charge; the rest hangs on the address. */
int clv_own_cuMemFree_v2(clv_fn_cuMemFree_v2 *real, uint64_t dptr)
{
	return CLV_CUDA_FREE(dptr, real(dptr));
}

int clv_own_cuMemFree(clv_fn_cuMemFree *real, uint32_t dptr)
{
	return CLV_CUDA_FREE(dptr, real(dptr));
}

/* Memory of another API, which no gate may have charged. */
int clv_own_cuImportExternalMemory(
	clv_fn_cuImportExternalMemory *real, void *ext_mem_out, void *mem_handle_desc)
{
	const struct clv_cuda_external_memory *memory = mem_handle_desc;
	struct clv_charge charge;
	int r;

	if (!memory || !clv_cuda_charge(memory->n_bytes, &charge))
		return memory ? CLV_CUDA_OUT_OF_MEMORY : CLV_CUDA_INVALID_VALUE;
	r = real(ext_mem_out, mem_handle_desc);
	return clv_cuda_settle(&charge,
		r == CLV_CUDA_SUCCESS ? (uint64_t)(uintptr_t) * (void **)ext_mem_out : 0,
		r);
}

int clv_own_cuDestroyExternalMemory(clv_fn_cuDestroyExternalMemory *real, void *ext_mem)
{
	return CLV_CUDA_FREE(ext_mem, real(ext_mem));
}
