/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what single calls cost the caller: a launch, an allocation, the first use of
 * OpenCL in a process.  The referee runs it with and without a gate alternately, and
 * compares the medians; "count" only makes calls, so that callgrind can count their
 * instructions.
 *
 * It does not measure how fast kernels run: they do next to nothing. */
#include "ocl.h"
#include "virtual-clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GROUP = 32,
	ALLOC_BYTES = 4096,
	WARM_UP_CALLS = 2048,
	CALLS_MAX = 10000000,
	CALL_NS = 10000, /* of the virtual clock */
};

static inline void launch(struct bench_ocl *ocl, size_t items)
{
	static const size_t one = 1;
	cl_int r;

	r = clEnqueueNDRangeKernel(
		ocl->queue, ocl->kernel, 1, NULL, &items, &one, 0, NULL, NULL);
	if (r)
		bench_die("clEnqueueNDRangeKernel", r);
}

/* Not inlined and not static, so that callgrind can collect inside this function alone.
 */
__attribute__((noinline)) void launch_once(struct bench_ocl *ocl, size_t items);

void launch_once(struct bench_ocl *ocl, size_t items)
{
	launch(ocl, items);
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_spread(const char *what, double *ns, size_t n)
{
	qsort(ns, n, sizeof(ns[0]), compare_double);
	printf("%s %.1f %.1f %.1f %zu\n", what, ns[n / 2], ns[n * 9 / 10],
		ns[n * 99 / 100], n);
}

static void open_tiny(struct bench_ocl *ocl)
{
	uint32_t loops = 0;
	cl_int r;

	bench_ocl_open(ocl, 0);
	r = clSetKernelArg(ocl->kernel, 1, sizeof(loops), &loops);
	if (r)
		bench_die("clSetKernelArg", r);
}

/* Not by launch_once(): these launches are not counted. */
static void warm_up(struct bench_ocl *ocl)
{
	for (int i = 1; i <= WARM_UP_CALLS; i++) {
		launch(ocl, 1);
		virtual_clock_advance(CALL_NS);
		if (i == WARM_UP_CALLS / 2)
			virtual_clock_settle();
		if (i % GROUP == 0)
			clFinish(ocl->queue);
	}
}

/* Times batches of calls: one clock read costs about as much as a call is allowed to. */
static int measure_launch(size_t calls, size_t batch)
{
	size_t samples = calls / batch;
	double *ns = calloc(samples + 1, sizeof(ns[0]));
	struct bench_ocl ocl;
	size_t since_finish = 0;
	uint64_t begin_ns;

	if (!ns || !samples)
		bench_die("preparing samples", (int)samples);
	open_tiny(&ocl);
	warm_up(&ocl);
	for (size_t i = 0; i < samples; i++) {
		begin_ns = bench_now_ns();
		for (size_t j = 0; j < batch; j++)
			launch_once(&ocl, 1);
		ns[i] = (double)(bench_now_ns() - begin_ns) / (double)batch;
		since_finish += batch;
		if (since_finish >= GROUP) {
			clFinish(ocl.queue);
			since_finish = 0;
		}
	}
	print_spread("launch", ns, samples);
	bench_ocl_close(&ocl);
	free(ns);
	return 0;
}

static int measure_alloc(size_t calls)
{
	double *ns = calloc(calls + 1, sizeof(ns[0]));
	struct bench_ocl ocl;
	uint64_t begin_ns;
	cl_mem mem;
	cl_int r;

	if (!ns || !calls)
		bench_die("preparing samples", (int)calls);
	open_tiny(&ocl);
	warm_up(&ocl);
	for (size_t i = 0; i < calls; i++) {
		begin_ns = bench_now_ns();
		mem = clCreateBuffer(
			ocl.context, CL_MEM_READ_WRITE, ALLOC_BYTES, NULL, &r);
		ns[i] = (double)(bench_now_ns() - begin_ns);
		if (r)
			bench_die("clCreateBuffer", r);
		clReleaseMemObject(mem);
	}
	print_spread("alloc", ns, calls);
	bench_ocl_close(&ocl);
	free(ns);
	return 0;
}

/* From the first OpenCL call of the process to the return of its first launch. */
static int measure_attach(void)
{
	uint64_t begin_ns = bench_now_ns();
	struct bench_ocl ocl;
	double ns;

	open_tiny(&ocl);
	launch_once(&ocl, 1);
	ns = (double)(bench_now_ns() - begin_ns);
	clFinish(ocl.queue);
	print_spread("attach", &ns, 1);
	bench_ocl_close(&ocl);
	return 0;
}

/* The virtual clock says that each launch takes equally long, and no marker is placed
 * before the program waits. */
static int count_launches(size_t calls)
{
	struct bench_ocl ocl;

	open_tiny(&ocl);
	virtual_clock_start();
	warm_up(&ocl);
	for (size_t i = 1; i <= calls; i++) {
		launch_once(&ocl, 1);
		virtual_clock_advance(CALL_NS);
		if (i % GROUP == 0)
			clFinish(ocl.queue);
	}
	clFinish(ocl.queue);
	bench_ocl_close(&ocl);
	return 0;
}

/* Each launch has a size that no launch before it had, so its duration is unknown and it
 * gets a marker. */
static int count_marked_launches(size_t calls)
{
	struct bench_ocl ocl;

	open_tiny(&ocl);
	virtual_clock_start();
	warm_up(&ocl);
	for (size_t i = 1; i <= calls; i++) {
		launch_once(&ocl, 1 + i);
		virtual_clock_advance(CALL_NS);
		clFinish(ocl.queue);
	}
	bench_ocl_close(&ocl);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	size_t batch = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;

	if (calls < 1 || calls > CALLS_MAX || batch < 1 || batch > GROUP)
		mode = "";
	if (strcmp(mode, "launch") == 0)
		return measure_launch(calls, batch);
	if (strcmp(mode, "alloc") == 0)
		return measure_alloc(calls);
	if (strcmp(mode, "attach") == 0)
		return measure_attach();
	if (strcmp(mode, "count") == 0)
		return count_launches(calls);
	if (strcmp(mode, "count-marked") == 0)
		return count_marked_launches(calls);
	fprintf(stderr,
		"usage: launch launch CALLS BATCH (1-%d) | alloc CALLS | attach | "
		"count CALLS | count-marked CALLS\n",
		GROUP);
	return 64;
}
