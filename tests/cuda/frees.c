/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that allocate and free memory in the order of streams. */
#include "pattern.h"

#include <pthread.h>
#include <stdatomic.h>

/* The gate follows a free in the legacy stream by an event, and that thread may be
 * preempted between the two. */
static _Atomic uint32_t n_freeing;

static void *free_in_legacy(void *userdata)
{
	dptr p;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&p, MIB));
	atomic_fetch_add(&n_freeing, 1);
	OK(cuMemFreeAsync(p, LEGACY));
	return NULL;
}

uint32_t late_free(void)
{
	handle first = new_stream(0), second = new_stream(0);

	for (uint32_t i = 1; i <= 4; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, free_in_legacy, NULL);
		while (atomic_load(&n_freeing) != i)
			sleep_ms(0);
		sleep_ms(5);
		store_behind_wait(first, second, i);
		pthread_join(thread, NULL);
	}
	return words[1];
}

#ifndef ROCM
/* Fills most of a stream with frees behind a kernel that waits for the host. The gate may
 * follow each by an event of its own. All of that memory can be allocated again then. */
static void free_behind_wait(handle stream, uint32_t value, int n, size_t bytes)
{
	static dptr all[900];

	for (int i = 0; i < n; i++)
		OK(cuMemAlloc_v2(&all[i], bytes));
	await_word(stream, word(0), value);
	for (int i = 0; i < n; i++)
		OK(cuMemFreeAsync(all[i], stream));
}

uint32_t full_of_frees(void)
{
	handle stream = new_stream(NON_BLOCKING);
	dptr large;
	int r = 2;

	free_behind_wait(stream, 1, 900, 32 * MIB);
	words[0] = 1;
	OK(cuStreamSynchronize(stream));
	free_behind_wait(stream, 2, 36, 800 * MIB);
	OK(cuStreamDestroy_v2(stream));
	words[0] = 2;
	for (int i = 0; i < 1000 && r == 2;
		i++) { /* no call waits for a stream that is gone */
		sleep_ms(10);
		r = cuMemAlloc_v2(&large, 900 * 32 * MIB);
	}
	OK(r);
	return words[0];
}

static handle capture_allocation(handle stream)
{
	handle graph, launchable;
	dptr p;

	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(cuMemAllocAsync(&p, MIB, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&launchable, graph, 0));
	return launchable;
}

static void *launch_into_full_stream(void *stream)
{
	handle graph, event;

	OK(cuCtxSetCurrent(context));
	graph = capture_allocation(stream);
	OK(cuEventCreate(&event, 2));
	await_word(stream, word(0), 1);
	for (int i = 0; i < 1015; i++)
		OK(cuEventRecord(event, stream));
	for (int i = 0; i < 16; i++)
		OK(cuGraphLaunch(graph, stream));
	return NULL;
}

/* A launch that allocates waits in the driver until the program has allocated from a
 * pool. */
uint32_t allocates_beside(void)
{
	handle full = new_stream(NON_BLOCKING), stream = new_stream(NON_BLOCKING);
	pthread_t thread;
	dptr p;

	pthread_create(&thread, NULL, launch_into_full_stream, full);
	sleep_ms(300);
	OK(cuMemAllocAsync(&p, MIB, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	words[0] = 1;
	pthread_join(thread, NULL);
	OK(cuStreamSynchronize(full));
	return words[0];
}
#endif
