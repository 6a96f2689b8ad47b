/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"
#include "node.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int files[DNV_GPUS_MAX]; /* descriptor + 1; 0: not open */

/* A user who may not write to the folder opens nothing. */
void dnv_file_open(int dirfd, unsigned gpu, uint32_t minor)
{
	char name[32];
	int fd;

	if (files[gpu])
		return;
	snprintf(name, sizeof(name), "nvidia%u", minor);
	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	/* For processes of other users, regardless of the umask. */
	(void)!fchmod(fd, 0666);
	files[gpu] = fd + 1;
}

void dnv_files_close(void)
{
	for (int i = 0; i < DNV_GPUS_MAX; i++) {
		if (files[i])
			close(files[i] - 1);
		files[i] = 0;
	}
}

static int has_open(const char *pid, const char *path)
{
	char folder[512], link[1024], target[PATH_MAX];
	struct dirent *entry;
	int is_found = 0;
	DIR *open_files;

	snprintf(folder, sizeof(folder), "/proc/%.20s/fd", pid);
	open_files = opendir(folder);
	while (open_files && !is_found && (entry = readdir(open_files))) {
		ssize_t n;

		snprintf(link, sizeof(link), "%s/%s", folder, entry->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		is_found = strcmp(target, path) == 0;
	}
	if (open_files)
		closedir(open_files);
	return is_found;
}

int dnv_file_opener(const char *folder, uint32_t minor)
{
	char real[PATH_MAX], path[PATH_MAX + 32];
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int pid = 0;

	if (!processes || !realpath(folder, real)) {
		perror("double-nvml: cannot search for open files");
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/nvidia%u", real, minor);
	while (!pid && (entry = readdir(processes)))
		if (atoi(entry->d_name) > 0 && has_open(entry->d_name, path))
			pid = atoi(entry->d_name);
	closedir(processes);
	return pid;
}
