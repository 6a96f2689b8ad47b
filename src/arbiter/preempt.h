/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* Taking a lease off the device in the middle of its work, where the driver lets whoever
 * has its files do that.  Guarded by clv_arbiter.lock, as all of the arbiter's state. */

/* So many refusals to stop one after the other are no chance. */
#define CLV_PREEMPT_REFUSALS 8u
/* While work is stopped, or goes on, no other lease is looked at, and what a lease has is
 * its tenant's word.  So many objects of a lease's processes are kept; and so many calls
 * of the driver a switch may take, or the lease's work is waited for. */
#define CLV_PREEMPT_OBJECTS_MAX 16384u
#define CLV_PREEMPT_CALLS_MAX 512u

/* A process made or freed something on the device, through the file fd (borrowed); as_of
 * as in arbiter/attach.h.  On an error something is lost. */
int clv_preempt_note(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, int fd, const struct clv_rm_object *object, uint64_t as_of);

/* Something of it is not known and never will be: its work is waited for. */
void clv_preempt_lose(struct clv_arbiter_lease *lease, uint32_t slot);

/* See clv_arbiter_known(). */
enum clv_known clv_preempt_known(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t *ret_slot);

/* A process computes in these threads. */
int clv_preempt_note_threads(struct clv_arbiter_lease *lease, uint32_t slot, pid_t pid,
	const int32_t *tids, uint32_t n);

/* The process is gone, or all are. */
void clv_preempt_forget(struct clv_arbiter_lease *lease, uint32_t slot);
void clv_preempt_forget_all(struct clv_arbiter_lease *lease);

/* Whether all processes of the lease with work in flight could be stopped. */
bool clv_preempt_can(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* Whether it is likely in its next turn: all that ever had work could be. */
bool clv_preempt_could(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* Stops those that have work in flight.  False: one could not be stopped, and all run on.
 * Idle ones are left alone: what a driver does for them when they allocate or load code
 * would wait for a turn that nobody asks for. */
bool clv_preempt_stop(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease);

/* Threads that were told to stand still may not, and processes that were idle may have
 * begun to work since: now and then, and when somebody rang.  False: something runs, and
 * has run since stopped_at_ns for all that is known. */
bool clv_preempt_verify(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Threads that stand still may have gone on while the arbiter did not run: they are told
 * again. */
void clv_preempt_halt_again(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* One of its processes is off the device, also because a driver does not let it go on. */
bool clv_preempt_is_off(const struct clv_arbiter_lease *lease);

/* They go on where they were.  Also for those that a driver did not let go on before. */
void clv_preempt_go(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease);
