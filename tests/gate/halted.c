/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a kernel without an end, and with the actions of a program whose
 * computing threads are stopped. Commands come line by line:
 *
 *   fork, exec, exit, raise, allocate
 *   end    lets the kernel end, and waits for it
 *
 * usage: halted [before|after]: its own handler for SIGURG, set before or after the
 * device was opened. */
#include <CL/cl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS 64
#define ALLOCATIONS 100000
#define ALLOCATED_MAX 4096

static const char source[] = "kernel void wait(global volatile int *is_over)\n"
			     "{ while (is_over[0] == 0); }\n";

static int *is_over;
static cl_command_queue queue;
static volatile sig_atomic_t is_urgent;

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

static void note_urgency(int number)
{
	is_urgent = number;
}

static void set_handler(const char *when, const char *now)
{
	if (when && strcmp(when, now) == 0)
		signal(SIGURG, note_urgency);
}

static void begin(const char *when)
{
	const size_t n = GROUPS, group = 1;
	const char *text = source;
	cl_platform_id platform;
	cl_context context;
	cl_program program;
	cl_kernel kernel;
	cl_device_id device;
	cl_mem buffer;

	set_handler(when, "before");
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
			CL_SUCCESS) {
		say("no-device");
		exit(3);
	}
	set_handler(when, "after");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
	program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	clBuildProgram(program, 1, &device, "", NULL, NULL);
	kernel = clCreateKernel(program, "wait", NULL);
	is_over = aligned_alloc(4096, 4096);
	*is_over = 0;
	buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4096, is_over, NULL);
	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, &group, 0, NULL, NULL);
	clFlush(queue);
}

static void do_fork(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(7);
	waitpid(child, &status, 0);
	say(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "forked" : "no");
}

static void do_raise(void)
{
	raise(SIGURG);
	say(is_urgent == SIGURG ? "raised" : "no");
}

static void allocate(void)
{
	for (size_t i = 0; i < ALLOCATIONS; i++) {
		void *volatile piece = malloc(i % ALLOCATED_MAX + 1);

		free(piece);
	}
	say("allocated");
}

static void obey(const char *order)
{
	if (strcmp(order, "fork") == 0)
		do_fork();
	else if (strcmp(order, "raise") == 0)
		do_raise();
	else if (strcmp(order, "allocate") == 0)
		allocate();
	else if (strcmp(order, "exec") == 0)
		execl("/bin/echo", "echo", "became", NULL);
	else if (strcmp(order, "exit") == 0)
		exit(0);
	*(volatile int *)is_over = strcmp(order, "end") == 0;
	if (*is_over && clFinish(queue) == CL_SUCCESS)
		say("ended");
}

int main(int argc, char **argv)
{
	char order[32];

	begin(argc > 1 ? argv[1] : NULL);
	say("go");
	while (scanf("%31s", order) == 1)
		obey(order);
	return 0;
}
