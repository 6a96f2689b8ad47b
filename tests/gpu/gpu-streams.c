/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams of one program: whether a launch into one waits on the processor for the
 * kernel in the other, and whether a kernel in one may wait for a kernel in the other.
 *
 * usage: gpu-streams
 *
 * Prints the longest launch in microseconds, and 1 if the other kernel released the
 * waiting one, 0 if that gave up after five seconds. The double does not run code: 0. */
#include "../cuda/tenant.h"

#include <time.h>

#define NON_BLOCKING 1
#define LONG_NS 200000000
#define SHORT_NS 1000000
#define ROUNDS 5

int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemsetD8_v2(dptr to, unsigned char value, size_t n);

struct words {
	uint32_t let_go, was_let_go;
};

static handle waits, lets_go, runs;

static void load(void)
{
	static const char of_double[] =
		"cleave-double-module\nkernel waits 1000\nkernel lets_go 1000\n"
		"kernel runs param\n";
	static const char of_gpu[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry waits(.param .u64 words)\n{\n"
		".reg .u64 %p, %t0, %t1;\n.reg .u32 %w;\n.reg .pred %c;\n"
		"ld.param.u64 %p, [words];\nmov.u64 %t0, %globaltimer;\n"
		"again:\nld.volatile.global.u32 %w, [%p];\n"
		"setp.ne.u32 %c, %w, 0;\n@%c bra seen;\n"
		"mov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
		"setp.lt.u64 %c, %t1, 5000000000;\n@%c bra again;\nret;\n"
		"seen:\nst.global.u32 [%p+4], 1;\nret;\n}\n"
		".visible .entry lets_go(.param .u64 words)\n{\n"
		".reg .u64 %p;\nld.param.u64 %p, [words];\n"
		"st.volatile.global.u32 [%p], 1;\nmembar.sys;\nret;\n}\n"
		".visible .entry runs(.param .u64 ns)\n{\n"
		".reg .u64 %n, %t0, %t1;\n.reg .pred %c;\n"
		"ld.param.u64 %n, [ns];\nmov.u64 %t0, %globaltimer;\n"
		"again:\nmov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
		"setp.lt.u64 %c, %t1, %n;\n@%c bra again;\nret;\n}\n";
	handle module;

	if (cuModuleLoadData(&module, of_double) != 0)
		OK(cuModuleLoadData(&module, of_gpu));
	OK(cuModuleGetFunction(&waits, module, "waits"));
	OK(cuModuleGetFunction(&lets_go, module, "lets_go"));
	OK(cuModuleGetFunction(&runs, module, "runs"));
}

static uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Returns the duration of the call. */
static uint64_t launch(handle function, handle stream, uint64_t parameter)
{
	void *parameters[] = {&parameter};
	uint64_t began_us = clock_us();

	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
	return clock_us() - began_us;
}

/* Both kernels' lengths are known after the first round, which is not counted. */
static uint64_t longest_beside(handle first, handle second)
{
	uint64_t longest_us = 0;

	for (int i = 0; i <= ROUNDS; i++) {
		uint64_t us;

		launch(runs, first, LONG_NS);
		us = launch(runs, second, SHORT_NS);
		OK(cuStreamSynchronize(first));
		OK(cuStreamSynchronize(second));
		if (i > 0 && us > longest_us)
			longest_us = us;
	}
	return longest_us;
}

static unsigned wait_for_other(handle first, handle second)
{
	struct words words;
	dptr there;

	OK(cuMemAlloc_v2(&there, sizeof(words)));
	OK(cuMemsetD8_v2(there, 0, sizeof(words)));
	OK(cuCtxSynchronize());
	launch(waits, first, there);
	launch(lets_go, second, there);
	OK(cuStreamSynchronize(first));
	OK(cuStreamSynchronize(second));
	OK(cuMemcpyDtoH_v2(&words, there, sizeof(words)));
	return words.was_let_go == 1;
}

int main(void)
{
	handle context, first, second;
	uint64_t longest_us;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&first, NON_BLOCKING));
	OK(cuStreamCreate(&second, NON_BLOCKING));
	load();
	longest_us = longest_beside(first, second);
	printf("%llu %u\n", (unsigned long long)longest_us,
		wait_for_other(first, second));
	return 0;
}
