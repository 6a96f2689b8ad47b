/* SPDX-License-Identifier: Apache-2.0 */
/* Makes N launches, for a test that counts their cost.
 *
 * usage: cuda-launches N [default]   on a stream, or on the default one */
#include "tenant.h"

#define AHEAD 200

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	handle context, function, stream = NULL;
	uint64_t ns = 1;
	void *parameters[] = {&ns};

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	function = load_spin();
	if (argc < 3)
		OK(cuStreamCreate(&stream, 1));
	for (unsigned long i = 0; i < n; i++) {
		OK(cuLaunchKernel(
			function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
		if (i % AHEAD == AHEAD - 1)
			OK(cuStreamSynchronize(stream));
	}
	OK(cuStreamSynchronize(stream));
	return 0;
}
