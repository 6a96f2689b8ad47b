/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What these programs share: one device, and a kernel that takes time. */

#define CHECK(call)                                                                \
	do {                                                                       \
		cl_int r_ = (call);                                                \
		if (r_ != CL_SUCCESS) {                                            \
			fprintf(stderr, "line %d: %s: %d\n", __LINE__, #call, r_); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

#define EXPECT(condition)                                                               \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

/* The strict double runs a kernel of this name for as many microseconds as its first
 * argument says; elsewhere it computes for about as long. */
static const char source[] = "__kernel void spin(uint us) {\n"
			     "	volatile float x = 1;\n"
			     "	for (uint i = 0; i < us * 20; i++)\n"
			     "		x = x * 1.0001f + 0.5f;\n"
			     "}\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;

static void open_device(void)
{
	const char *text = source;
	cl_int r;

	CHECK(clGetPlatformIDs(1, &platform, NULL));
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	CHECK(r);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &r);
	CHECK(r);
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

/* Uses the older call with drivers of OpenCL 1.2, which need not have the newer one
 * (oclgrind's never returns). */
static cl_command_queue open_queue(cl_command_queue_properties properties)
{
	cl_int r;
	cl_command_queue queue = clCreateCommandQueue(context, device, properties, &r);

	CHECK(r);
	return queue;
}

/* Creates a kernel object for each call, because threads must not share one. */
static void launch(cl_command_queue queue, cl_uint us, cl_uint n_waits,
	const cl_event *waits, cl_event *event)
{
	size_t one = 1;
	cl_int r;
	cl_kernel kernel = clCreateKernel(program, "spin", &r);

	CHECK(r);
	CHECK(clSetKernelArg(kernel, 0, sizeof(us), &us));
	CHECK(clEnqueueNDRangeKernel(
		queue, kernel, 1, NULL, &one, NULL, n_waits, waits, event));
	CHECK(clReleaseKernel(kernel));
}

static inline cl_event user_event(void)
{
	cl_int r;
	cl_event event = clCreateUserEvent(context, &r);

	CHECK(r);
	return event;
}

static inline cl_int status_of(cl_event event)
{
	cl_int status = CL_QUEUED;

	CHECK(clGetEventInfo(
		event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	return status;
}

/* Keeps the device busy without an end; prints a line when it begins. */
static inline void keep_busy(void)
{
	cl_command_queue queue = open_queue(0);

	puts("ready");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 16; i++)
			launch(queue, 500, 0, NULL, NULL);
		CHECK(clFinish(queue));
	}
}

/* A case of a program, by its name. */
struct named_case {
	const char *name;
	void (*run)(void);
};

/* main() of a program with cases: the argument is the name of one, or "list", which
 * prints the names of all but the last one, the competitor. */
static inline int run_case(
	const struct named_case *cases, size_t n_cases, int argc, char **argv)
{
	EXPECT(argc == 2);
	if (strcmp(argv[1], "list") == 0) {
		for (size_t i = 0; i + 1 < n_cases; i++)
			puts(cases[i].name);
		return 0;
	}
	for (size_t i = 0; i < n_cases; i++) {
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	}
	return 64;
}
