/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/arbiter.h"
#include "arbiter/internal.h"

/* Two leases of half a device, each with a process in slot 0, and an arbiter without a
 * thread: the test calls clv_turns_step() at the times that it chooses. */
struct clv_arbiter_world {
	struct clv_arbiter arbiter;
	struct clv_arbiter_lease *leases[2];
};

/* Adds a lease of 1 / n of the device. */
struct clv_arbiter_lease *clv_arbiter_world_add(
	struct clv_arbiter_world *world, unsigned n, uint64_t now_ns);

void clv_arbiter_world_make(struct clv_arbiter_world *world, uint64_t now_ns);
void clv_arbiter_world_drop(struct clv_arbiter_world *world);
