/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"

extern const struct case_of_test basic_cases[], time_cases[], memory_cases[],
	process_cases[], graph_cases[], pool_cases[], at_once_cases[], rm_cases[];

/* With the kernel driver's double this becomes another program. */
static const struct case_of_test *const all[] = {
#ifdef WITH_RM
	rm_cases,
	process_cases,
#else
	basic_cases,
	time_cases,
	memory_cases,
	process_cases,
	graph_cases,
	pool_cases,
	at_once_cases,
#endif
};

static const char image[] = "cleave-double-module\n"
			    "kernel us20 20000\n"
			    "kernel ms1 1000000\n"
			    "kernel ms20 20000000\n"
			    "kernel spin param\n"
			    "kernel blocks scaled 1000\n"
			    "kernel store store\n"
			    "kernel big 1000 67108864\n"
			    "kernel again relaunch 3 1000\n";

static handle module;

void begin(void)
{
	handle ctx;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&module, image));
}

handle kernel(const char *name)
{
	handle f;

	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

void launch(handle function, handle stream, uint64_t first, uint32_t second)
{
	void *params[] = {&first, &second};

	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static const struct test_vendor vendor = {
	.folder_variable = "CLV_CUDA_DOUBLE",
	.node_file = "node",
	.node = "gpu H100-80GB\n",
	.options_file = "cuda",
	.options = "",
};

int main(int argc, char **argv)
{
	return test_run(argc, argv, &vendor, all, sizeof(all) / sizeof(all[0]));
}
