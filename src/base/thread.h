/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes the calling thread quick to be scheduled once it wakes: short scheduler slices
 * (Linux 6.12; under CPU load they cut the tail of a hand-over from milliseconds to tens
 * of microseconds), a higher priority where that is allowed, exact timers.  Best effort.
 */
void clv_thread_make_prompt(void);

/* Blocks all signals in the calling thread, so that none is handled on a thread that the
 * program does not know. */
void clv_thread_block_signals(void);
