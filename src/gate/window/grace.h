/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The grace of a process that has just become idle in its turn: it may submit again
 * before a hand-over would be complete, as a program that waits for each kernel always
 * does.  Giving up the device then costs it another lease's kernel; keeping it costs the
 * lease the gap, which is charged.  So it keeps the device for a moment, as long as that
 * usually pays off. */

/* The process is idle.  Returns true if a grace has begun, so that idleness is reported
 * later. */
bool clv_grace_begin(void);

/* Work was submitted while none was in flight. */
void clv_grace_succeeded(void);

/* The rest of the grace; 0: it is over, or there was none. */
uint64_t clv_grace_left_ns(void);

/* The grace ended without a submission. */
void clv_grace_failed(void);
