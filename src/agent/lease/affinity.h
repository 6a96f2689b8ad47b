/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_lease;

/* Sees to it that the attached processes of a lease on a set of processors keep to it: a
 * thread that left it is put back, and an event says so.  For all other leases nothing is
 * done.  Linux lets a process choose among the processors that its cpuset allows, so
 * without a cpuset this is what a set is held by. */
void clv_affinity_hold(struct clv_lease *lease);
