/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* The arbiter's signs of life to its gates, and its own absences: an agent that was
 * stopped (SIGSTOP, a debugger, a frozen cgroup) finds turns that ended long ago. */

/* Tells all attached leases the time, which must be from under the lock. */
void clv_heartbeat_publish(struct clv_arbiter *arbiter, uint64_t now_ns);

/* When the next one is due: UINT64_MAX while no turn is granted and nobody waits. */
uint64_t clv_heartbeat_due_ns(const struct clv_arbiter *arbiter, uint64_t now_ns);

/* Before anything is charged.  Where a step was due and is late by far, the gates have
 * helped themselves meanwhile: that time is charged to nobody, and no time-out runs in
 * it. */
void clv_heartbeat_note_absence(struct clv_arbiter *arbiter, uint64_t now_ns);
