/* SPDX-License-Identifier: Apache-2.0 */
/* Signals the descendants of a process. */
#include "cli/launch/tree.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* Deeper trees are signalled from level to level, as the upper levels end and the rest is
 * reparented. */
#define DEPTH_MAX 64

static unsigned int signal_below(
	pid_t root, const pid_t without[2], int number, unsigned int depth);

static unsigned int signal_children(
	const char *path, const pid_t without[2], int number, unsigned int depth)
{
	FILE *children = fopen(path, "re");
	unsigned int n = 0;
	int pid;

	if (!children)
		return 0;
	while (fscanf(children, "%d", &pid) == 1) {
		if (pid == without[0] || pid == without[1])
			continue;
		/* Before the signal: when it has ended, its children have another
		 * parent. */
		n += 1 + signal_below(pid, without, number, depth + 1);
		if (number != 0)
			kill(pid, number);
	}
	fclose(children);
	return n;
}

/* Each thread of a process has children of its own. */
static unsigned int signal_below(
	pid_t root, const pid_t without[2], int number, unsigned int depth)
{
	const struct dirent *entry;
	unsigned int n = 0;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)root);
	threads = depth < DEPTH_MAX ? opendir(path) : NULL;
	if (!threads)
		return 0;
	while ((entry = readdir(threads))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)root,
			entry->d_name);
		n += signal_children(path, without, number, depth);
	}
	closedir(threads);
	return n;
}

unsigned int clv_tree_signal(pid_t root, const pid_t without[2], int number)
{
	return signal_below(root, without, number, 0);
}
