/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is allocated and freed by an address. */
#include "gate/cuda/memory.h"

#include "gate/cuda/freed.h"
#include "gate/cuda/library.h"
#include "gate/cuda/pool.h"
#include "gate/cuda/spill.h"
#include "gate/gate.h"
#include "gate/pieces.h"
#include "gate/streams/context.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a row may be widened to; the driver says by how much only afterwards. */
#define PITCH_ALIGNMENT 512u
#define MIB (UINT64_C(1) << 20)

#define UNLIKELY_WORD 0x9d2c5681u

/* A futex that has another value than is waited for, or is waited for in vain, ends at
 * once; only where there is no memory does it end with EFAULT.  A private one, for memory
 * that nobody may write is memory too. */
static bool is_word_readable(uintptr_t address)
{
	static const struct timespec at_once;

	return syscall(SYS_futex, address & ~(uintptr_t)3, FUTEX_WAIT_PRIVATE,
		       UNLIKELY_WORD, &at_once, NULL, 0) == 0 ||
	       errno != EFAULT;
}

bool clv_cuda_is_readable(const void *description, size_t n_bytes)
{
	uintptr_t first = (uintptr_t)description, last = first + n_bytes - 1;
	int error = errno;
	bool is_readable = description && last > first && is_word_readable(first) &&
			   is_word_readable(last);

	errno = error;
	return is_readable;
}

bool clv_cuda_memory_settle(void)
{
	bool is_less = clv_cuda_freed_settle();

	is_less |= clv_pieces_settle();
	return clv_cuda_pools_settle() || is_less;
}

/* As the driver takes it from the device, measured by cuMemGetInfo on drivers since 500:
 * pages of 2 MiB above a mebibyte, one of a mebibyte above half of it.  Smaller ones
 * share pages, in steps of at least 512 bytes; what more a page takes, the agent sees. */
static uint64_t taken_bytes(uint64_t n_bytes)
{
	uint64_t unit = n_bytes > MIB ? 2 * MIB : n_bytes > MIB / 2 ? MIB : 512;

	return n_bytes > UINT64_MAX - unit ? n_bytes : (n_bytes + unit - 1) / unit * unit;
}

bool clv_cuda_charge(uint64_t n_bytes, struct clv_charge *ret)
{
	n_bytes = taken_bytes(n_bytes);
	*ret = clv_charge_take(n_bytes);
	if (ret->refused && clv_cuda_memory_settle())
		*ret = clv_charge_take(n_bytes);
	ret->owner = clv_context();
	return !ret->refused;
}

int clv_cuda_settle(struct clv_charge *charge, uint64_t made, int result)
{
	if (result != CLV_CUDA_SUCCESS) {
		clv_charge_undo(charge);
		return result;
	}
	/* What was there has been freed in a way that nobody saw. */
	clv_release_pointer((const void *)(uintptr_t)made);
	clv_charge_pointer(charge, (const void *)(uintptr_t)made);
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

	if (!clv_cuda_charge_or_spill(n_bytes, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	charge.stands_in = charge.spilled;
	r = charge.spilled ? clv_cuda_spill(dptr, n_bytes, CLV_CUDA_ATTACH_GLOBAL)
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
	r = charge.spilled ? clv_cuda_spill(dptr, n_bytes, flags)
			   : real(dptr, n_bytes, flags);
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

/* What the driver made of it may be more than was thought. */
static void correct(struct clv_charge *charge, uint64_t n_bytes)
{
	uint64_t real_bytes = taken_bytes(n_bytes);

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
		r = clv_cuda_spill(dptr, n_bytes, CLV_CUDA_ATTACH_GLOBAL);
		*(size_t *)p_pitch = widest / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
	} else {
		r = real(dptr, p_pitch, width_in_bytes, height, element_size_bytes);
		if (r == CLV_CUDA_SUCCESS)
			correct(&charge, *(size_t *)p_pitch * height);
	}
	return clv_cuda_settle(&charge, r == CLV_CUDA_SUCCESS ? *(uint64_t *)dptr : 0, r);
}

/* What a pool has is the pool's charge; the rest hangs on the address. */
int clv_own_cuMemFree_v2(clv_fn_cuMemFree_v2 *real, uint64_t dptr)
{
	struct clv_charge withdrawn = clv_charge_withdraw((const void *)(uintptr_t)dptr);
	int r;

	clv_cuda_spilled_leave(dptr);
	r = real(dptr);
	clv_cuda_spilled_left(dptr, r == CLV_CUDA_SUCCESS);
	clv_cuda_freed(&withdrawn, dptr, r);
	if (!withdrawn.charged)
		clv_cuda_pools_settle();
	return r;
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
