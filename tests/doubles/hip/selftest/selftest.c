/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"

extern const struct case_of_test hsa_cases[], basic_cases[], time_cases[], memory_cases[],
	graph_cases[], process_cases[], newer_cases[], front_cases[];

static const struct case_of_test *const all[] = {
	hsa_cases,
	basic_cases,
	time_cases,
	memory_cases,
	graph_cases,
	process_cases,
	newer_cases,
	front_cases,
};

const char test_image[] = "cleave-double-module\n"
			  "kernel us20 20000\n"
			  "kernel ms1 1000000\n"
			  "kernel ms20 20000000\n"
			  "kernel ms100 100000000\n"
			  "kernel spin param\n"
			  "kernel groups scaled 1000\n"
			  "kernel store store\n"
			  "kernel slow store 5000000\n";

struct func *kernel(const char *name)
{
	static struct module *module;
	struct func *f;

	if (!module)
		OK(hipModuleLoadData(&module, test_image));
	OK(hipModuleGetFunction(&f, module, name));
	return f;
}

void launch(struct func *function, struct stream *stream, uint64_t first, uint32_t second)
{
	void *params[] = {&first, &second, NULL};

	OK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

uint32_t *hold(struct stream *stream)
{
	uint32_t *word;
	void *p;

	OK(hipHostMalloc(&p, 4, 0));
	word = p;
	*word = 0;
	OK(hipStreamWaitValue32(stream, word, 1, 1, UINT32_MAX));
	return word;
}

float elapsed_ms(struct event *from, struct event *to)
{
	float ms = -1;

	OK(hipEventElapsedTime(&ms, from, to));
	return ms;
}

static const struct test_vendor vendor = {
	.folder_variable = "CLV_HIP_DOUBLE",
	.node_file = "amd",
	.node = "gpu MI210\n",
	.options_file = "hip",
	.options = "context-mib 0\n",
	.empty_file = "hip-faults",
};

int main(int argc, char **argv)
{
	return test_run(argc, argv, &vendor, all, sizeof(all) / sizeof(all[0]));
}
