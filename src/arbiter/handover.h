/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* The cost of passing the device from one lease to the next where work is not stopped,
 * and what follows from it: the next lease is let in before the last command of the
 * present one is complete, by the time that threads take to wake up; and turns are long
 * enough that little is lost.  All costs are measured.  The estimates of tenants (page.h:
 * struct clv_slot_turn) have a bounded effect: the next lease is let in 300 us early at
 * most, for which both pay half.  Call these functions with the arbiter's lock held. */

/* Records by how much a timer of the arbiter's thread was late. */
void clv_handover_note_late(struct clv_arbiter *arbiter, uint64_t late_ns);

/* From when on the next lease may be let in although the closed holder has work in
 * flight; UINT64_MAX: not before that work is complete.  That is always so on a
 * processor, whose scheduler would run the new lease's threads first. */
uint64_t clv_handover_early_ns(const struct clv_arbiter *arbiter, uint64_t now_ns);

/* The holder has lost the device while its last command runs; the next lease, if any,
 * holds it.  Both pay half until that command was announced to be complete; after that
 * the leaving lease pays alone (clv_handover_charged_ns). */
void clv_handover_begin(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *leaving, uint64_t now_ns);

/* Checks whether the leaving lease has drained.  Returns true if it just did. */
bool clv_handover_end(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* For how long the device idles each time that a program of the lease waits for its
 * work, at most. */
uint64_t clv_handover_wait_ns(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease);

/* The holder was closed: measures the hand-over at the beginning of its turn. */
void clv_handover_measure(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Leases woke up.  Turns that were long for few leases are as short as the present number
 * needs at once, and not only after the next measured hand-over. */
void clv_handover_note_wakes(struct clv_arbiter *arbiter, uint64_t now_ns);

/* The closed holder has drained: the device is idle until the next lease submits. */
void clv_handover_vacate(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* The part of the time from since_ns to now_ns that the lease pays.  While the last
 * command of one lease is in flight in the next one's turn each pays half, up to the
 * announced end; later time is charged to the leaving lease. */
uint64_t clv_handover_charged_ns(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t since_ns, uint64_t now_ns);

/* How much of the beginning of a turn is charged to no lease. */
uint64_t clv_handover_uncharged_ns(const struct clv_arbiter *arbiter);

/* How long after the end of its work a thread may take to come back into the line. */
uint64_t clv_handover_linger_ns(const struct clv_arbiter *arbiter);
