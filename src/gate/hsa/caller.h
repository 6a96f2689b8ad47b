/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Who calls: the libraries of ROCm call each other, and themselves, by names that lead
 * here.  What HIP does for a call that was let in is not let in again, what AMD's OpenCL
 * does is held by OpenCL's gate, and what HSA does for itself is not counted.  By
 * the address that a call returns to. */

struct clv_caller {
	_Atomic uintptr_t begin;
	_Atomic uintptr_t n_bytes; /* 0: it is not loaded */
};

extern struct clv_caller clv_caller_hip __attribute__((visibility("hidden")));

/* Finds them among what is loaded now. */
void clv_callers_look(void);

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

/* HSA itself, or OpenCL.  If it is none of those that are known, looks for libraries
 * that came meanwhile. */
bool clv_caller_is_let_be(const void *address);
