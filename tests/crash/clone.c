/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates device memory, creates a child that shares the address space (CLONE_VM) and
 * survives it, prints the child's process ID, waits for a line if it is told to, and
 * exits, or executes a program that sleeps for two seconds. Where the allocation fails it
 * prints the error code. With "more" the child allocates pieces of a MiB after the end of
 * its parent, until one is refused, and prints their number.
 *
 * usage: clone BYTES [wait] [exec] [more] */
#include <CL/cl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE_BYTES (1 << 20)
#define N_PIECES_MAX 1000

static _Alignas(64) char stack[1 << 20];
static cl_context context;
static pid_t parent;

/* The child has no thread-local storage, so it must not call libc. Its copies of the
 * descriptors keep the agent's connection open after the parent lost it. */
static int live_on(void *userdata)
{
	if (userdata)
		syscall(SYS_close_range, 3, ~0U, 0);
	for (;;)
		syscall(SYS_pause);
	return 0;
}

/* It uses the thread-local storage of the parent's thread, which has ended. */
static int take_more(void *userdata)
{
	cl_int r = CL_SUCCESS;
	int n = 0;

	(void)userdata;
	while (syscall(SYS_getppid) == parent)
		syscall(SYS_sched_yield);
	usleep(500000);
	while (n < N_PIECES_MAX) {
		clCreateBuffer(context, CL_MEM_READ_WRITE, PIECE_BYTES, NULL, &r);
		if (r != CL_SUCCESS)
			break;
		n++;
	}
	dprintf(STDOUT_FILENO, "%d\n", n);
	for (;;)
		pause();
	return 0;
}

static int is_told(char **argv, const char *word)
{
	while (*argv && strcmp(*argv, word) != 0)
		argv++;
	return *argv != NULL;
}

static void wait_for_line(void)
{
	char byte = 0;

	while (byte != '\n' && read(STDIN_FILENO, &byte, 1) == 1)
		;
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int r = CL_SUCCESS;

	parent = getpid();
	if (argc < 2 || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
			CL_SUCCESS)
		return 1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	if (r == CL_SUCCESS)
		clCreateBuffer(
			context, CL_MEM_READ_WRITE, strtoul(argv[1], NULL, 10), NULL, &r);
	if (r == CL_SUCCESS)
		r = clone(is_told(argv, "more") ? take_more : live_on,
			stack + sizeof(stack), CLONE_VM | SIGCHLD,
			is_told(argv, "exec") ? stack : NULL);
	printf("%d\n", r);
	fflush(stdout);
	if (is_told(argv, "wait"))
		wait_for_line();
	if (is_told(argv, "exec"))
		execlp("sleep", "sleep", "2", NULL);
	_exit(0);
}
