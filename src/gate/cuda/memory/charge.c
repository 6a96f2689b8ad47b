/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cuda/memory/charge.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/memory/pool.h"
#include "gate/memory/charges.h"
#include "gate/memory/pieces.h"
#include "gate/streams/context.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

void clv_cuda_memory_settle_freed(void)
{
	if (clv_cuda_pools_any_freed() || clv_cuda_freed_any())
		clv_cuda_memory_settle();
}

/* As the driver takes it from the device, measured by cuMemGetInfo on drivers since 500:
 * pages of 2 MiB above a mebibyte, one of a mebibyte above half of it.  Smaller ones
 * share pages, in steps of at least 512 bytes; what more a page takes, the agent sees. */
uint64_t clv_cuda_taken_bytes(uint64_t n_bytes)
{
	uint64_t unit = n_bytes > MIB ? 2 * MIB : n_bytes > MIB / 2 ? MIB : 512;

	return n_bytes > UINT64_MAX - unit ? n_bytes : (n_bytes + unit - 1) / unit * unit;
}

bool clv_cuda_charge(uint64_t n_bytes, struct clv_charge *ret)
{
	n_bytes = clv_cuda_taken_bytes(n_bytes);
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
