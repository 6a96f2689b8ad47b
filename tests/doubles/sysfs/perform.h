/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <sys/types.h>

/* Every effect of a client on the world passes through here: faults are injected, the
 * journal gets a line, and the state is written before the call returns. */

void sy_perform_init(const char *control);

/* Effects are called with the world's lock held and return 0 or -errno. The pid is the
 * client's, 0 if there is no process to kill. */
struct sy_act {
	const char *operation, *path, *value;
	pid_t pid;
	int (*effect)(struct sy_act *act);
	void *data;
};
int sy_perform(struct sy_act *act);

/* A write to a file of the tree. */
int sy_write(const char *path, const char *value, pid_t pid);
