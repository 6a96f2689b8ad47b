/* SPDX-License-Identifier: Apache-2.0 */
/* Ends commands in containers.  podman has no command for it, and one that is killed
 * leaves its program in the container; what has the variable in its environment is that
 * program, and what it has started. */
#include "bridge/services/engine/exec.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRONMENT_MAX_BYTES (4u << 20)
/* Programs may start others meanwhile. */
#define ROUNDS 5u

static bool has_mark(const char *text, size_t n_bytes, const char *mark)
{
	for (size_t i = 0; i < n_bytes; i += strlen(text + i) + 1) {
		if (strcmp(text + i, mark) == 0)
			return true;
	}
	return false;
}

/* Looked at while the descriptor keeps the number from another process. */
static bool end_if_marked(pid_t pid, const char *mark)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (pidfd < 0 ||
		clv_file_read_all(path, ENVIRONMENT_MAX_BYTES, &text, &n_bytes, NULL) < 0)
		return false;
	return has_mark(text, n_bytes, mark) &&
	       syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

static bool end_marked(const char *mark)
{
	DIR *folder = opendir("/proc");
	bool found = false;

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && end_if_marked(pid, mark))
			found = true;
	}
	if (folder)
		closedir(folder);
	return found;
}

void clv_engine_end_exec(const char *name)
{
	_cleanup_free_ char *mark = NULL;

	if (asprintf(&mark, CLV_ENGINE_EXEC_MARK "=%s", name) < 0)
		return;
	for (unsigned i = 0; i < ROUNDS && end_marked(mark); i++)
		continue;
}
