/* SPDX-License-Identifier: Apache-2.0 */
/* The program of the pods of test_cluster.py: plain OpenCL.
 *
 * usage: worker fill | first | run SECONDS
 *
 * fill: allocates until an error, at most twice the device's memory.
 * first: runs one kernel, and prints when it began and when that was complete, by the
 * machine's clock.
 * run: runs kernels, and prints each second how many it has submitted. */
#include "../../bench/ocl.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* All pods run kernels of the same length, so their numbers compare. */
enum { PIECE_BYTES = 16 << 20, LOOPS = 5000, IN_FLIGHT = 2 };

static int fill(void)
{
	struct bench_ocl ocl;
	cl_ulong memory = 0;
	uint64_t allocated = 0;
	cl_int r = 0;

	bench_ocl_open(&ocl, 0);
	clGetDeviceInfo(
		ocl.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
	while (allocated < 2 * memory) {
		clCreateBuffer(ocl.context, CL_MEM_READ_WRITE, PIECE_BYTES, NULL, &r);
		if (r)
			break;
		allocated += PIECE_BYTES;
	}
	printf("{\"memory\": %" PRIu64 ", \"allocated\": %" PRIu64 ", \"error\": %d}\n",
		(uint64_t)memory, allocated, (int)r);
	return 0;
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int first(void)
{
	uint64_t began = real_ns();
	struct bench_ocl ocl;

	bench_ocl_open(&ocl, 0);
	bench_ocl_submit(&ocl, 1, NULL);
	if (clFinish(ocl.queue))
		bench_die("clFinish", 0);
	printf("{\"began\": %" PRIu64 ", \"ns\": %" PRIu64 "}\n", began, real_ns());
	return 0;
}

static void wait_for(cl_event event)
{
	if (clWaitForEvents(1, &event))
		bench_die("clWaitForEvents", 0);
	clReleaseEvent(event);
}

static int run(int seconds)
{
	struct bench_ocl ocl;
	cl_event events[IN_FLIGHT];
	uint64_t n = 0, began, next;

	setvbuf(stdout, NULL, _IOLBF, 0);
	bench_ocl_open(&ocl, 0);
	began = bench_now_ns();
	next = began;
	while (bench_now_ns() - began < (uint64_t)seconds * 1000000000u) {
		if (n >= IN_FLIGHT)
			wait_for(events[n % IN_FLIGHT]);
		bench_ocl_submit(&ocl, LOOPS, &events[n % IN_FLIGHT]);
		clFlush(ocl.queue);
		n++;
		if (bench_now_ns() >= next) {
			printf("{\"kernels\": %" PRIu64 ", \"ns\": %" PRIu64 "}\n", n,
				next);
			next += 1000000000u;
		}
	}
	bench_ocl_close(&ocl);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "fill"))
		return fill();
	if (argc == 2 && !strcmp(argv[1], "first"))
		return first();
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run(atoi(argv[2]));
	fputs("usage: worker fill | first | run SECONDS\n", stderr);
	return 64;
}
