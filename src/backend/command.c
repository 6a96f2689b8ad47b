/* SPDX-License-Identifier: Apache-2.0 */
/* Runs external programs: modprobe, NVIDIA's sriov-manage.  Their output goes to a memfd
 * and not into a pipe: a background process that inherits a pipe would keep it open, and
 * the reader would block. */
#include "backend/command.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

/* The program is killed with its caller (PR_SET_PDEATHSIG), so that the next reader of
 * the device does not race with it.  posix_spawn() cannot set this, hence fork().  The
 * parent may have died before prctl(), which getppid() detects. */
static void become(const char *const *argv, int output_fd, pid_t parent)
{
	int nothing = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(nothing, STDIN_FILENO) >= 0 &&
		dup2(output_fd, STDOUT_FILENO) >= 0 &&
		dup2(output_fd, STDERR_FILENO) >= 0)
		execvp(argv[0], (char *const *)argv);
}

/* The child reports a failed exec through a close-on-exec pipe. */
static int spawn(const char *const *argv, int output_fd, pid_t *ret_pid)
{
	int fds[2], why = 0;
	pid_t parent = getpid();

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		become(argv, output_fd, parent);
		why = errno;
		_exit(write(fds[1], &why, sizeof(why)) == sizeof(why) ? 126 : 127);
	}
	if (*ret_pid < 0)
		why = errno;
	close(fds[1]);
	if (*ret_pid > 0 && read(fds[0], &why, sizeof(why)) == sizeof(why))
		waitpid(*ret_pid, NULL, 0);
	close(fds[0]);
	return -why;
}

int clv_command_run(const char *const *argv, char *ret_said, size_t said_bytes)
{
	_cleanup_close_ int fd = memfd_create("cleave-said", MFD_CLOEXEC);
	int status = 0, r;
	pid_t pid = -1;

	assert(argv[0] && said_bytes > 0);
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
