/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that fill a stream behind a kernel which waits for their next step. */
#include "pattern.h"

/* Fills most of a stream with events behind a kernel that waits for the host, and then
 * launches kernels of unknown length: a little less than a stream holds. */
uint32_t full_of_events(void)
{
	handle stream = new_stream(NON_BLOCKING), event;
	uint64_t ns = 20000;
	void *parameters[] = {&ns};

	OK(cuEventCreate(&event, 2));
	await_word(stream, word(0), 1);
	for (uint32_t i = 0; i < 1000; i++)
		OK(cuEventRecord(event, stream));
	for (uint32_t i = 2; i < 18; i++)
		OK(cuLaunchKernel(
			run_kernel, i, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	words[0] = 1;
	OK(cuStreamSynchronize(stream));
	return words[0];
}

/* The same with launches alone, each of which may get a marker. */
static void fill_with_launches(handle stream, uint32_t n, uint32_t value)
{
	uint64_t ns = 1000;
	void *parameters[] = {&ns};

	await_word(stream, word(0), value);
	for (uint32_t i = 2; i < n; i++)
		OK(cuLaunchKernel(
			run_kernel, i, value, 1, 32, 1, 1, 0, stream, parameters, NULL));
	words[0] = value;
	OK(cuStreamSynchronize(stream));
}

uint32_t full_of_launches(void)
{
	fill_with_launches(new_stream(NON_BLOCKING), 550, 1);
	fill_with_launches(PER_THREAD, 550, 2);
	return words[0];
}
