/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that end while there is work in others, and the destructor callback of each,
 * which submits more. Prints "done" when all of it is complete; also where no call
 * reports the end of a context (before OpenCL 3.0). */
#include "program.h"

#include <stdatomic.h>
#include <string.h>

#define N_ROUNDS 36

/* The driver may hold locks where it calls this. */
static struct {
	cl_command_queue queue;
	cl_program program;
	_Atomic uint32_t n_left;
} ending;

static void CL_CALLBACK submit_at_end(cl_context gone, void *userdata)
{
	cl_uint us = 300;
	size_t one = 1;
	cl_int r;
	cl_kernel kernel = clCreateKernel(ending.program, "spin", &r);

	CHECK(r);
	CHECK(clSetKernelArg(kernel, 0, sizeof(us), &us));
	for (int k = 0; k < 8; k++)
		CHECK(clEnqueueNDRangeKernel(
			ending.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
	CHECK(clReleaseKernel(kernel));
	CHECK(clFlush(ending.queue));
	ending.n_left--;
}

/* A context with work in flight; the last reference that its objects drop ends it. */
static void end_context(void)
{
	const char *text = source;
	cl_context before = context;
	cl_command_queue queue;
	cl_int r;

	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	CHECK(r);
	CHECK(clSetContextDestructorCallback(context, submit_at_end, NULL));
	program = clCreateProgramWithSource(context, 1, &text, NULL, &r);
	CHECK(r);
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
	queue = open_queue(0);
	for (int k = 0; k < 20; k++)
		launch(queue, 300, 0, NULL, NULL);
	CHECK(clFlush(queue));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseContext(context));
	context = before;
	program = ending.program;
}

/* Before OpenCL 3.0 no call reports the end of a context. */
static int tells_of_contexts(void)
{
	char version[256] = "";

	CHECK(clGetPlatformInfo(
		platform, CL_PLATFORM_VERSION, sizeof(version), version, NULL));
	return strncmp(version, "OpenCL 3", 8) == 0;
}

static void destructors(void)
{
	ending.queue = open_queue(0);
	ending.program = program;
	for (int i = 0; i < N_ROUNDS && tells_of_contexts(); i++) {
		ending.n_left++;
		end_context();
	}
	while (ending.n_left > 0)
		usleep(500);
	CHECK(clFinish(ending.queue));
}

int main(void)
{
	open_device();
	destructors();
	puts("done");
	return 0;
}
