/* SPDX-License-Identifier: Apache-2.0 */
/* Charges of device memory, and the sizes that drivers take. */
#include "gate/cuda/memory/charge.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/memory/pool.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/memory/pieces.h"
#include "gate/streams/context.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

#define UNLIKELY_WORD 0x9d2c5681u

/* A futex wait for an unlikely value with a timeout of 0 returns at once, and with EFAULT
 * only where the word cannot be read.  It is a private one, because a shared one may fail
 * on memory that is read-only. */
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

/* What drivers since 500 take from the device, as measured by cuMemGetInfo: pages of 2
 * MiB above a mebibyte, one page of a mebibyte above half of that.  Smaller allocations
 * share pages, in steps of at least 512 bytes; what such pages take beyond that, the
 * agent sees. */
uint64_t clv_cuda_rounded_bytes(uint64_t n_bytes)
{
	uint64_t unit = n_bytes > MIB ? 2 * MIB : n_bytes > MIB / 2 ? MIB : 512;

	return n_bytes > UINT64_MAX - unit ? n_bytes : (n_bytes + unit - 1) / unit * unit;
}

bool clv_cuda_try_charge(uint64_t n_bytes, struct clv_charge *ret)
{
	n_bytes = clv_cuda_rounded_bytes(n_bytes);
	*ret = clv_charge_try(n_bytes);
	if (ret->refused && clv_cuda_memory_settle())
		*ret = clv_charge_try(n_bytes);
	ret->owner = clv_cuda_memory_context(clv_context());
	return !ret->refused;
}

bool clv_cuda_charge(uint64_t n_bytes, struct clv_charge *ret)
{
	if (clv_cuda_try_charge(n_bytes, ret))
		return true;
	clv_ledger_count_refusal();
	return false;
}

int clv_cuda_settle(struct clv_charge *charge, uint64_t made, int result)
{
	if (result != CLV_CUDA_SUCCESS) {
		clv_charge_undo(charge);
		return result;
	}
	/* Memory with this address that is still charged was freed by a call that the
	 * gate does not see. */
	clv_release_pointer((const void *)(uintptr_t)made);
	clv_charge_pointer(charge, (const void *)(uintptr_t)made);
	return result;
}

void clv_cuda_free_end(struct clv_charge *withdrawn, uint64_t made, int result)
{
	if (result == CLV_CUDA_SUCCESS && !withdrawn->charged)
		clv_piece_allocation_freed(made);
	else if (result == CLV_CUDA_SUCCESS)
		clv_charge_undo(withdrawn);
	else
		clv_charge_pointer(withdrawn, (const void *)(uintptr_t)made);
}
