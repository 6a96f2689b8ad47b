/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is allocated and freed by address. */
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/memory/pool.h"
#include "gate/cuda/memory/recall.h"
#include "gate/cuda/memory/spill.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/streams/capture.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream.h"

/* Rows may be padded to this; the driver tells the real pitch only afterwards. */
#define PITCH_ALIGNMENT 512u
static int spill(void *dptr, size_t n_bytes, uint32_t flags)
{
	int r = clv_cuda_spill(dptr, n_bytes, flags);

	if (r == CLV_CUDA_SUCCESS)
		clv_cuda_recall_start();
	return r;
}

int clv_own_cuMemAlloc_v2(clv_fn_cuMemAlloc_v2 *real, void *dptr, size_t n_bytes)
{
	struct clv_charge charge;
	int r;

	if (!clv_cuda_charge_or_spill(n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	charge.stands_in = charge.spilled;
	r = charge.spilled ? spill(dptr, n_bytes, CLV_CUDA_ATTACH_GLOBAL)
			   : real(dptr, n_bytes);
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

int clv_own_cuMemAllocManaged(
	clv_fn_cuMemAllocManaged *real, void *dptr, size_t n_bytes, uint32_t flags)
{
	struct clv_charge charge;
	int r;

	if (!clv_cuda_charge_or_spill(n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = charge.spilled ? spill(dptr, n_bytes, flags) : real(dptr, n_bytes, flags);
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

/* Corrects the charge to the size that the driver chose. */
static void correct(struct clv_charge *charge, uint64_t n_bytes)
{
	uint64_t real_bytes = clv_cuda_rounded_bytes(n_bytes);

	if (!charge->charged)
		return;
	clv_ledger_correct(charge->n_bytes, real_bytes);
	charge->n_bytes = real_bytes;
}

int clv_own_cuMemAllocPitch_v2(clv_fn_cuMemAllocPitch_v2 *real, void *dptr, void *p_pitch,
	size_t width_in_bytes, size_t height, uint32_t element_size_bytes)
{
	size_t widest = width_in_bytes + (PITCH_ALIGNMENT - 1), n_bytes;
	struct clv_charge charge;
	int r;

	if (widest < width_in_bytes ||
		__builtin_mul_overflow(
			widest / PITCH_ALIGNMENT * PITCH_ALIGNMENT, height, &n_bytes))
		n_bytes = SIZE_MAX;
	if (!clv_cuda_charge_or_spill(n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	if (charge.spilled && p_pitch) {
		charge.stands_in = true;
		r = spill(dptr, n_bytes, CLV_CUDA_ATTACH_GLOBAL);
		*(size_t *)p_pitch = widest / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
	} else {
		r = real(dptr, p_pitch, width_in_bytes, height, element_size_bytes);
		if (r == CLV_CUDA_SUCCESS)
			correct(&charge, *(size_t *)p_pitch * height);
	}
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

/* Memory from a pool has no charge of its own, because the pool is charged; all other
 * memory is charged by address. */
int clv_own_cuMemFree_v2(clv_fn_cuMemFree_v2 *real, uint64_t dptr)
{
	struct clv_charge withdrawn = clv_charge_withdraw((const void *)(uintptr_t)dptr);
	int r;

	clv_cuda_spilled_leave(dptr);
	r = real(dptr);
	clv_cuda_spilled_left(dptr, r == CLV_CUDA_SUCCESS);
	clv_cuda_free_end(&withdrawn, dptr, r);
	if (!withdrawn.charged)
		clv_cuda_pools_settle();
	return r;
}

int clv_own_cuMemFree(clv_fn_cuMemFree *real, uint32_t dptr)
{
	return CLV_CUDA_FREE(dptr, real(dptr));
}

/* In a capture the free becomes a node of a graph, and the memory stays allocated.  So
 * its charge stays until the address is allocated again or its context ends. */
int clv_own_cuMemFreeAsync(
	clv_fn_cuMemFreeAsync *real, bool is_per_thread, uint64_t dptr, void *stream)
{
	const void *address = (const void *)(uintptr_t)dptr;
	struct clv_charge charge;
	int r;

	clv_cuda_pools_freed();
	if (clv_stream_is_capturing(stream, is_per_thread))
		return real(dptr, stream);
	charge = clv_charge_withdraw(address);
	/* Memory that is or was spilled is managed memory, which the driver does not free
	 * in stream order. */
	if (charge.stands_in) {
		clv_charge_pointer(&charge, address);
		return clv_own_cuMemFree_v2(clv_cuda.cuMemFree_v2, dptr);
	}
	clv_stream_count_others(stream, is_per_thread, 1);
	r = real(dptr, stream);
	if (charge.charged &&
		(r != CLV_CUDA_SUCCESS ||
			!clv_cuda_freed_await(&charge, !stream && is_per_thread
							       ? CLV_STREAM_PER_THREAD
							       : stream)))
		clv_charge_pointer(&charge, address);
	return r;
}

/* Memory of another API, which no gate may have charged. */
int clv_own_cuImportExternalMemory(
	clv_fn_cuImportExternalMemory *real, void *ext_mem_out, void *mem_handle_desc)
{
	const struct clv_cuda_external_memory *memory = mem_handle_desc;
	struct clv_charge charge;
	int r;

	if (!clv_cuda_is_readable(memory, sizeof(*memory)))
		return real(ext_mem_out, mem_handle_desc);
	if (!clv_cuda_charge(memory->n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(ext_mem_out, mem_handle_desc);
	return clv_cuda_settle(&charge,
		r == CLV_CUDA_SUCCESS ? (uint64_t)(uintptr_t) * (void **)ext_mem_out : 0,
		r);
}

int clv_own_cuDestroyExternalMemory(clv_fn_cuDestroyExternalMemory *real, void *ext_mem)
{
	return CLV_CUDA_FREE(ext_mem, real(ext_mem));
}
