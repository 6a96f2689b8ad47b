/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reduces the wakeup latency of the calling thread: a short scheduler slice (Linux 6.12;
 * under CPU load it cuts the tail of a hand-over from milliseconds to tens of
 * microseconds), a higher priority if permitted, exact timers.  Best effort. */
void clv_thread_make_prompt(void);

/* Blocks all signals in the calling thread, so that no handler of the program runs on a
 * thread that the program did not create. */
void clv_thread_block_signals(void);
