/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* What a lease did: its report page read, its held time charged.  The report page is the
 * tenant's word; it says when a turn is drained or not wanted, and is shown to people.
 * What a lease pays is held time by the agent's own clock. */

/* Reads the slots of the lease's live processes into n_in_flight, n_waiting and
 * n_working_slots. */
void clv_account_observe(struct clv_arbiter_lease *lease);

/* Brings the holder's account up to now_ns. */
void clv_account_charge_holder(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Work of a lease that has no turn: an overdue drain, or commands that could not wait.
 * It is charged like a turn, also where it was complete before anybody looked. */
void clv_account_charge_stray(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Both, of a lease that may have no turn. */
void clv_account_look(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

void clv_account_note_throttling(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* When somebody stands in line, and when no longer. */
void clv_account_note_waiting(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Its turn has come: if somebody stood in line, for so long. */
void clv_account_end_wait(struct clv_arbiter_lease *lease, uint64_t now_ns);

uint64_t clv_account_reported_busy_ns(
	const struct clv_arbiter_lease *lease, uint64_t now_ns);
