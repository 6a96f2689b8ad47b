/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The driver's library behind the gate, and what of it is hooked. */

typedef void (*clv_cuda_function)(void);

struct clv_cuda_hook {
	const char *symbol; /* as exported */
	const char *base;   /* as cuGetProcAddress is asked for it */
	uint32_t since;     /* the version from which the base name means it: 12020 */
	bool is_per_thread;
	clv_cuda_function wrapper; /* NULL: only called by the gate itself */
	clv_cuda_function *real;
};

/* By base name, then version; what has no wrapper comes last. */
extern const struct clv_cuda_hook clv_cuda_hooks[] __attribute__((visibility("hidden")));
extern const uint16_t clv_cuda_n_hooks __attribute__((visibility("hidden")));

extern struct clv_cuda_functions clv_cuda __attribute__((visibility("hidden")));

/* Opens libcuda.so.1 once and fills clv_cuda; what the library lacks answers that it is
 * not supported.  Never from inside a look-up of a symbol. */
void clv_cuda_load(void);

/* The hook of an exported symbol; NULL: there is none. */
const struct clv_cuda_hook *clv_cuda_find_symbol(const char *symbol);

/* The hook that a base name means in that version; NULL: the name has none, or not yet.
 */
const struct clv_cuda_hook *clv_cuda_find_version(
	const char *base, uint32_t version, bool is_per_thread);

/* The newest version that the list knows. */
#define CLV_CUDA_VERSION_KNOWN 13000

/* The vendor's and the system's own look-ups, below the gate's. */
void *clv_real_dlsym(void *handle, const char *symbol);
