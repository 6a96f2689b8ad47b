/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the users of devices in the links of /proc/PID/fd, with one walk for a whole
 * survey.  A process that has only a mapping of a device is not found; drivers count open
 * files as well. */
#include "backend/openers.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 3 /* holders named in one message */

/* CLEAVE_PROCFS and CLEAVE_SYSFS are for tests. */
static const char *procfs(void)
{
	const char *folder = getenv("CLEAVE_PROCFS");

	return folder && folder[0] == '/' ? folder : "/proc";
}

static bool is_wanted(const char *path, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static int collect_open_files(DIR *folder, uint32_t pid, const char *const *prefixes,
	size_t n_prefixes, struct clv_openers *openers)
{
	struct dirent *entry;

	while ((entry = readdir(folder))) {
		struct clv_opener *opener;
		char target[sizeof(opener->path)];
		ssize_t n = readlinkat(
			dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0 || n == sizeof(target) - 1)
			continue;
		target[n] = '\0';
		if (!is_wanted(target, prefixes, n_prefixes))
			continue;
		opener = CLV_APPEND(openers->items, openers->n);
		if (!opener)
			return -ENOMEM;
		opener->pid = pid;
		memcpy(opener->path, target, sizeof(target));
	}
	return 0;
}

int clv_openers_find(
	const char *const *prefixes, size_t n_prefixes, struct clv_openers *ret)
{
	DIR *processes = opendir(procfs());
	struct dirent *entry;
	int r = 0;

	*ret = (struct clv_openers){0};
	while (r == 0 && processes && (entry = readdir(processes))) {
		char path[300];
		DIR *files;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%.200s/%.20s/fd", procfs(), entry->d_name);
		files = opendir(path);
		if (!files)
			continue; /* another user's process, or one that has just ended */
		r = collect_open_files(files, (uint32_t)strtoul(entry->d_name, NULL, 10),
			prefixes, n_prefixes, ret);
		closedir(files);
	}
	if (processes)
		closedir(processes);
	if (r < 0)
		clv_openers_clear(ret);
	return r;
}

void clv_openers_clear(struct clv_openers *openers)
{
	free(openers->items);
	*openers = (struct clv_openers){0};
}

int clv_openers_add_holders(
	const struct clv_openers *openers, const char *path, struct clv_holders *holders)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < openers->n; i++) {
		if (strcmp(openers->items[i].path, path) == 0)
			r = clv_holders_add_process(holders, openers->items[i].pid);
	}
	return r;
}

static void get_command(uint32_t pid, char ret[32])
{
	char path[300];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	ret[0] = '\0';
	snprintf(path, sizeof(path), "%.200s/%u/comm", procfs(), pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, 31);
	if (n < 0)
		n = 0;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

int clv_holders_add_process(struct clv_holders *holders, uint32_t pid)
{
	struct clv_holder *holder;
	char command[32];

	for (size_t i = 0; i < holders->n; i++) {
		if (holders->items[i].pid == pid)
			return 0;
	}
	holder = clv_holders_add(holders);
	if (!holder)
		return -ENOMEM;
	holder->pid = pid;
	get_command(pid, command);
	if (command[0])
		snprintf(holder->text, sizeof(holder->text), "process %u (%s)", pid,
			command);
	else
		snprintf(holder->text, sizeof(holder->text), "process %u", pid);
	return 0;
}

int clv_holders_add_text(struct clv_holders *holders, const char *text)
{
	struct clv_holder *holder = clv_holders_add(holders);

	if (!holder)
		return -ENOMEM;
	snprintf(holder->text, sizeof(holder->text), "%s", text);
	return 0;
}

int clv_holders_copy(struct clv_holders *to, const struct clv_holders *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct clv_holder *holder = clv_holders_add(to);

		if (!holder)
			return -ENOMEM;
		*holder = from->items[i];
	}
	return 0;
}

void clv_holders_describe(const struct clv_holders *holders, char *ret, size_t ret_bytes)
{
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < holders->n && i < SHOWN && used < ret_bytes; i++)
		used += (size_t)snprintf(ret + used, ret_bytes - used, "%s%s",
			i > 0 ? ", " : "", holders->items[i].text);
	if (holders->n > SHOWN && used < ret_bytes)
		snprintf(ret + used, ret_bytes - used, " and %zu more",
			holders->n - SHOWN);
}
