/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* The detection of the arbiter's own absence: an agent that was stopped (SIGSTOP, a
 * debugger, a frozen cgroup) finds turns that ended long ago. */

/* Call before anything is charged, and at the end of a step.  If a step was due and no
 * heartbeat was published for long, or for long in a driver call (arbiter->hole_ns), the
 * gates have opened by themselves: that time is charged to no lease, and no timeout runs
 * in it. */
void clv_absence_note(struct clv_arbiter *arbiter, uint64_t now_ns);
