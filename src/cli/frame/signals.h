/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

/* The signals that end a command (SIGINT, SIGTERM, SIGHUP, SIGQUIT) are blocked and read
 * from a signalfd, so that the command can clean up.  The descriptor can also interrupt
 * calls to the agent (struct clv_client_options, interrupt_fd). */

/* Returns the signalfd, or -errno.  *old_mask is the mask before; it may be NULL. */
int clv_signals_watch(sigset_t *old_mask);

/* The number of a pending signal, or SIGINT if none is pending.  Does not block. */
int clv_signals_read(int signal_fd);
