/* SPDX-License-Identifier: Apache-2.0 */
/* Ends commands in containers.  podman has no command for it, and one that is killed
 * leaves its program in the container; what has the variable in its environment is that
 * program, and what it has started.  A process can keep the reader of its environment
 * waiting, by a page of a file system of its own, for instance: so only those of the
 * container are read, by a process that is not waited for. */
#include "bridge/services/engine/exec.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENVIRONMENT_MAX_BYTES (4u << 20)
/* Programs may start others meanwhile. */
#define ROUNDS 5u
#define WITHIN_S 1

static bool has_mark(const char *text, size_t n_bytes, const char *mark)
{
	for (size_t i = 0; i < n_bytes; i += strlen(text + i) + 1) {
		if (strcmp(text + i, mark) == 0)
			return true;
	}
	return false;
}

/* The PID namespace of a process, which the kernel tells without it. */
static bool read_namespace(pid_t pid, struct stat *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, ret) == 0;
}

static bool is_beside(pid_t pid, const struct stat *namespace)
{
	struct stat its;

	return read_namespace(pid, &its) && its.st_ino == namespace->st_ino &&
	       its.st_dev == namespace->st_dev;
}

/* Looked at while the descriptor keeps the number from another process. */
static bool end_if_marked(pid_t pid, const struct stat *namespace, const char *mark)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (pidfd < 0 || !is_beside(pid, namespace) ||
		clv_file_read_all(path, ENVIRONMENT_MAX_BYTES, &text, &n_bytes, NULL) < 0)
		return false;
	return has_mark(text, n_bytes, mark) &&
	       syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

static bool end_marked(const struct stat *namespace, const char *mark)
{
	DIR *folder = opendir("/proc");
	bool found = false;

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && end_if_marked(pid, namespace, mark))
			found = true;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* In a process that is not the supervisor's child: it may be waiting in the kernel for
 * what a process of the container does not give it, and then nothing ends it. */
static void end_all(const struct stat *namespace, const char *mark, int done_fd)
{
	sigset_t none;

	/* Without the supervisor's lock and sockets. */
	dup2(done_fd, 3);
	close_range(4, ~0U, 0);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(WITHIN_S);
	for (unsigned i = 0; i < ROUNDS && end_marked(namespace, mark); i++)
		continue;
	_exit(0);
}

/* The child ends at once, and its own one has the pipe. */
static int begin(const struct stat *namespace, const char *mark)
{
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		if (fork() == 0)
			end_all(namespace, mark, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	return fds[0];
}

int clv_engine_end_exec(const char *name, pid_t first)
{
	_cleanup_free_ char *mark = NULL;
	struct stat namespace, own;

	/* Not where the container has that of the machine. */
	if (!read_namespace(first, &namespace) || !read_namespace(getpid(), &own) ||
		(namespace.st_ino == own.st_ino && namespace.st_dev == own.st_dev))
		return -1;
	if (asprintf(&mark, CLV_ENGINE_EXEC_MARK "=%s", name) < 0) {
		mark = NULL;
		return -1;
	}
	return begin(&namespace, mark);
}
