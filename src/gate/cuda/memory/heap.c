/* SPDX-License-Identifier: Apache-2.0 */
/* A context's memory for its kernels' own use: the heap that they allocate from and the
 * buffer that they print to.  The default sizes come with the context; what a program
 * sets beyond them is charged here and goes with the context.  The driver may allocate it
 * later, with the next module. */
#include "gate/cuda/memory/heap.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/cuda/memory/charge.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/streams/driver.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The key of a limit's charge.  Contexts are structures of the driver, so no allocation
 * has an address inside of one. */
static const void *charge_key(const char *context, int limit)
{
	return context + limit;
}

static uint64_t current_limit(int limit, uint64_t if_unknown)
{
	size_t n_bytes;

	return clv_cuda.cuCtxGetLimit(&n_bytes, limit) == CLV_CUDA_SUCCESS ? n_bytes
									   : if_unknown;
}

/* Adds after - before to the charge, which never becomes negative.  False: over quota. */
static bool change_charge(struct clv_charge *charge, uint64_t before, uint64_t after)
{
	uint64_t less = before > after ? before - after : 0;
	struct clv_charge more;

	if (after > before) {
		if (!clv_cuda_charge(after - before, &more))
			return false;
		more.n_bytes += charge->n_bytes;
		*charge = more;
	} else if (charge->charged) {
		less = less < charge->n_bytes ? less : charge->n_bytes;
		clv_ledger_correct(charge->n_bytes, charge->n_bytes - less);
		charge->n_bytes -= less;
	}
	return true;
}

/* With the lock held.  Where the driver does not tell the present limit, the growth is
 * unknown, and the program gets the driver's error. */
static int set_limit(
	clv_fn_cuCtxSetLimit *real, const void *context, int limit, uint64_t n_bytes)
{
	const void *key = charge_key(context, limit);
	struct clv_charge charge;
	size_t before;
	int r = clv_cuda.cuCtxGetLimit(&before, limit);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	r = CLV_CUDA_OUT_OF_MEMORY;
	charge = clv_charge_withdraw(key);
	if (n_bytes <= before || change_charge(&charge, before, n_bytes)) {
		r = real(limit, n_bytes);
		change_charge(&charge, n_bytes > before ? n_bytes : before,
			current_limit(limit, r == CLV_CUDA_SUCCESS ? n_bytes : before));
	}
	charge.owner = context;
	clv_charge_pointer(&charge, key);
	return r;
}

int clv_own_cuCtxSetLimit(clv_fn_cuCtxSetLimit *real, int limit, size_t value)
{
	void *context = NULL;
	int r = clv_stream_driver->get_context(&context);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	if (!context || (limit != CLV_CUDA_LIMIT_PRINTF && limit != CLV_CUDA_LIMIT_HEAP))
		return real(limit, value);
	pthread_mutex_lock(&lock);
	r = set_limit(real, clv_cuda_memory_context(context), limit, value);
	pthread_mutex_unlock(&lock);
	return r;
}

void clv_cuda_heap_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
