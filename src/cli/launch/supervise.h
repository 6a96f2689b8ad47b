/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

/* Supervises a program: forwards signals to it and waits for the end of its tree. */

/* Makes this process a subreaper and blocks the signals to forward; *ret_old is the mask
 * to restore in the program.  0 or -errno. */
int clv_supervise_begin(sigset_t *ret_old);

/* In the child, before it executes the program: restores the signals. */
void clv_supervise_restore(const sigset_t *old);

/* Forwards signals and reaps until the last process of the tree has ended.  Returns the
 * exit code of the main process, or 128 + n if signal n ended it. */
int clv_supervise(pid_t main_pid);

/* The same, and calls tick every every_ns. */
struct clv_supervise_watch {
	uint64_t every_ns;
	void (*tick)(void *userdata, pid_t main_pid);
	void *userdata;
	/* Read after each tick, may be NULL: a child that is not part of the tree, and is
	 * neither waited for nor signalled; 0: none. */
	const pid_t *outsider;
};
int clv_supervise_watched(pid_t main_pid, const struct clv_supervise_watch *watch);
