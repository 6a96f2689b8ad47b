/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

struct clv_error;

/* The processes of a lease, from attach or adoption until the pidfd reports death.  Loop
 * thread only. */

/* Attaches the peer that sent a hello, or reuses its earlier entry if it comes back to
 * old_slot.  The caller has checked that the peer belongs to the lease, and has added the
 * lease to the arbiter.  Takes pidfd in every case. *ret is owned by the lease. */
int clv_attached_attach(struct clv_lease *lease, const struct clv_peer *peer, int pidfd,
	uint32_t old_slot, struct clv_attached **ret, struct clv_error *err);

/* Adds a process from an earlier agent's state file, or the one to which it has left its
 * memory since; changes the state file then.  Returns 0, -ENOMEM, or -ESRCH when it is
 * dead: then its slot is cleared when the lease is added to the arbiter. */
int clv_attached_adopt(struct clv_lease *lease, const struct clv_process_record *record);

/* The gate's connection ended.  A process that lives on has called exec or closed its
 * descriptors. */
void clv_attached_disconnected(struct clv_attached *process);

/* Drops dead processes, and living ones without a connection that no longer map the
 * report page.  Called once a second. */
void clv_attached_check(struct clv_lease *lease);

/* Frees the entry and its watch; the slot, the state file and the arbiter are not
 * changed. */
struct clv_attached *clv_attached_free(struct clv_attached *process);

/* Whether id is an attached process of the lease and alive. */
bool clv_attached_is_member(
	const struct clv_lease *lease, const struct clv_process_id *id);

/* Whether the lease has processes and all of them have ended: the next checks tell
 * whether others have their memory. */
bool clv_attached_have_ended(const struct clv_lease *lease);
