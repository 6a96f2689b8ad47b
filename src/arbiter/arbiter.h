/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/policy/policy.h"
#include "arbiter/types.h"
#include "core/share/share.h"
#include "core/share/sm.h"
#include "rm/channels.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_error;

/* The arbiter of one device: a thread that runs the policy, publishes phases in the
 * control pages and reads the report pages.  All functions may be called from any one
 * thread beside the arbiter's own (the agent's loop).  None blocks for longer than a lock
 * that is held for microseconds. */
struct clv_arbiter;
struct clv_arbiter_lease; /* one lease on this device; owned by the arbiter */

/* The file descriptors that an attach reply passes on.  Borrowed. */
struct clv_arbiter_fds {
	int control;
	int report;
	int doorbell;
};

int clv_arbiter_new(const struct clv_arbiter_config *config, struct clv_arbiter **ret,
	struct clv_error *err);
struct clv_arbiter *clv_arbiter_free(struct clv_arbiter *arbiter);

/* Creates a lease with its pages.  tenant: the leases of one tenant share one account of
 * debts (arbiter/policy/policy.h).  report_fd >= 0 is the report page that the lease had
 * under an earlier agent (borrowed; its size is checked); the memory charged in it counts
 * as soon as its slots are opened again. */
int clv_arbiter_add(struct clv_arbiter *arbiter, const struct clv_share *share,
	const char *tenant, int report_fd, struct clv_arbiter_lease **ret,
	struct clv_error *err);

/* Ends the lease: closes its gates for good (phase CLOSED) and lets the arbiter's thread
 * free the pages.  The lease must not be used afterwards. */
void clv_arbiter_remove(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease);

/* Calls fn for the current debt of each lease and of each removed lease.  fn runs with
 * the arbiter's lock held and must not call the arbiter. */
typedef void (*clv_arbiter_debt_fn)(void *userdata, const struct clv_policy_debt *debt);
void clv_arbiter_each_debt(
	struct clv_arbiter *arbiter, clv_arbiter_debt_fn fn, void *userdata);

/* Restores a debt that an earlier agent saved.  Returns 0 or -ENOMEM. */
int clv_arbiter_restore_debt(
	struct clv_arbiter *arbiter, const struct clv_policy_debt *debt);

/* Changes the share of a running lease. */
void clv_arbiter_update(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	const struct clv_share *share);

/* Sets the limit in space that processes of the lease read when they attach. */
void clv_arbiter_set_sm(
	struct clv_arbiter_lease *lease, uint32_t ppm, const struct clv_sm_part *part);

/* Publishes for display the part of the last second, 0 to 1, for which the lease held the
 * device. */
void clv_arbiter_publish_used(const struct clv_arbiter_lease *lease, double share_used);

/* Allocates a slot for a process that attaches: old_slot (from an earlier agent) if it is
 * free, else the lowest free one. -ENOSPC when 1,024 processes are attached. */
int clv_arbiter_open_slot(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t old_slot, uint32_t *ret_slot, struct clv_error *err);

/* Frees the slot of a process that died: its memory and its work in flight no longer
 * count. */
void clv_arbiter_close_slot(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot);

/* Sets the memory that only the driver shows and no process charged; it counts in the
 * quota. */
void clv_arbiter_set_overhead(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes);

/* Sets the memory that ended processes of the lease have left on the device; it counts in
 * the quota as well, and in the overhead that a sample has. */
void clv_arbiter_set_orphaned(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes);

/* Sets how work of this device is stopped before it is complete when a turn ends.  With
 * BY_NOTHING, the initial value, the arbiter waits until the work is complete. */
void clv_arbiter_set_method(struct clv_arbiter *arbiter, enum clv_rm_method method);

/* Records that the process in the slot created or freed an object on the device through
 * the file fd (borrowed; the caller has checked that it is NVIDIA's); as_of as in
 * arbiter/attach.h.  After an error (-E2BIG, -EINVAL, -ENOMEM, -EMFILE, -EIO) the
 * process's work is never stopped again, only waited for.  The caller reports an object
 * that it could not take in itself by lose_object, to the same effect. */
int clv_arbiter_note_object(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, int fd, const struct clv_rm_object *object, uint64_t as_of);
void clv_arbiter_note_object_lost(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot);

/* Whether all objects of all the lease's processes are known, so that its work can be
 * stopped.  Returns the worst state of any process, and that process's slot. */
enum clv_preempt_knowledge clv_arbiter_known(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t *ret_slot);

/* Sets when threads are halted by a signal, on a device that is the processor: never,
 * once work of the lease was overdue and until the lease drains in time again, or at each
 * end of a turn. */
void clv_arbiter_halt_threads(struct clv_arbiter *arbiter, enum clv_halt_policy halting);

/* Records that the process in the slot computes in these threads (ids as the agent sees
 * them) and in no others.  Returns 0 or -ENOMEM. */
int clv_arbiter_note_threads(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, pid_t pid, const int32_t *tids, uint32_t n);

/* Called once a second: retries to resume work that a driver did not resume, and tells a
 * lease whose turn has no deadline whether its work can be stopped by now.  Returns the
 * driver's status if it refused to stop work several times in succession, else 0: a
 * single refusal may be a race with the free of a channel. */
uint32_t clv_arbiter_retry_resume(struct clv_arbiter *arbiter);

/* Writes the agent's clock to the control page, for a gate that is about to map it. */
void clv_arbiter_publish_time(
	struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

void clv_arbiter_get_fds(
	const struct clv_arbiter_lease *lease, struct clv_arbiter_fds *ret);
void clv_arbiter_sample(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	struct clv_arbiter_sample *ret);

/* Measured times of turns that end when their work is complete. */
struct clv_arbiter_turns {
	bool is_known;         /* at least one hand-over was seen */
	uint64_t hand_over_ns; /* from the end of one lease's work to the next's begin */
	uint64_t turn_ns;      /* one request of the class normal */
};
void clv_arbiter_get_turns(struct clv_arbiter *arbiter, struct clv_arbiter_turns *ret);

/* The memory that the process in the slot has charged, by its own report. */
uint64_t clv_arbiter_slot_memory(const struct clv_arbiter_lease *lease, uint32_t slot);
