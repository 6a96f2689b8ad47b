/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates device memory, creates a child that shares the address space (CLONE_VM) and
 * survives it, prints the child's process ID, and exits, or executes a program that
 * sleeps for two seconds. Where the allocation fails it prints the error code.
 *
 * usage: clone BYTES [exec] */
#include <CL/cl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static char stack[65536];

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

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_int r = CL_SUCCESS;

	if (argc < 2 || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
			CL_SUCCESS)
		return 1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	if (r == CL_SUCCESS)
		clCreateBuffer(
			context, CL_MEM_READ_WRITE, strtoul(argv[1], NULL, 10), NULL, &r);
	if (r == CL_SUCCESS)
		r = clone(live_on, stack + sizeof(stack), CLONE_VM | SIGCHLD,
			argc > 2 ? stack : NULL);
	printf("%d\n", r);
	fflush(stdout);
	if (argc > 2)
		execlp("sleep", "sleep", "2", NULL);
	_exit(0);
}
