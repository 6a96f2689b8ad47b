/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <time.h>

/* The cost of the double itself: the lower bound of every measurement with it. The limits
 * are far above the figures of a quiet machine, so that noise does not fail them. */

#define N_BATCHES 200
#define PER_BATCH 100

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWDOWN 100
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOWDOWN 100
#endif
#endif
#ifndef SLOWDOWN
#define SLOWDOWN 1
#endif

struct costing {
	struct rig rig;
	cl_command_queue q;
	cl_kernel kernel;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The p50 of one call, from batches, because the clock itself costs time. */
static double p50_ns(struct costing *c, void (*call)(struct costing *c))
{
	static uint64_t batch_ns[N_BATCHES];

	for (int i = 0; i < N_BATCHES; i++) {
		uint64_t start = now_ns();

		for (int k = 0; k < PER_BATCH; k++)
			call(c);
		batch_ns[i] = now_ns() - start;
		OK(clFinish(c->q));
	}
	qsort(batch_ns, N_BATCHES, sizeof(batch_ns[0]), compare_ns);
	return (double)batch_ns[N_BATCHES / 2] / PER_BATCH;
}

static void call_plain(struct costing *c)
{
	const size_t one = 1;

	clEnqueueNDRangeKernel(c->q, c->kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
}

static void call_with_event(struct costing *c)
{
	const size_t one = 1;
	cl_event event;

	clEnqueueNDRangeKernel(c->q, c->kernel, 1, NULL, &one, NULL, 0, NULL, &event);
	clReleaseEvent(event);
}

static void call_and_flush(struct costing *c)
{
	call_plain(c);
	clFlush(c->q);
}

/* clang-format off */
static const struct {
	const char *name;
	void (*call)(struct costing *c);
	bool two_buffers;
	double limit_ns;
} calls[] = {
	{ "enqueue",                          call_plain,      false, 300 },
	{ "enqueue of a kernel with buffers", call_plain,      true,  600 },
	{ "enqueue with an event",            call_with_event, false, 1200 },
	{ "enqueue and flush",                call_and_flush,  false, 20000 },
};
/* clang-format on */

static void an_enqueue_costs_next_to_nothing(void)
{
	const char *text = "__kernel void none(void) {}\n"
			   "__kernel void two(__global int *a, __global int *b) {}\n";
	struct costing c;
	cl_program program;
	cl_kernel none, two;
	cl_mem mem;
	cl_int rc;

	rig_init(&c.rig);
	c.q = rig_queue(&c.rig, 0);
	program = clCreateProgramWithSource(c.rig.context, 1, &text, NULL, &rc);
	OK(rc);
	OK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
	none = clCreateKernel(program, "none", &rc);
	OK(rc);
	two = clCreateKernel(program, "two", &rc);
	OK(rc);
	mem = clCreateBuffer(c.rig.context, CL_MEM_READ_WRITE, 64, NULL, &rc);
	OK(rc);
	OK(clSetKernelArg(two, 0, sizeof(mem), &mem));
	OK(clSetKernelArg(two, 1, sizeof(mem), &mem));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		double p50;

		c.kernel = calls[i].two_buffers ? two : none;
		p50 = p50_ns(&c, calls[i].call);
		printf("%s: p50 %.1f ns\n", calls[i].name, p50);
		CHECK(p50 < calls[i].limit_ns * SLOWDOWN);
	}
	OK(clReleaseMemObject(mem));
	OK(clReleaseKernel(none));
	OK(clReleaseKernel(two));
	OK(clReleaseProgram(program));
	OK(clReleaseCommandQueue(c.q));
	rig_done(&c.rig);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
const struct selftest_case selftest_cost[] = {
	CASE(an_enqueue_costs_next_to_nothing),
	{ 0 },
};
/* clang-format on */
