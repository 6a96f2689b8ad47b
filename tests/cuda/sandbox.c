/* SPDX-License-Identifier: Apache-2.0 */
/* A program that gives up the right to create threads: once it has computed ("late"), or
 * before it has a context ("early"; with ROCM, before its first launch).  Says "done", or
 * with what code it is refused. */
#ifdef ROCM
#include "../hip/tenant.h"
#define cuInit hipInit
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamSynchronize hipStreamSynchronize
#define cuLaunchKernel hipModuleLaunchKernel
#else
#include "tenant.h"
#endif
#include "../gate/forbid-threads.h"

#include <stdbool.h>
#include <string.h>

#define N_ROUNDS 12
#define N_KERNELS 50

static int open_context(void)
{
#ifdef ROCM
	return hipSetDevice(0);
#else
	handle context;
	int r = cuDevicePrimaryCtxRetain(&context, 0);

	return r ? r : cuCtxSetCurrent(context);
#endif
}

static int launch(handle function, handle stream)
{
	uint64_t ns = 200000;
	void *parameters[] = {&ns};

	return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

static void compute(handle function, handle stream)
{
	for (int i = 0; i < N_ROUNDS; i++) {
		for (int k = 0; k < N_KERNELS; k++)
			OK(launch(function, stream));
		OK(cuStreamSynchronize(stream));
	}
}

int main(int argc, char **argv)
{
	bool is_early = argc > 1 && strcmp(argv[1], "early") == 0;
	handle function, stream;
	int r;

	OK(cuInit(0));
#ifndef ROCM
	if (is_early)
		forbid_threads();
#endif
	r = open_context();
	if (r == 0) {
		function = load_spin();
		OK(cuStreamCreate(&stream, 1));
		if (is_early)
			forbid_threads();
		r = launch(function, stream);
	}
	if (r != 0) {
		printf("code %d\n", r);
		return 0;
	}
	forbid_threads();
	compute(function, stream);
	puts("done");
	return 0;
}
