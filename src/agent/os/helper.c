/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/helper.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define END_MS 5

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void clv_helper_close_all_but(int *kept, uint32_t n)
{
	unsigned int from = 0;

	qsort(kept, n, sizeof(*kept), compare_fds);
	for (uint32_t i = 0; i < n; i++) {
		if ((unsigned int)kept[i] > from)
			close_range(from, (unsigned int)kept[i] - 1, 0);
		from = (unsigned int)kept[i] + 1;
	}
	close_range(from, ~0u, 0);
}

const char *clv_helper_read_stat(pid_t pid, char *buffer, size_t room_bytes)
{
	_cleanup_close_ int fd = -1;
	const char *end;
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buffer, room_bytes - 1);
	if (n < 0)
		return NULL;
	buffer[n] = '\0';
	end = strrchr(buffer, ')');
	return end ? end + 2 : NULL;
}

/* Overwrites the arguments, whose addresses are the fields 48 and 49 of the stat file, so
 * that ps shows the purpose of the child and not a second agent. */
static void take_name(const char *name)
{
	char text[32], buffer[1024];
	const char *at = clv_helper_read_stat(getpid(), buffer, sizeof(buffer));
	char *begin, *end;

	snprintf(text, sizeof(text), "cleaved-%s", name);
	prctl(PR_SET_NAME, text);
	for (int field = 3; at && field < 48; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	if (!at)
		return;
	begin = (char *)(uintptr_t)strtoull(at, (char **)&at, 10);
	end = (char *)(uintptr_t)strtoull(at, NULL, 10);
	snprintf(text, sizeof(text), "cleaved --%s", name);
	if (!begin || end <= begin + strlen(text))
		return;
	memset(begin, 0, (size_t)(end - begin));
	strcpy(begin, text);
}

_Noreturn static void run(int fd, pid_t agent, const char *name, void (*serve)(int fd))
{
	int kept[] = {fd};

	clv_helper_close_all_but(kept, CLV_ARRAY_SIZE(kept));
	take_name(name);
	/* A child that hangs would not notice the end of the socket when its agent ends.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == agent)
		serve(fd);
	_exit(0);
}

int clv_helper_start(struct clv_helper *helper, const char *name, void (*serve)(int fd))
{
	pid_t agent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	helper->pid = fork();
	if (helper->pid == 0)
		run(ends[1], agent, name, serve);
	close(ends[1]);
	if (helper->pid < 0) {
		close(ends[0]);
		helper->pid = 0;
		return -EAGAIN;
	}
	helper->fd = ends[0];
	return 0;
}

pid_t clv_helper_stop(struct clv_helper *helper)
{
	const struct timespec pause = {.tv_nsec = CLV_NS_PER_MS};
	pid_t pid = helper->pid;

	close(helper->fd);
	helper->pid = 0;
	kill(pid, SIGKILL);
	for (int i = 0; i < END_MS; i++) {
		if (clv_helper_has_ended(pid))
			return 0;
		nanosleep(&pause, NULL);
	}
	return pid;
}

bool clv_helper_has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}
