/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A process that has just fallen idle in its turn may be back before a hand-over would be
 * done: a program that waits for each kernel always is.  Giving the device away then
 * costs it another lease's kernel; keeping it costs the lease the gap, for the clock runs
 * on.  So it keeps the device for a moment, as long as that usually pays off. */

/* It is idle.  Whether the arbiter shall hear of it later. */
bool clv_grace_begin(void);

/* Work goes in and none was in flight. */
void clv_grace_came_back(void);

/* What is left of the moment; 0: over, or there was none. */
uint64_t clv_grace_left_ns(void);

/* It was over, and nothing came. */
void clv_grace_failed(void);
