/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Queues that stand still, and the waits for markers beside them: the operations of
 * clv_gate_api of the same names. */

/* Waits for the oldest marker and books it, or, while something may stand still, books
 * what is complete.  False: there is none. */
bool clv_queues_wait_for_marker(void);

/* How soon clv_queues_look_aside() is to be called again though nothing says so; 0: it
 * need not. */
uint64_t clv_queues_poll_ns(void);

void clv_queues_forget_parent(void);
