/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

#include <stddef.h>

/* Takes back the charges of what the driver has got back unasked.  Whether any. */
bool clv_cuda_memory_settle(void);

/* The same, if the program has freed something since. */
void clv_cuda_memory_settle_freed(void);

/* What an allocation of so many bytes takes of the device. */
uint64_t clv_cuda_taken_bytes(uint64_t n_bytes);

/* Charges n_bytes of device memory, after settling what came back meanwhile if it does
 * not fit at once.  False: the program gets CLV_CUDA_OUT_OF_MEMORY. */
bool clv_cuda_charge(uint64_t n_bytes, struct clv_charge *ret);

/* Whether a description that the program gave can be read.  If not, the driver sees it as
 * it is and says its own error. */
bool clv_cuda_is_readable(const void *description, size_t n_bytes);

/* After the driver's call: ties the charge to what was made (an address or a handle), or
 * takes it back.  Returns the call's result. */
int clv_cuda_settle(struct clv_charge *charge, uint64_t made, int result);

/* Gives back what the driver frees: made is gone if the call succeeds. */
#define CLV_CUDA_FREE(made, call)                                                  \
	({                                                                         \
		struct clv_charge withdrawn_ =                                     \
			clv_charge_withdraw((const void *)(uintptr_t)(made));      \
		int result_ = (call);                                              \
		clv_cuda_freed(&withdrawn_, (uint64_t)(uintptr_t)(made), result_); \
		result_;                                                           \
	})
void clv_cuda_freed(struct clv_charge *withdrawn, uint64_t made, int result);
