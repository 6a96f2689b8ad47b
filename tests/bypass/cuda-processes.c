/* SPDX-License-Identifier: Apache-2.0 */
/* Ways by other processes: every method of creating a child and of becoming another
 * program.  If memory was allocated before, the child must get only the rest of the
 * quota. */
#include "cuda.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char self[] = "/proc/self/exe";
static char *const child_arguments[] = {self, (char[]){"allocations"}, NULL};

static int wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0)
		die("no child", errno);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waitpid", errno);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void take_all(void)
{
	open_device();
	take(take_plain);
	stay();
}

static void take_half(void)
{
	open_device();
	for (uint64_t i = number("BYPASS_HALF_PIECES", 4); i > 0; i--)
		OK(take_plain());
}

static int in_fork(char **arguments)
{
	pid_t pid = fork();

	(void)arguments;
	if (pid == 0) {
		take_all();
		_exit(0);
	}
	return wait_for(pid);
}

/* CUDA does not support children that use their parent's context: they get its error. */
static int fork_inherited(char **arguments)
{
	pid_t pid;

	(void)arguments;
	take_half();
	pid = fork();
	if (pid == 0) {
		int r = take_plain();

		say(r ? "no: error %d\n" : "yes, error %d\n", r);
		_exit(0);
	}
	return wait_for(pid);
}

static int in_vfork(char **arguments)
{
	pid_t pid;

	(void)arguments;
	take_half();
	pid = vfork();
	if (pid == 0) {
		execve(self, child_arguments, environ);
		_exit(127);
	}
	return wait_for(pid);
}

/* Without the C library, so that no handler registered for fork runs. */
static int in_clone(char **arguments)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	(void)arguments;
	if (pid == 0) {
		take_all();
		_exit(0);
	}
	return wait_for(pid);
}

static int spawned(char **arguments)
{
	pid_t pid = -1;

	(void)arguments;
	take_half();
	errno = posix_spawn(&pid, self, NULL, NULL, child_arguments, environ);
	return wait_for(pid);
}

static int exec_self(char **arguments)
{
	(void)arguments;
	open_device();
	OK(take_plain());
	execve(self, child_arguments, environ);
	die("execve", errno);
}

/* In another session and with another parent; the first process ends at once. */
static int daemonized(char **arguments)
{
	(void)arguments;
	if (fork())
		return 0;
	setsid();
	if (fork())
		_exit(0);
	usleep(200000);
	take_all();
	return 0;
}

static int many(char **arguments)
{
	pid_t pids[4];
	int r = 0;

	(void)arguments;
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			take_all();
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		r |= wait_for(pids[i]);
	return r;
}

/* Killed and started again: the memory of the dead process is free, and no more than
 * that. */
static int killed_again_and_again(char **arguments)
{
	(void)arguments;
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			open_device();
			for (int n = 0; n < 4; n++)
				take_plain();
			raise(SIGKILL);
		}
		wait_for(pid);
	}
	usleep(500000);
	take_all();
	return 0;
}

/* Another user, in the same lease. */
static int other_user(char **arguments)
{
	(void)arguments;
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) {
		say("skip: only root may\n");
		return 0;
	}
	take_all();
	return 0;
}

static void flood_child(void)
{
	open_device();
	flood_with_kernels(new_stream(), KERNEL_NS, 16);
}

static int working(char **arguments)
{
	(void)arguments;
	for (int i = 0; i < 4; i++) {
		if (fork() == 0)
			flood_child();
	}
	sleep(1);
	say("go\n");
	stay();
	return 0;
}

/* Each process is too short to be noticed easily. */
static int short_lived(char **arguments)
{
	(void)arguments;
	say("go\n");
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			handle stream;

			open_device();
			stream = new_stream();
			for (int i = 0; i < 100; i++)
				launch(stream, KERNEL_NS);
			_exit(0);
		}
		wait_for(pid);
	}
}

/* Killed at random times during its work, again and again. */
static int killed_at_work(char **arguments)
{
	unsigned n = 1;
	pid_t pid;

	(void)arguments;
	say("go\n");
	do {
		pid = fork();
		if (pid == 0)
			flood_child();
		n = n * 1103515245 + 12345;
		usleep(20000 + n / 65536 % 100000);
		kill(pid, SIGKILL);
		wait_for(pid);
	} while (pid > 0);
	return 0;
}

const struct way way_processes[] = {
	{"fork", in_fork},
	{"fork-inherited", fork_inherited},
	{"vfork", in_vfork},
	{"clone", in_clone},
	{"spawn", spawned},
	{"exec-self", exec_self},
	{"daemon", daemonized},
	{"many-processes", many},
	{"killed-again", killed_again_and_again},
	{"other-user", other_user},
	{"work-processes", working},
	{"work-short-lived", short_lived},
	{"killed-at-work", killed_at_work},
	{NULL, NULL},
};
