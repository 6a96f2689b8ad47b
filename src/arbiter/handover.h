/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* What it takes to pass the device from one lease to the next where work is not stopped
 * half-way, and what follows from that: the next lease is let in so long before the last
 * command of the present one is complete as threads take to wake up here, and turns are
 * so long that little is lost.  Everything is measured.  What tenants report (page.h:
 * struct clv_slot_turn) is bounded: it lets the next lease in 300 us early at most, for
 * which both pay half.  With the arbiter's lock held. */

/* The arbiter's thread woke up so long after it had asked to. */
void clv_handover_note_late(struct clv_arbiter *arbiter, uint64_t late_ns);

/* From when on the next lease may be let in though the closed holder has work in flight;
 * UINT64_MAX: when that is complete, as always on a processor, whose scheduler would let
 * the newcomer's threads run first. */
uint64_t clv_handover_early_ns(const struct clv_arbiter *arbiter, uint64_t now_ns);

/* The holder was passed over while its last command runs, and the next one, if any, has
 * the device: both pay half until that command was to be complete, then the lease that
 * leaves pays alone until it is (clv_handover_part_ns). */
void clv_handover_begin(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *leaving, uint64_t now_ns);

/* Looks whether the lease that leaves has drained.  Returns whether it just did. */
bool clv_handover_end(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* The holder was closed: what it took until it began. */
void clv_handover_learn(struct clv_arbiter *arbiter, uint64_t now_ns);

/* The closed holder has drained, and somebody may be in line. */
void clv_handover_vacate(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);

/* What the lease pays for the time since then.  While one lease's last command is in
 * flight in the next one's turn each pays half, up to the end that was announced; what is
 * later is the leaving lease's. */
uint64_t clv_handover_part_ns(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t since_ns, uint64_t now_ns);

/* Of a turn's beginning, so much is nobody's time. */
uint64_t clv_handover_free_ns(const struct clv_arbiter *arbiter);

/* So long after its work was complete a thread is on its way into the line. */
uint64_t clv_handover_linger_ns(const struct clv_arbiter *arbiter);
