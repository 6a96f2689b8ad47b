/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* Reads report pages and charges held time.  The report page is written by the tenant: it
 * tells when a turn is drained or not wanted, and is displayed.  What a lease is charged
 * is held time by the agent's own clock. */

/* Reads the slots of the lease's live processes into n_in_flight, n_waiting and
 * n_working_slots. */
void clv_account_observe(struct clv_arbiter_lease *lease);

/* Charges the holder up to now_ns. */
void clv_account_charge_holder(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Charges this time to a lease that has no turn. */
void clv_account_charge(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint64_t ns, uint64_t now_ns);

/* Charges work of a lease that has no turn: an overdue drain, or commands that could
 * not wait.  It is charged like a turn, also where it was complete before the arbiter
 * saw it. */
void clv_account_charge_stray(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Both observe() and charge_stray(), for a lease that may have no turn. */
void clv_account_observe_and_charge(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Adds the time since the last call if the lease's cap kept it from running. */
void clv_account_note_throttling(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Tracks since when threads wait in line, and accounts the time when none does any
 * more. */
void clv_account_note_waiting(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* The lease's turn begins: records how long the first thread in line has waited. */
void clv_account_end_wait(struct clv_arbiter_lease *lease, uint64_t now_ns);

/* From now on busy time beyond this is charged, while no other lease has work. */
void clv_account_begin_busy(struct clv_arbiter_lease *lease, uint64_t busy_ns);

/* The busy time that the lease's live processes report, up to now_ns. */
uint64_t clv_account_reported_busy_ns(
	const struct clv_arbiter_lease *lease, uint64_t now_ns);
