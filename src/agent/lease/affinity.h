/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_lease;

/* Keeps the attached processes of a lease on `cores:N` on their processors: a thread with
 * another affinity is put back and reported by an event.  Does nothing for other leases.
 * Linux lets a process choose any processors of its cpuset, so without a cpuset only this
 * enforces the set.  Called once a second. */
void clv_affinity_hold(struct clv_lease *lease);
