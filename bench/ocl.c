/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL part of the bench programs: a device, a queue and a kernel that does
 * arithmetic for a chosen time on all compute units at once.  One kernel fills the
 * device, so leases can share it only by turns.
 *
 * It does not know of cleave, does not decide when to submit, and keeps no record. */
#include "ocl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	GROUPS_PER_UNIT = 64, /* enough groups that the last one leaves no unit idle */
	ITEMS_PER_GROUP = 4,
	CAL_RUNS = 31,
};

static const char kernel_source[] =
	"__kernel void arithmetic(__global float *out, uint loops)\n"
	"{\n"
	"	size_t id = get_global_id(0);\n"
	"	float x = 1.0f + (float)id * 1e-6f;\n"
	"	for (uint i = 0; i < loops; i++)\n"
	"		x = mad(x, 0.9999f, 0.0001f);\n"
	"	out[id] = x;\n"
	"}\n";

_Noreturn void bench_die(const char *what, int code)
{
	fprintf(stderr, "bench: %s failed with %d\n", what, code);
	exit(1);
}

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void build(struct bench_ocl *ocl)
{
	const char *source = kernel_source;
	cl_int r;

	ocl->program = clCreateProgramWithSource(ocl->context, 1, &source, NULL, &r);
	if (r)
		bench_die("clCreateProgramWithSource", r);

	r = clBuildProgram(ocl->program, 1, &ocl->device, "", NULL, NULL);
	if (r)
		bench_die("clBuildProgram", r);

	ocl->kernel = clCreateKernel(ocl->program, "arithmetic", &r);
	if (r)
		bench_die("clCreateKernel", r);
}

void bench_ocl_open(struct bench_ocl *ocl, int out_of_order)
{
	cl_command_queue_properties props = CL_QUEUE_PROFILING_ENABLE;
	cl_queue_properties list[3] = {CL_QUEUE_PROPERTIES, 0, 0};
	cl_platform_id platform;
	cl_uint units = 0;
	cl_int r;

	memset(ocl, 0, sizeof(*ocl));
	r = clGetPlatformIDs(1, &platform, NULL);
	if (r)
		bench_die("clGetPlatformIDs", r);

	r = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &ocl->device, NULL);
	if (r)
		bench_die("clGetDeviceIDs", r);

	ocl->context = clCreateContext(NULL, 1, &ocl->device, NULL, NULL, &r);
	if (r)
		bench_die("clCreateContext", r);

	if (out_of_order)
		props |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	list[1] = props;
	ocl->queue =
		clCreateCommandQueueWithProperties(ocl->context, ocl->device, list, &r);
	if (r)
		bench_die("clCreateCommandQueueWithProperties", r);

	clGetDeviceInfo(
		ocl->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	ocl->local_items = ITEMS_PER_GROUP;
	ocl->global_items =
		(size_t)(units ? units : 1) * GROUPS_PER_UNIT * ITEMS_PER_GROUP;
	ocl->out = clCreateBuffer(ocl->context, CL_MEM_READ_WRITE,
		ocl->global_items * sizeof(float), NULL, &r);
	if (r)
		bench_die("clCreateBuffer", r);

	build(ocl);
	r = clSetKernelArg(ocl->kernel, 0, sizeof(ocl->out), &ocl->out);
	if (r)
		bench_die("clSetKernelArg", r);
}

void bench_ocl_close(struct bench_ocl *ocl)
{
	clFinish(ocl->queue);
	clReleaseKernel(ocl->kernel);
	clReleaseProgram(ocl->program);
	clReleaseMemObject(ocl->out);
	clReleaseCommandQueue(ocl->queue);
	clReleaseContext(ocl->context);
}

void bench_ocl_submit(struct bench_ocl *ocl, uint32_t loops, cl_event *ret)
{
	cl_int r;

	r = clSetKernelArg(ocl->kernel, 1, sizeof(loops), &loops);
	if (r)
		bench_die("clSetKernelArg", r);

	r = clEnqueueNDRangeKernel(ocl->queue, ocl->kernel, 1, NULL, &ocl->global_items,
		&ocl->local_items, 0, NULL, ret);
	if (r)
		bench_die("clEnqueueNDRangeKernel", r);
}

void bench_ocl_times(cl_event event, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	cl_ulong start = 0, end = 0;
	cl_int r;

	r = clGetEventProfilingInfo(
		event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
	if (r)
		bench_die("clGetEventProfilingInfo", r);

	r = clGetEventProfilingInfo(
		event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
	if (r)
		bench_die("clGetEventProfilingInfo", r);

	*ret_start_ns = start;
	*ret_end_ns = end;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The duration of a fast run, but not of the fastest: other programs only make runs
 * slower. */
static uint64_t quick_kernel_ns(struct bench_ocl *ocl, uint32_t loops)
{
	uint64_t took_ns[CAL_RUNS], start_ns, end_ns;
	cl_event event;

	for (int i = 0; i < CAL_RUNS; i++) {
		bench_ocl_submit(ocl, loops, &event);
		clFinish(ocl->queue);
		bench_ocl_times(event, &start_ns, &end_ns);
		clReleaseEvent(event);
		took_ns[i] = end_ns - start_ns;
	}
	qsort(took_ns, CAL_RUNS, sizeof(took_ns[0]), compare_u64);
	return took_ns[CAL_RUNS / 8];
}

struct bench_cal bench_ocl_calibrate(struct bench_ocl *ocl)
{
	struct bench_cal cal;
	uint32_t loops = 64;
	uint64_t took_ns;

	quick_kernel_ns(ocl, loops); /* the first runs include building and waking */
	cal.base_ns = quick_kernel_ns(ocl, 0);
	while ((took_ns = quick_kernel_ns(ocl, loops)) < cal.base_ns + 2000000)
		loops *= 2;
	cal.loops_per_us = (double)loops * 1000.0 / (double)(took_ns - cal.base_ns);
	return cal;
}

uint32_t bench_cal_loops(const struct bench_cal *cal, uint32_t kernel_us)
{
	double want_ns = (double)kernel_us * 1000.0 - (double)cal->base_ns;

	if (want_ns < 0)
		return 1;
	return (uint32_t)(want_ns * cal->loops_per_us / 1000.0) + 1;
}
