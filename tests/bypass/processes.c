/* SPDX-License-Identifier: Apache-2.0 */
/* Ways by other processes: every method of creating a child and of becoming another
 * program, for each API.  If memory was allocated before, the child must get only the
 * rest of the quota. */
#include "ways.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

enum { PARTS = 4 };

static char self[] = "/proc/self/exe";
static char *const child_arguments[] = {self, gpu_way_of_memory, NULL};

static int way_fork(char **arguments)
{
	pid_t pid = fork();

	if (pid == 0) {
		gpu_take_all();
		_exit(0);
	}
	return way_wait_for(pid);
}

/* The child uses the parent's context.  No standard promises that this works; where it
 * does it must not bypass the quota. */
static int way_fork_inherited(char **arguments)
{
	pid_t pid;

	gpu_take_half();
	pid = fork();
	if (pid == 0) {
		gpu_take_inherited();
		_exit(0);
	}
	return way_wait_for(pid);
}

static int way_vfork(char **arguments)
{
	pid_t pid;

	gpu_take_half();
	pid = vfork();
	if (pid == 0) {
		execve(self, child_arguments, environ);
		_exit(127);
	}
	return way_wait_for(pid);
}

/* Without the C library, so that no handler registered for fork runs. */
static int way_clone(char **arguments)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0) {
		gpu_take_all();
		_exit(0);
	}
	return way_wait_for(pid);
}

static int way_clone_inherited(char **arguments)
{
	pid_t pid;

	gpu_take_half();
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (pid == 0) {
		gpu_take_inherited();
		_exit(0);
	}
	return way_wait_for(pid);
}

static int take_inherited(void *userdata)
{
	gpu_take_inherited();
	_exit(0);
}

/* Another process in the same address space: what it allocates stays when this process
 * ends. */
static int way_clone_shared(char **arguments)
{
	static _Alignas(64) char stack[1 << 20];

	gpu_open();
	return way_wait_for(
		clone(take_inherited, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
}

static int way_spawn(char **arguments)
{
	pid_t pid = -1;

	gpu_take_half();
	errno = posix_spawn(&pid, self, NULL, NULL, child_arguments, environ);
	return way_wait_for(pid);
}

static int way_exec_self(char **arguments)
{
	gpu_open();
	if (gpu_take_piece() != 0)
		way_die("no piece", 0);
	execve(self, child_arguments, environ);
	way_die("execve", errno);
}

/* In another session and with another parent; the first process ends at once. */
static int way_daemon(char **arguments)
{
	if (fork())
		return 0;
	setsid();
	if (fork())
		_exit(0);
	usleep(200000);
	gpu_take_all();
	return 0;
}

static int way_many_processes(char **arguments)
{
	pid_t pids[PARTS];
	int r = 0;

	for (int i = 0; i < PARTS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			gpu_take_all();
			gpu_keep();
			_exit(0);
		}
	}
	for (int i = 0; i < PARTS; i++)
		r |= way_wait_for(pids[i]);
	return r;
}

/* A child whose environment has only the path. */
static int way_empty_environment(char **arguments)
{
	char path[] = "PATH=/usr/bin:/bin";
	char *const environment[] = {path, NULL};

	execve(self, child_arguments, environment);
	way_die("execve", errno);
}

/* Unmounts what cleave run mounted over the folder of drivers. */
static int way_umount(char **arguments)
{
	char path[] = "PATH=/usr/bin:/bin";
	char *const environment[] = {path, NULL};

	if (umount2("/etc/OpenCL/vendors", MNT_DETACH) < 0) {
		way_say("no umount: %s\n", strerror(errno));
		return 0;
	}
	execve(self, child_arguments, environment);
	way_die("execve", errno);
}

const struct way way_processes[] = {
	{"fork", way_fork},
	{"fork-inherited", way_fork_inherited},
	{"vfork", way_vfork},
	{"clone", way_clone},
	{"clone-inherited", way_clone_inherited},
	{"clone-shared", way_clone_shared},
	{"spawn", way_spawn},
	{"exec-self", way_exec_self},
	{"daemon", way_daemon},
	{"many-processes", way_many_processes},
	{"empty-environment", way_empty_environment},
	{"umount", way_umount},
	{NULL, NULL},
};
