/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* Short pauses of the lease that holds the device.  While it pauses a lease with long
 * kernels, which cannot be interrupted, would get the device at once, for a whole kernel,
 * however much it has had before: a program that reads its next data for a millisecond
 * after each batch would get a tenth of its share.  So the holder keeps the device for a
 * moment, and pays for that time, if its turn came next all the same.  It earns such time
 * by computing, so that a lease that computes little does not keep the device idle. */

/* The idle holder's budget of such time, from what it has computed since the last pause.
 */
void clv_pause_earn(struct clv_arbiter_lease *holder);

/* For how long it may keep the device from the beginning of its pause on; 0: not at all,
 * or no longer. */
uint64_t clv_pause_allowed_ns(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *holder, uint64_t now_ns);

/* The same after a request of the latency class, where threads are stopped: other leases
 * of the class do not wait for that. */
uint64_t clv_pause_after_request_ns(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *holder, uint64_t now_ns);

/* The pause that began then is over, or what is allowed is. */
void clv_pause_spend(
	struct clv_arbiter_lease *holder, uint64_t began_ns, uint64_t now_ns);

/* The lease's work went on for so long after the end of its turn. */
void clv_pause_note_drain(struct clv_arbiter_lease *lease, uint64_t ns);
