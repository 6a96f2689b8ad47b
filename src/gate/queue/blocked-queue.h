/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Blocked queues, and the waits for markers beside them: the operations of clv_gate_api
 * of the same names. */

/* Waits for the oldest marker and books it, or, while a queue may be blocked, books the
 * markers that are complete.  False: it booked none. */
bool clv_queues_wait_for_marker(void);

/* How soon clv_queues_wait_for_marker() must be called again although the helper is not
 * woken; 0: it need not. */
uint64_t clv_queues_poll_ns(void);

void clv_queues_forget_parent(void);
