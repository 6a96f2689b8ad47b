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
	fill_with_launches(new_stream(NON_BLOCKING), 950, 1);
	fill_with_launches(PER_THREAD, 950, 2);
	return words[0];
}

#ifndef ROCM /* where a copy takes several places of its stream */
/* Copies in a stream of their own, behind a wait for a word or for a kernel. */
static void fill_with_copies(handle stream, dptr device, int n, uint32_t value)
{
	for (int i = 0; i < n; i++)
		OK(cuMemcpyHtoDAsync_v2(
			device, (void *)(uintptr_t)word(2), sizeof(uint32_t), stream));
	words[0] = value;
	OK(cuStreamSynchronize(stream));
}

uint32_t full_of_copies(void)
{
	handle first = new_stream(NON_BLOCKING), second = new_stream(NON_BLOCKING),
	       spinning = new_stream(NON_BLOCKING), event;
	dptr device;

	OK(cuMemAlloc_v2(&device, sizeof(uint32_t)));
	OK(cuStreamWaitValue32_v2(first, word(0), 1, 0));
	fill_with_copies(first, device, 980, 1);
	OK(cuEventCreate(&event, 2));
	await_word(spinning, word(0), 2);
	OK(cuEventRecord(event, spinning));
	OK(cuStreamWaitEvent(second, event, 0));
	fill_with_copies(second, device, 980, 2);
	return words[0];
}
#endif

/* Waits for an event of another stream, which waits for a word, and then launches. */
uint32_t full_of_waits(void)
{
	handle stream = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING), event;
	uint64_t ns = 1000;
	void *parameters[] = {&ns};

	OK(cuEventCreate(&event, 2));
	OK(cuStreamWaitValue32_v2(other, word(0), 1, 0));
	OK(cuEventRecord(event, other));
	for (int i = 0; i < 200; i++)
		OK(cuStreamWaitEvent(stream, event, 0));
	for (uint32_t i = 2; i < 770; i++)
		OK(cuLaunchKernel(
			run_kernel, i, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	words[0] = 1;
	OK(cuStreamSynchronize(stream));
	return words[0];
}
