/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how many compute units a program gets.
 *
 * usage: hip-units [none | all | FIRST-LAST]... | cooperative
 *
 * Prints the number of units of the GPU and, for each argument, by which factor a kernel
 * takes longer than on all units: on a stream without a mask, with a mask of all possible
 * bits, or with a mask of these units. "cooperative" prints the results of the largest
 * possible cooperative launch and of one with a block more. */
#include "tenant.h"

#include <string.h>

#define KERNEL_NS 10000000
#define MASK_WORDS 32
#define ATTRIBUTE_UNITS 63

int hipDeviceGetAttribute(int *ret, int attribute, int device);
int hipExtStreamCreateWithCUMask(handle *stream, uint32_t words, const uint32_t *mask);
int hipLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **parameters, unsigned shared, handle stream);
int hipEventCreate(handle *event);
int hipEventRecord(handle event, handle stream);
int hipEventElapsedTime(float *ms, handle begin, handle end);

static handle stream_of(const char *word)
{
	uint32_t mask[MASK_WORDS] = {0};
	unsigned first, last;
	handle stream;

	if (strcmp(word, "none") == 0) {
		OK(hipStreamCreateWithFlags(&stream, 1));
		return stream;
	}
	if (sscanf(word, "%u-%u", &first, &last) != 2) {
		first = 0;
		last = MASK_WORDS * 32 - 1;
	}
	for (unsigned i = first; i <= last; i++)
		mask[i / 32] |= 1u << i % 32;
	OK(hipExtStreamCreateWithCUMask(&stream, MASK_WORDS, mask));
	return stream;
}

static float measure(handle function, handle stream)
{
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns, NULL};
	handle begin, end;
	float ms = 0;

	OK(hipEventCreate(&begin));
	OK(hipEventCreate(&end));
	/* Long enough that the second launch is queued behind it, however slow the
	 * machine is. */
	OK(hipModuleLaunchKernel(
		function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	OK(hipEventRecord(begin, stream));
	OK(hipModuleLaunchKernel(
		function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	OK(hipEventRecord(end, stream));
	OK(hipStreamSynchronize(stream));
	OK(hipEventElapsedTime(&ms, begin, end));
	return ms / (KERNEL_NS / 1e6f);
}

static void cooperate(unsigned n_units)
{
	const void *stub = register_spin();
	struct dim3 grid = {n_units * (2048 / 1024), 1, 1}, block = {1024, 1, 1};
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns, NULL};

	for (unsigned more = 0; more < 2; more++) {
		printf(" %d", hipLaunchCooperativeKernel(
				      stub, grid, block, parameters, 0, NULL));
		grid.x++;
	}
	OK(hipDeviceSynchronize());
}

int main(int argc, char **argv)
{
	handle function;
	int n = 0;

	OK(hipInit(0));
	function = load_spin();
	OK(hipDeviceGetAttribute(&n, ATTRIBUTE_UNITS, 0));
	printf("%d", n);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "cooperative") == 0)
			cooperate((unsigned)n);
		else
			printf(" %.1f", (double)measure(function, stream_of(argv[i])));
	printf("\n");
	fflush(stdout);
	getchar();
	return 0;
}
