/* SPDX-License-Identifier: Apache-2.0 */
/* Ways by other processes that work or that are killed; processes.c has those of any API.
 */
#include "cuda.h"

#include <grp.h>
#include <signal.h>
#include <unistd.h>

/* Killed and started again: the memory of the dead process is free, and no more than
 * that. */
static int killed_again_and_again(char **arguments)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			gpu_open();
			for (int n = 0; n < 4; n++)
				take_plain();
			raise(SIGKILL);
		}
		way_wait_for(pid);
	}
	usleep(500000);
	gpu_take_all();
	return 0;
}

/* Another user, in the same lease. */
static int other_user(char **arguments)
{
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) {
		way_say("skip: only root may\n");
		return 0;
	}
	gpu_take_all();
	return 0;
}

static void flood_child(void)
{
	gpu_open();
	flood_with_kernels(new_stream(), KERNEL_NS, 16);
}

static int working(char **arguments)
{
	for (int i = 0; i < 4; i++) {
		if (fork() == 0)
			flood_child();
	}
	sleep(1);
	way_say("go\n");
	way_stay();
	return 0;
}

/* Each process is too short to be noticed easily. */
static int short_lived(char **arguments)
{
	way_say("go\n");
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			handle stream;

			gpu_open();
			stream = new_stream();
			for (int i = 0; i < 100; i++)
				launch(stream, KERNEL_NS);
			_exit(0);
		}
		way_wait_for(pid);
	}
}

/* Killed at random times during its work, again and again. */
static int killed_at_work(char **arguments)
{
	unsigned n = 1;
	pid_t pid;

	way_say("go\n");
	do {
		pid = fork();
		if (pid == 0)
			flood_child();
		n = n * 1103515245 + 12345;
		usleep(20000 + n / 65536 % 100000);
		kill(pid, SIGKILL);
		way_wait_for(pid);
	} while (pid > 0);
	return 0;
}

const struct way way_more_processes[] = {
	{"killed-again", killed_again_and_again},
	{"other-user", other_user},
	{"work-processes", working},
	{"work-short-lived", short_lived},
	{"killed-at-work", killed_at_work},
	{NULL, NULL},
};
