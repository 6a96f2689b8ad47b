/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress.  The driver answers first, then the gate's wrapper is returned
 * instead.  The hook is found by the address; where the driver returns addresses that it
 * does not export, by the requested version and default stream. */
#include "gate/cuda/context/library.h"
#include "gate/preload/unknown.h"

/* The driver's function of this name in the newest version that hooks.list has. */
static void *real_of_known(const struct clv_hook *hook, uint64_t flags)
{
	void *real = NULL;

	if (clv_cuda.cuGetProcAddress_v2(hook->base, &real, CLV_CUDA_VERSION_KNOWN, flags,
		    NULL) != CLV_CUDA_SUCCESS)
		clv_cuda.cuGetProcAddress(
			hook->base, &real, CLV_CUDA_VERSION_KNOWN, flags);
	return real;
}

/* Whether the name means another function in a version newer than hooks.list, which may
 * have other parameters. */
static bool is_newer_than_known(
	const struct clv_hook *hook, const void *real, int version, uint64_t flags)
{
	return version > CLV_CUDA_VERSION_KNOWN &&
	       real != (const void *)(uintptr_t)*hook->real &&
	       real != real_of_known(hook, flags);
}

/* The gate has no wrapper for what the driver found. */
static int answer_not_found(void **function, int *status, int r)
{
	*function = NULL;
	if (status)
		*status = CLV_CUDA_PROC_SYMBOL_NOT_FOUND;
	return status ? r : CLV_CUDA_NOT_FOUND;
}

static const struct clv_hook *hook_of(
	const char *name, int version, uint64_t flags, const void *real)
{
	const struct clv_hook *hook = clv_hook_of_answer(&clv_cuda_library, name,
		(uint32_t)version, flags & CLV_CUDA_PROC_PER_THREAD, real);

	/* Some programs ask by the exported name. */
	return hook ? hook : clv_hook_of_symbol(&clv_cuda_library, name);
}

static int substitute_wrapper(const char *name, void **function, int version,
	uint64_t flags, int *status, int r)
{
	const struct clv_hook *hook;

	if (r != CLV_CUDA_SUCCESS || !name || !function || !*function)
		return r;
	hook = hook_of(name, version, flags, *function);
	if (!hook && clv_unknown_is_refused(&clv_cuda_library, name))
		return answer_not_found(function, status, r);
	if (!hook || !hook->wrapper)
		return r;
	if (is_newer_than_known(hook, *function, version, flags)) {
		clv_unknown_report(&clv_cuda_library, name);
		return answer_not_found(function, status, r);
	}
	*function = (void *)(uintptr_t)hook->wrapper;
	return r;
}

int clv_own_cuGetProcAddress(clv_fn_cuGetProcAddress *real, const char *symbol, void *pfn,
	int driver_version, uint64_t flags)
{
	return substitute_wrapper(symbol, pfn, driver_version, flags, NULL,
		real(symbol, pfn, driver_version, flags));
}

int clv_own_cuGetProcAddress_v2(clv_fn_cuGetProcAddress_v2 *real, const char *symbol,
	void *pfn, int driver_version, uint64_t flags, void *symbol_found)
{
	return substitute_wrapper(symbol, pfn, driver_version, flags, symbol_found,
		real(symbol, pfn, driver_version, flags, symbol_found));
}
