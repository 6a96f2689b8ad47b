/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates memory of the device, makes a child that is the same address space (CLONE_VM)
 * and lives on, says the child's number, and ends, or becomes a program that does nothing
 * for two seconds.  Where it gets no memory it says the error's.
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

/* It has no thread-local storage of its own: nothing of libc's.  With its descriptors the
 * connection to the agent ends, where its parent has lost it too. */
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
