/* SPDX-License-Identifier: Apache-2.0 */
/* A program that keeps a GPU busy in one of several ways.
 *
 * usage: cuda-tenant STYLE KERNEL_NS SECONDS
 *
 *   queue   launches ahead, and waits every hundred kernels
 *   sync    waits for each kernel
 *   gaps    waits for each, and computes as long again by itself
 *   legacy  as queue, on the legacy default stream
 *   thread  as queue, on the per-thread default stream
 *   streams as queue, on four streams in turn
 *
 * Says "ready" when it begins, and at its end how many kernels it ran. */
#include "tenant.h"

#include <string.h>
#include <time.h>

#define AHEAD 100
#define N_STREAMS 4

struct program {
	handle function, streams[N_STREAMS];
	uint64_t kernel_ns, n;
	int (*launch)(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		unsigned by, unsigned bz, unsigned shared, handle stream,
		void **parameters, void **extra);
	int (*synchronize)(handle stream);
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute_for(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static void launch(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns};

	OK(program->launch(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	program->n++;
}

static void run(struct program *program, const char *style, uint64_t until_ns)
{
	uint64_t ahead =
		strcmp(style, "sync") == 0 || strcmp(style, "gaps") == 0 ? 1 : AHEAD;
	unsigned n_streams = strcmp(style, "streams") == 0 ? N_STREAMS : 1;

	while (now_ns() < until_ns) {
		for (uint64_t i = 0; i < ahead; i++)
			launch(program, program->streams[i % n_streams]);
		for (unsigned i = 0; i < n_streams; i++)
			OK(program->synchronize(program->streams[i]));
		if (strcmp(style, "gaps") == 0)
			compute_for(program->kernel_ns);
	}
}

int main(int argc, char **argv)
{
	struct program program = {
		.launch = cuLaunchKernel, .synchronize = cuStreamSynchronize};
	handle context, module;

	if (argc != 4)
		return 64;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, "cleave-double-module\nkernel spin param\n"));
	OK(cuModuleGetFunction(&program.function, module, "spin"));
	if (strcmp(argv[1], "thread") == 0) {
		program.launch = cuLaunchKernel_ptsz;
		program.synchronize = cuStreamSynchronize_ptsz;
	} else if (strcmp(argv[1], "legacy") != 0) {
		for (unsigned i = 0; i < N_STREAMS; i++)
			OK(cuStreamCreate(&program.streams[i], 1));
	}
	program.kernel_ns = strtoull(argv[2], NULL, 10);
	printf("ready\n");
	fflush(stdout);
	run(&program, argv[1], now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u);
	printf("%llu\n", (unsigned long long)program.n);
	return 0;
}
