/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a program asks HIP for by name: what HIP answers, and then the gate's
 * wrapper of that in its place. */
#include "gate/hip/library.h"

#include <stdio.h>

/* By the address; HIP may find its functions by a look-up that has led here already. */
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

/* HIP may have the function at another address than the one that it exports. */
static const struct clv_hook *hook_of_name(const char *name, uint64_t flags)
{
	const struct clv_hook *hook = NULL;
	char of_thread[80];

	snprintf(of_thread, sizeof(of_thread), "%s_spt", name);
	if (flags & CLV_HIP_PROC_PER_THREAD)
		hook = clv_hook_of_symbol(&clv_hip_library, of_thread);
	return hook ? hook : clv_hook_of_symbol(&clv_hip_library, name);
}

static int answer(const char *name, void **function, uint64_t flags, int r)
{
	const struct clv_hook *hook;

	if (r != CLV_HIP_SUCCESS || !name || !function || !*function)
		return r;
	hook = hook_of_function(*function);
	if (!hook)
		hook = hook_of_name(name, flags);
	if (hook && hook->wrapper)
		*function = (void *)(uintptr_t)hook->wrapper;
	return r;
}

int clv_own_hipGetProcAddress(clv_fn_hipGetProcAddress *real, bool is_per_thread,
	const char *name, void *ret, int version, uint64_t flags, void *ret_status)
{
	return answer(name, ret, is_per_thread ? flags | CLV_HIP_PROC_PER_THREAD : flags,
		real(name, ret, version, flags, ret_status));
}

int clv_own_hipGetDriverEntryPoint(clv_fn_hipGetDriverEntryPoint *real,
	bool is_per_thread, const char *name, void *ret, uint64_t flags, void *ret_status)
{
	return answer(name, ret, is_per_thread ? flags | CLV_HIP_PROC_PER_THREAD : flags,
		real(name, ret, flags, ret_status));
}
