/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* Takes a lease off the device before its work is complete, where the driver lets any
 * process do that which has the files.  Guarded by clv_arbiter.lock, as all of the
 * arbiter's state. */

/* After this many refusals in succession the driver is taken to refuse always. */
#define CLV_PREEMPT_REFUSALS 8u
/* Bounds on what a tenant can report: while work is stopped or resumed the arbiter serves
 * no other lease.  OBJECTS_MAX objects of a lease are recorded; if a switch takes more
 * than CALLS_MAX driver calls the lease's work is waited for instead. */
#define CLV_PREEMPT_OBJECTS_MAX 16384u
#define CLV_PREEMPT_CALLS_MAX 512u

/* Records that a process created or freed an object on the device through the file fd
 * (borrowed); as_of as in arbiter/attach.h.  After an error the process counts as
 * incompletely known. */
int clv_preempt_note(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, int fd, const struct clv_rm_object *object, uint64_t as_of);

/* An object of the process was lost for good: its work is never stopped, only waited
 * for. */
void clv_preempt_note_lost(struct clv_arbiter_lease *lease, uint32_t slot);

/* See clv_arbiter_known(). */
enum clv_preempt_knowledge clv_preempt_known(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t *ret_slot);

/* Replaces the threads in which the process computes. */
int clv_preempt_note_threads(struct clv_arbiter_lease *lease, uint32_t slot, pid_t pid,
	const int32_t *tids, uint32_t n);

/* Drops what is recorded of one process that is gone, or of all. */
void clv_preempt_forget(struct clv_arbiter_lease *lease, uint32_t slot);
void clv_preempt_forget_all(struct clv_arbiter_lease *lease);

/* Whether all processes of the lease with work in flight can be stopped now. */
bool clv_preempt_can_stop(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* Whether that is likely in the next turn: all processes that ever had work can be
 * stopped. */
bool clv_preempt_may_stop_next_turn(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* Stops the processes that have work in flight.  False: one could not be stopped, and all
 * continue.  Idle processes are left on the device: driver work for an allocation or for
 * loading code would otherwise wait for a turn that no thread requests. */
bool clv_preempt_stop(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease);

/* Checks, at intervals and after a ring, that stopped work is stopped: threads may have
 * ignored the signal, and processes that were idle may have begun to work since.  False:
 * work runs, possibly since stopped_at_ns. */
bool clv_preempt_verify(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Signals halted threads again: they may have continued while the arbiter did not run. */
void clv_preempt_halt_again(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* Whether a process of the lease is off the device, also one that the driver did not
 * resume. */
bool clv_preempt_is_off(const struct clv_arbiter_lease *lease);

/* Resumes all processes of the lease, and retries those that the driver did not resume
 * before. */
void clv_preempt_resume(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease);
