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

/* The arbiter of one device: a thread that runs the policy, publishes phases to the
 * control pages and reads the report pages.  All functions may be called from any one
 * thread beside the arbiter's own (the agent's loop); none blocks for longer than a lock
 * held for microseconds. */
struct clv_arbiter;
struct clv_arbiter_lease; /* one lease on this device; owned by the arbiter */

/* File descriptors that an attach reply passes on.  Borrowed. */
struct clv_arbiter_fds {
	int control;
	int report;
	int doorbell;
};

int clv_arbiter_new(const struct clv_arbiter_config *config, struct clv_arbiter **ret,
	struct clv_error *err);
struct clv_arbiter *clv_arbiter_free(struct clv_arbiter *arbiter);

/* Makes the pages of a new lease.  tenant: whose debts (arbiter/policy/policy.h) are one
 * account.  report_fd >= 0 is the report page of an earlier
 * agent's time (checked for size; borrowed): its slots count from the start. */
int clv_arbiter_add(struct clv_arbiter *arbiter, const struct clv_share *share,
	const char *tenant, int report_fd, struct clv_arbiter_lease **ret,
	struct clv_error *err);

/* Ends it: closes the gate for good (phase CLOSED) and frees the pages. */
void clv_arbiter_remove(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease);

/* All debts as they are now, of leases that are and that were.  fn is called with a lock
 * held: it must not call the arbiter. */
typedef void (*clv_arbiter_debt_fn)(void *userdata, const struct clv_policy_debt *debt);
void clv_arbiter_each_debt(
	struct clv_arbiter *arbiter, clv_arbiter_debt_fn fn, void *userdata);

/* A debt of an earlier agent's time.  0 or -ENOMEM. */
int clv_arbiter_owe(struct clv_arbiter *arbiter, const struct clv_policy_debt *debt);

/* Live resize. */
void clv_arbiter_update(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	const struct clv_share *share);

/* The limit in space that its processes find when they attach. */
void clv_arbiter_set_sm(
	struct clv_arbiter_lease *lease, uint32_t ppm, const struct clv_sm_part *part);

/* What its gates may show of the last second's held time, 0 to 1. */
void clv_arbiter_show_used(const struct clv_arbiter_lease *lease, double share_used);

/* A process attaches: takes old_slot if it is free (an earlier agent gave it) or the
 * lowest free one.  -ENOSPC when 1,024 processes are attached. */
int clv_arbiter_open_slot(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t old_slot, uint32_t *ret_slot, struct clv_error *err);

/* The process died: its memory and its work in flight no longer count. */
void clv_arbiter_close_slot(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot);

/* Memory of the lease that only its driver shows; counts in the quota. */
void clv_arbiter_set_overhead(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes);

/* How work of this device is stopped half-way when a turn ends; BY_NOTHING, the
 * beginning: it is waited for. */
void clv_arbiter_set_method(struct clv_arbiter *arbiter, enum clv_rm_method method);

/* The process in the slot made or freed something on the device, through the file fd
 * (borrowed; NVIDIA's, which the caller has checked); as_of as in arbiter/attach.h.
 * -E2BIG, -EINVAL, -ENOMEM, -EMFILE, -EIO: its work is waited for from now on, as after
 * lose_object, with which the caller says that he could not take in something. */
int clv_arbiter_note_object(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, int fd, const struct clv_rm_object *object, uint64_t as_of);
void clv_arbiter_lose_object(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot);

/* Whether all that the lease's processes have is known, so that its work can be stopped;
 * the worst of them, and in which slot. */
enum clv_known clv_arbiter_known(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t *ret_slot);

/* The same of a device that is the processor, whose threads are signalled to stand still:
 * never, when work did not end in time until some of that lease's does, or always. */
void clv_arbiter_halt_threads(struct clv_arbiter *arbiter, enum clv_halting halting);

/* The process in the slot computes in these threads, as the caller numbers them, and in
 * no others.  -ENOMEM. */
int clv_arbiter_note_threads(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, pid_t pid, const int32_t *tids, uint32_t n);

/* Once a second: what a driver did not let go on is tried again.  Returns its status if
 * it refuses to stop work again and again; 0: it does not.  Once may be chance: a channel
 * was freed that very moment. */
uint32_t clv_arbiter_tend_stopped(struct clv_arbiter *arbiter);

/* Writes the agent's clock to the control page, for a gate that is about to map it. */
void clv_arbiter_tell_time(
	struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

void clv_arbiter_get_fds(
	const struct clv_arbiter_lease *lease, struct clv_arbiter_fds *ret);
void clv_arbiter_sample(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	struct clv_arbiter_sample *ret);

/* How turns of work that is waited for follow each other here, as measured. */
struct clv_arbiter_turns {
	bool is_known;         /* at least one hand-over was seen */
	uint64_t hand_over_ns; /* from the end of one lease's work to the next's begin */
	uint64_t turn_ns;      /* of the class normal: one request */
};
void clv_arbiter_get_turns(struct clv_arbiter *arbiter, struct clv_arbiter_turns *ret);

/* Memory that the process in the slot has charged. */
uint64_t clv_arbiter_slot_memory(const struct clv_arbiter_lease *lease, uint32_t slot);
