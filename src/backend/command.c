/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of others that have to be run: modprobe, NVIDIA's sriov-manage.  What they say
 * goes to a file in memory and not into a pipe, so that something that they leave running
 * cannot keep us waiting. */
#include "backend/command.h"

#include "base/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void keep_last_line(int fd, char *ret, size_t ret_bytes)
{
	char text[2048];
	off_t end = lseek(fd, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
	ssize_t n = pread(fd, text, sizeof(text) - 1, from);
	char *line;

	ret[0] = '\0';
	if (n <= 0)
		return;
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	text[n] = '\0';
	line = strrchr(text, '\n');
	snprintf(ret, ret_bytes, "%s", line ? line + 1 : text);
}

static int spawn(const char *const *argv, int output_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawnp(
		ret_pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

int clv_command_run(const char *const *argv, char *ret_said, size_t said_bytes)
{
	_cleanup_close_ int fd = memfd_create("cleave-said", MFD_CLOEXEC);
	int status = 0, r;
	pid_t pid;

	ret_said[0] = '\0';
	if (fd < 0)
		return -errno;
	r = spawn(argv, fd, &pid);
	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	keep_last_line(fd, ret_said, said_bytes);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
