/* SPDX-License-Identifier: Apache-2.0 */
#include "fs.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void unmount(const char *mount_point)
{
	if (umount2(mount_point, MNT_DETACH) == 0)
		return;
	/* A process that is not root has mounted through this program, too. */
	if (errno == EPERM && fork() == 0) {
		execlp("fusermount3", "fusermount3", "-uqz", mount_point, (char *)NULL);
		_exit(127);
	}
}

/* A mount without its server returns an error; a mount that answers is another's, or
 * there is none. */
void sy_unmount_dead(const char *mount_point)
{
	struct stat st;

	for (int i = 0; i < 8; i++) {
		if (stat(mount_point, &st) == 0 ||
			(errno != ENOTCONN && errno != ECONNABORTED))
			return;
		unmount(mount_point);
	}
}

/* Closes the descriptors inherited from the parent, so that a reader of its output sees
 * the end. */
static _Noreturn void guard(int fd, const char *mount_point)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte;

	setsid();
	if (chdir("/") < 0)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	sy_unmount_dead(mount_point);
	_exit(0);
}

void sy_guard(const char *mount_point)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		sy_die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		sy_die("fork: %s", strerror(errno));
	if (pid > 0) {
		close(ends[0]);
		return; /* the end of this process closes the other end */
	}
	close(ends[1]);
	guard(ends[0], mount_point);
}
