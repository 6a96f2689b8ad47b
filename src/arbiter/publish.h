/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* Writes the control page of a lease. */

/* Publishes a phase, or a new turn of the same phase.  Wakes the threads that wait for a
 * turn unless the phase is CLOSED, and the helper if it is or if no thread waits. */
void clv_publish_phase(struct clv_arbiter_lease *lease, enum clv_phase phase);

/* Whether the lease wakes up often and has credit, so that it should be let in soon. */
bool clv_publish_wakes_often(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns);

/* Publishes how much may be in flight: the less, the sooner another lease can be let
 * in. */
void clv_publish_window(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	enum clv_phase phase, uint64_t now_ns);
