/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

#include <stddef.h>

/* Memory that the quota has no room for, in the host's: managed memory that is told to
 * stay there and that kernels reach through the bus, so that not a byte of it is the
 * device's.  When the quota has room again it is brought back (recall.c).  Any thread. */

/* clv_cuda_charge(), and where the quota has no room and the lease may spill, a charge of
 * the host's memory: ret->spilled. */
bool clv_cuda_charge_or_spill(uint64_t n_bytes, struct clv_charge *ret);

/* What a spilled charge is for: memory with an address at *dptr.  The flags are those of
 * cuMemAllocManaged. */
int clv_cuda_spill(void *dptr, size_t n_bytes, uint32_t flags);

/* Whether any of it is spilled: what would move it to the device, or keep a copy there,
 * is not done then.  Of batches none is done while anything is spilled: what stands in
 * the program's arrays may be another address when the driver reads it. */
bool clv_cuda_is_spilled(uint64_t address, size_t n_bytes);

/* The call, unless that is so.  Nothing becomes so in between. */
#define CLV_UNLESS(is_spilled, call)    \
	({                              \
		int done_ = 0;          \
		clv_cuda_hint_begin();  \
		if (!(is_spilled))      \
			done_ = (call); \
		clv_cuda_hint_end();    \
		done_;                  \
	})
void clv_cuda_hint_begin(void);
void clv_cuda_hint_end(void);

/* It is about to be freed, or its context to go, which waits for recall.c; and then it is
 * gone, or still there, since the driver refused. */
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

/* Calls it with some that the quota has room for now, where it counts from here on, and
 * whose context stays meanwhile.  False: none. */
bool clv_cuda_spilled_recall(void (*recall)(const struct clv_cuda_spilled *spilled));

/* Calls it, unless that has been freed meanwhile or its context is about to go, which
 * wait for its end.  The call's result; -1: not called. */
int clv_cuda_spilled_do(const struct clv_cuda_spilled *spilled,
	int (*call)(const struct clv_cuda_spilled *spilled, void *userdata),
	void *userdata);

/* Whether there is any. */
bool clv_cuda_spilled_any(void);
