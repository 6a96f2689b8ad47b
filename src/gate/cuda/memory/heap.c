/* SPDX-License-Identifier: Apache-2.0 */
/* What a context has for its kernels' own use: the heap that they allocate from and the
 * buffer that they print to.  As much as there is by itself comes with the context; what
 * a program asks for beyond that is charged here and goes with the context.  A driver may
 * take it later, with the next module. */
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/streams/driver.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Contexts are structures of the driver's, so that no allocation has these addresses. */
static const void *place_of(const char *context, int limit)
{
	return context + limit;
}

static uint64_t limit_now(int limit, uint64_t if_unknown)
{
	size_t n_bytes;

	return clv_cuda.cuCtxGetLimit(&n_bytes, limit) == CLV_CUDA_SUCCESS ? n_bytes
									   : if_unknown;
}

/* The charge is of so many bytes more than it was, or, as far as there are any, less. */
static bool change(struct clv_charge *charge, uint64_t before, uint64_t after)
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

/* With the lock held.  Where the driver does not say what it is before, it cannot be told
 * what is asked for. */
static int set_limit(
	clv_fn_cuCtxSetLimit *real, const void *context, int limit, uint64_t n_bytes)
{
	const void *place = place_of(context, limit);
	struct clv_charge charge;
	size_t before;
	int r = clv_cuda.cuCtxGetLimit(&before, limit);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	r = CLV_CUDA_OUT_OF_MEMORY;
	charge = clv_charge_withdraw(place);
	if (n_bytes <= before || change(&charge, before, n_bytes)) {
		r = real(limit, n_bytes);
		change(&charge, n_bytes > before ? n_bytes : before,
			limit_now(limit, r == CLV_CUDA_SUCCESS ? n_bytes : before));
	}
	charge.owner = context;
	clv_charge_pointer(&charge, place);
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
	r = set_limit(real, context, limit, value);
	pthread_mutex_unlock(&lock);
	return r;
}
