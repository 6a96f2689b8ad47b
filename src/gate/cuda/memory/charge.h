/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

#include <stddef.h>

/* Undoes the charges of memory that the driver got back without a call.  True: there was
 * any. */
bool clv_cuda_memory_settle(void);

/* The same, if the program has freed anything since the last time. */
void clv_cuda_memory_settle_freed(void);

/* The device memory that an allocation of n_bytes takes. */
uint64_t clv_cuda_rounded_bytes(uint64_t n_bytes);

/* Charges n_bytes of device memory; if they do not fit, once more after
 * clv_cuda_memory_settle().  False: over quota, and the program gets
 * CLV_CUDA_OUT_OF_MEMORY. */
bool clv_cuda_charge(uint64_t n_bytes, struct clv_charge *ret);
/* The same for a caller that has other room; the refusal is not counted. */
bool clv_cuda_try_charge(uint64_t n_bytes, struct clv_charge *ret);

/* Whether a description that the program passed can be read.  If not, the wrapper passes
 * it to the driver, which returns its own error. */
bool clv_cuda_is_readable(const void *description, size_t n_bytes);

/* After the driver's call: attaches the charge to the new address or handle, or undoes it
 * if the call failed.  Returns the call's result. */
int clv_cuda_settle(struct clv_charge *charge, uint64_t made, int result);

/* A driver's call that frees the address or handle `made`, whose charge is undone if the
 * call succeeds. */
#define CLV_CUDA_FREE(made, call)                                                     \
	({                                                                            \
		struct clv_charge withdrawn_ =                                        \
			clv_charge_withdraw((const void *)(uintptr_t)(made));         \
		int result_ = (call);                                                 \
		clv_cuda_free_end(&withdrawn_, (uint64_t)(uintptr_t)(made), result_); \
		result_;                                                              \
	})
void clv_cuda_free_end(struct clv_charge *withdrawn, uint64_t made, int result);
