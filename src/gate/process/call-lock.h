/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A lock that a thread keeps in a call of the driver which submits the program's work.
 * Such a call may block until another thread submits something.  So a thread waits for
 * the lock for 100 ms only, and once one has done so in vain, none waits for the end of
 * that call any more.  The lock is recursive, because a driver may run callbacks inside
 * of its calls. */
struct clv_call_lock {
	_Atomic uint32_t word; /* a futex with priority inheritance */
	uint32_t depth;        /* guarded by the lock */
	/* Who has the lock, by number, and the holder for whom no thread waits. */
	_Atomic uint32_t holder, waived;
};

/* No other thread uses the lock. */
void clv_call_lock_init(struct clv_call_lock *lock);

/* False: the caller goes on without the lock, and does not unlock it. */
bool clv_call_lock(struct clv_call_lock *lock);
void clv_call_unlock(struct clv_call_lock *lock);
