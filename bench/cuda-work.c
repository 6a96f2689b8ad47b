/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the CUDA benches, and its launch and calibration.  The double of the
 * driver knows kernels by how long they take; a GPU gets the same kernel as PTX. */
#include "cuda-work.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	THREADS = 256,
	BLOCKS_OF_PROCESSOR = 4,
	ATTRIBUTE_PROCESSORS = 16,
	MAPPED = 2,
	CALIBRATIONS = 7,
};

static const char of_double[] = "cleave-double-module\nkernel work param\n";

/* The first thread of all reports the progress every 1,024 loops. */
static const char of_gpu[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry work(.param .u64 loops, .param .u64 page, .param .u64 before,\n"
	"\t.param .u64 stamp)\n{\n"
	".reg .u64 %rd<10>;\n.reg .u32 %r<4>;\n.reg .pred %p<5>;\n"
	"ld.param.u64 %rd0, [loops];\nld.param.u64 %rd1, [page];\n"
	"ld.param.u64 %rd2, [before];\nld.param.u64 %rd3, [stamp];\n"
	"mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nor.b32 %r0, %r0, %r1;\n"
	"setp.ne.u32 %p0, %r0, 0;\nsetp.eq.u64 %p1, %rd3, 0;\n"
	"or.pred %p1, %p1, %p0;\n@%p1 bra begin;\n"
	"mov.u64 %rd4, %globaltimer;\nst.volatile.global.u64 [%rd3], %rd4;\n"
	"begin:\nmov.u64 %rd5, 0;\nmov.u32 %r2, %tid.x;\n"
	"again:\nmad.lo.u32 %r2, %r2, 1664525, 1013904223;\nadd.u64 %rd5, %rd5, 1;\n"
	"and.b64 %rd6, %rd5, 1023;\nsetp.ne.u64 %p2, %rd6, 0;\n"
	"or.pred %p2, %p2, %p0;\n@%p2 bra next;\n"
	"add.u64 %rd7, %rd2, %rd5;\nst.volatile.global.u64 [%rd1], %rd7;\n"
	"next:\nsetp.lt.u64 %p3, %rd5, %rd0;\n@%p3 bra again;\n"
	"@%p0 bra done;\ncvt.u64.u32 %rd8, %r2;\nst.volatile.global.u64 [%rd1+8], %rd8;\n"
	"add.u64 %rd7, %rd2, %rd0;\nst.volatile.global.u64 [%rd1], %rd7;\n"
	"done:\nret;\n}\n";

uint64_t work_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void work_open(struct work *work, unsigned blocks)
{
	cuda_handle context, module;
	int processors = 0;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	work->is_double = cuModuleLoadData(&module, of_double) == 0;
	if (!work->is_double)
		OK(cuModuleLoadData(&module, of_gpu));
	OK(cuModuleGetFunction(&work->function, module, "work"));
	OK(cuStreamCreate(&work->stream, 1));
	OK(cuMemHostAlloc((void **)&work->page, sizeof(*work->page), MAPPED));
	OK(cuMemHostGetDevicePointer_v2(&work->page_at, work->page, 0));
	OK(cuDeviceGetAttribute(&processors, ATTRIBUTE_PROCESSORS, 0));
	work->blocks = blocks ? blocks : (unsigned)processors * BLOCKS_OF_PROCESSOR;
	work->loops_per_us = 1000;
}

void work_launch_in(struct work *work, cuda_handle stream, uint64_t loops, int stamp)
{
	uint64_t at = 0;
	void *parameters[] = {&loops, &work->page_at, &work->launched, &at};

	if (stamp >= 0)
		at = work->page_at + offsetof(struct work_page, stamps) +
		     (uint64_t)stamp * sizeof(uint64_t);
	OK(cuLaunchKernel(work->function, work->blocks, 1, 1, THREADS, 1, 1, 0, stream,
		parameters, NULL));
	work->launched += loops;
}

void work_launch(struct work *work, uint64_t loops, int stamp)
{
	work_launch_in(work, work->stream, loops, stamp);
}

int work_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A GPU raises its clock only while it has work. */
double work_calibrate(struct work *work)
{
	const uint64_t warm_up = 1000000, measured = 2000000;
	double rates[CALIBRATIONS];

	for (int i = 0; i < CALIBRATIONS; i++) {
		uint64_t began_ns, short_ns;

		work_launch(work, warm_up, -1);
		OK(cuStreamSynchronize(work->stream));
		began_ns = work_now_ns();
		work_launch(work, warm_up, -1);
		OK(cuStreamSynchronize(work->stream));
		short_ns = work_now_ns() - began_ns;
		began_ns = work_now_ns();
		work_launch(work, warm_up + measured, -1);
		OK(cuStreamSynchronize(work->stream));
		rates[i] = measured * 1e3 /
			   ((double)(work_now_ns() - began_ns) - (double)short_ns);
	}
	qsort(rates, CALIBRATIONS, sizeof(rates[0]), work_compare);
	return rates[CALIBRATIONS / 2];
}
