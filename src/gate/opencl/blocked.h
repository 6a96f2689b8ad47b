/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clv_cl_queue;
struct clv_blocked;

/* Commands that wait for a user event: neither in flight nor in the window until the
 * program sets the event, which is then their submission. */

/* Whether any user event is unset: if not, nothing can be blocked. */
extern _Atomic uint32_t clv_blocked_n_unset __attribute__((visibility("hidden")));
static inline bool clv_blocked_any(void)
{
	return atomic_load_explicit(&clv_blocked_n_unset, memory_order_relaxed) > 0;
}

void clv_blocked_user_event_made(cl_event event);

/* The record of a command that is (directly, through other commands, or through its
 * queue) behind an unset user event; NULL if it is behind none.  is_barrier: later
 * commands of an out-of-order queue wait for it.  packed may be 0 (a marker or barrier).
 */
struct clv_blocked *clv_blocked_classify(struct clv_cl_queue *queue, cl_uint n_waits,
	const cl_event *wait_list, uint64_t packed, uint64_t kind, bool is_barrier);

/* After the vendor's call: the command's event (a reference is taken over), or NULL where
 * the call failed, or already was complete when it returned. */
void clv_blocked_enqueued(struct clv_blocked *blocked, cl_event event);

/* Before and after the vendor's clSetUserEventStatus. */
void clv_blocked_release(cl_event user_event);
void clv_blocked_released(void);

void clv_blocked_forget_parent(void);
