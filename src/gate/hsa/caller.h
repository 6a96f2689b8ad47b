/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ROCm's libraries call each other and themselves by exported names, so these calls reach
 * the wrappers as well.  Calls that HIP makes inside an admitted call are not admitted
 * again, calls of AMD's OpenCL are handled by the gate for OpenCL, and calls of HSA to
 * itself are not counted.  The caller is recognized by the return address. */

struct clv_caller {
	_Atomic uintptr_t begin;
	_Atomic uintptr_t n_bytes; /* 0: the library is not loaded */
};

extern struct clv_caller clv_caller_hip __attribute__((visibility("hidden")));

/* Updates the address ranges from the objects that are loaded now. */
void clv_callers_scan(void);

static inline bool clv_caller_is(const struct clv_caller *caller, const void *address)
{
	return (uintptr_t)address -
		       atomic_load_explicit(&caller->begin, memory_order_relaxed) <
	       atomic_load_explicit(&caller->n_bytes, memory_order_relaxed);
}

static inline bool clv_caller_is_hip(const void *address)
{
	return clv_caller_is(&clv_caller_hip, address);
}

/* Whether the caller is HSA itself or AMD's OpenCL, whose calls pass.  Scans the loaded
 * objects again if the address is in no known library and objects were loaded since the
 * last scan. */
bool clv_caller_is_exempt(const void *address);
