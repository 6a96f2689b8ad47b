/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

/* The signals that end a command, read from a descriptor instead of killing it, so that
 * it leaves nothing behind.  It can be waited for together with the agent's answer
 * (struct clv_client_options, interrupt_fd). */

/* Returns the descriptor, or -errno.  old_mask may be NULL. */
int clv_signals_watch(sigset_t *old_mask);

/* The number of the signal that came, SIGINT when none did. */
int clv_signals_take(int signal_fd);
