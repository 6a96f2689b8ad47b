/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

/* Stands in for a program: signals go to it, its end ends this process. */

/* Makes this process adopt the orphans of its tree, and blocks what is forwarded;
 * *ret_old is the mask to give back to the program. */
int clv_supervise_begin(sigset_t *ret_old);

/* In the child, before it becomes the program. */
void clv_supervise_restore(const sigset_t *old);

/* Forwards signals and reaps until the last process of the tree has ended.  Returns the
 * main one's exit code, 128 + n after signal n. */
int clv_supervise(pid_t main_pid);

/* The same, and calls tick every so often. */
struct clv_supervise_watch {
	uint64_t every_ns;
	void (*tick)(void *userdata, pid_t main_pid);
	void *userdata;
	/* A child that is no part of the tree, as tick says it; 0: none is.  It is
	 * neither waited for nor signalled. */
	const pid_t *outsider;
};
int clv_supervise_watched(pid_t main_pid, const struct clv_supervise_watch *watch);
