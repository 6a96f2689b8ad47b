/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

#include <stddef.h>

/* Memory beyond the quota, in host memory: managed memory that is advised to stay there
 * and that kernels reach over the bus, so that none of it is on the device.  When the
 * quota has room again it is brought back (recall.c).  Any thread. */

/* clv_cuda_charge(); where the quota has no room and the lease may spill, a charge of
 * host memory instead: ret->spilled. */
bool clv_cuda_charge_or_spill(uint64_t n_bytes, struct clv_charge *ret);

/* Allocates the memory of a spilled charge and returns its address in *dptr.  The flags
 * are those of cuMemAllocManaged. */
int clv_cuda_spill(void *dptr, size_t n_bytes, uint32_t flags);

/* Whether any of the range is spilled.  Hints that would move such memory to the device,
 * or keep a copy there, are not passed on.  The range of a batch is all memory, because
 * the program's arrays may have changed when the driver reads them. */
bool clv_cuda_is_spilled(uint64_t address, size_t n_bytes);

/* Makes the call, which is a hint for the range, unless any of that is spilled.  Nothing
 * is spilled there between the test and the end of the call. */
#define CLV_UNLESS_SPILLED(address, n_bytes, call)                       \
	({                                                               \
		struct clv_cuda_hint *hint_;                             \
		int done_ = 0;                                           \
		if (clv_cuda_hint_begin((address), (n_bytes), &hint_)) { \
			done_ = (call);                                  \
			clv_cuda_hint_end(hint_);                        \
		}                                                        \
		done_;                                                   \
	})
struct clv_cuda_hint;
bool clv_cuda_hint_begin(uint64_t address, size_t n_bytes, struct clv_cuda_hint **ret);
void clv_cuda_hint_end(struct clv_cuda_hint *hint);

/* Before spilled memory is freed (leave), and after it (left), with whether it is gone or
 * the driver refused; the same for all spilled memory of a context.  These wait for
 * recall.c. */
void clv_cuda_spilled_leave(uint64_t address);
void clv_cuda_spilled_left(uint64_t address, bool is_gone);
void clv_cuda_spilled_leave_context(const void *context);
void clv_cuda_spilled_left_context(const void *context, bool is_gone);

void clv_cuda_spilled_forget_parent(void);

/* For recall.c. */

struct clv_cuda_spilled {
	uint64_t address;
	size_t n_bytes;
	void *context;
	int device;
};

/* Calls recall with spilled memory for which the quota has room, and which counts in the
 * quota from here on.  Its context stays until recall returns.  False: there is none. */
bool clv_cuda_spilled_recall(void (*recall)(const struct clv_cuda_spilled *spilled));

/* Makes the call unless the memory was freed meanwhile or is about to be, by itself or
 * with its context; both wait until the call returns.  Returns the call's result; -1: not
 * called. */
int clv_cuda_spilled_call(const struct clv_cuda_spilled *spilled,
	int (*call)(const struct clv_cuda_spilled *spilled, void *userdata),
	void *userdata);

/* Whether anything is spilled. */
bool clv_cuda_spilled_any(void);
