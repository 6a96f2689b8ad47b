/* SPDX-License-Identifier: Apache-2.0 */
/* A program with many contexts, each of which has its own channels: creates them on a
 * command, and then keeps the GPU busy through the last one.
 *
 * usage: cuda-contexts N
 *
 * Prints "ready", and after the first line of its input "made"; computes after the
 * second. */
#include "tenant.h"

#define KERNEL_NS 3000000u
#define AHEAD 8

static void say(const char *word)
{
	printf("%s\n", word);
	fflush(stdout);
}

static void work(void)
{
	uint64_t kernel_ns = KERNEL_NS;
	void *parameters[] = {&kernel_ns};
	handle function = load_spin(), stream;

	OK(cuStreamCreate(&stream, 1));
	for (;;) {
		for (unsigned i = 0; i < AHEAD; i++)
			OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream,
				parameters, NULL));
		OK(cuStreamSynchronize(stream));
	}
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	handle context;

	if (n == 0)
		return 64;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	say("ready");
	if (getchar() == EOF)
		return 0;
	for (unsigned long i = 0; i < n; i++) {
		OK(cuCtxCreate_v2(&context, 0, 0));
		OK(cuCtxPopCurrent_v2(&context));
	}
	OK(cuCtxSetCurrent(context));
	say("made");
	if (getchar() == EOF)
		return 0;
	work();
	return 0;
}
