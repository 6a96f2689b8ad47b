/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* What the gates of a lease are told, through its control page. */

/* A new phase (or a new turn of the same), and all threads that wait for it woken. */
void clv_publish_phase(struct clv_arbiter_lease *lease, enum clv_phase phase);

/* It is idle and has credit most of the time, and comes back often: it is let in soon. */
bool clv_publish_wakes_often(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns);

/* How much may be in flight: the less, the sooner somebody else can be let in. */
void clv_publish_window(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	enum clv_phase phase, uint64_t now_ns);
