/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

struct clv_error;

/* The processes of a lease: from attach (or adoption) until their pidfd says dead. */

/* A gate's hello from peer, who belongs to the lease.  Its lease is known to the
 * arbiter.  Takes pidfd in every case. */
int clv_attached_attach(struct clv_lease *lease, const struct clv_peer *peer, int pidfd,
	uint32_t old_slot, struct clv_attached **ret, struct clv_error *err);

/* One that an earlier agent knew.  Returns 0, or -ESRCH when it is dead: then its slot is
 * cleared when the arbiter gets the lease. */
int clv_attached_adopt(struct clv_lease *lease, const struct clv_process_record *record);

/* Its connection ended.  If it lives, it has called exec or closefrom. */
void clv_attached_disconnected(struct clv_attached *process);

/* Gives back the slots of living processes without a connection that do not map the page
 * any more.  Called once a second. */
void clv_attached_check(struct clv_lease *lease);

/* Only the memory and the watch. */
struct clv_attached *clv_attached_free(struct clv_attached *process);

/* Whether id is one of the lease's processes, alive. */
bool clv_attached_is_member(
	const struct clv_lease *lease, const struct clv_process_id *id);
