/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups of functions by name.  HIP answers first; if the gate wraps the function that
 * was found, the wrapper is returned instead. */
#include "gate/hip/library.h"
#include "gate/preload/unknown.h"

#include <stdio.h>

/* Finds the hook by address.  HIP may find its own functions by dlsym, which the gate
 * hooks, so the address may already be the wrapper's. */
static const struct clv_hook *hook_of_function(const void *function)
{
	const struct clv_hooked_library *library = &clv_hip_library;

	for (uint32_t i = 0; i < library->n_hooks && library->hooks[i].wrapper; i++) {
		const struct clv_hook *hook = &library->hooks[i];

		if (function == (void *)(uintptr_t)*hook->real ||
			function == (void *)(uintptr_t)hook->wrapper)
			return hook;
	}
	return NULL;
}

/* Finds the hook by name: HIP may return another address than that of the exported
 * function. */
static const struct clv_hook *hook_of_name(const char *name, uint64_t flags)
{
	const struct clv_hook *hook = NULL;
	char of_thread[80];

	snprintf(of_thread, sizeof(of_thread), "%s_spt", name);
	if (flags & CLV_HIP_PROC_PER_THREAD)
		hook = clv_hook_of_symbol(&clv_hip_library, of_thread);
	return hook ? hook : clv_hook_of_symbol(&clv_hip_library, name);
}

static int substitute_wrapper(
	const char *name, void **function, uint64_t flags, void *status, int r)
{
	const struct clv_hook *hook;

	if (r != CLV_HIP_SUCCESS || !name || !function || !*function)
		return r;
	hook = hook_of_function(*function);
	if (!hook)
		hook = hook_of_name(name, flags);
	if (!hook && clv_unknown_is_refused(&clv_hip_library, name)) {
		*function = NULL;
		if (status)
			*(int *)status = CLV_HIP_PROC_SYMBOL_NOT_FOUND;
		return CLV_HIP_INVALID_VALUE;
	}
	if (hook && hook->wrapper)
		*function = (void *)(uintptr_t)hook->wrapper;
	return r;
}

int clv_own_hipGetProcAddress(clv_fn_hipGetProcAddress *real, bool is_per_thread,
	const char *name, void *ret, int version, uint64_t flags, void *ret_status)
{
	return substitute_wrapper(name, ret,
		is_per_thread ? flags | CLV_HIP_PROC_PER_THREAD : flags, ret_status,
		real(name, ret, version, flags, ret_status));
}

int clv_own_hipGetDriverEntryPoint(clv_fn_hipGetDriverEntryPoint *real,
	bool is_per_thread, const char *name, void *ret, uint64_t flags, void *ret_status)
{
	return substitute_wrapper(name, ret,
		is_per_thread ? flags | CLV_HIP_PROC_PER_THREAD : flags, ret_status,
		real(name, ret, flags, ret_status));
}
