/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls the driver from several threads at once before it is initialized,
 * and then uses it.  Says what each call returned: the same with a gate and without. */
#include "../doubles/cuda/selftest/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define N_THREADS 4
#define N_RESULTS 11

static pthread_barrier_t all_are_there;

static void *call_all(void *ret_results)
{
	int *r = ret_results;
	handle context, stream, event;
	size_t free_bytes, all_bytes;
	dptr address;
	int n, major;
	void *p;

	pthread_barrier_wait(&all_are_there);
	*r++ = cuMemAlloc_v2(&address, 4096);
	*r++ = cuMemGetInfo_v2(&free_bytes, &all_bytes);
	*r++ = cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	*r++ = cuStreamCreate(&stream, 0);
	*r++ = cuEventCreate(&event, 0);
	*r++ = cuCtxSynchronize();
	*r++ = cuStreamSynchronize(NULL);
	*r++ = cuDeviceGetCount(&n);
	*r++ = cuDevicePrimaryCtxRetain(&context, 0);
	*r++ = cuMemHostAlloc(&p, 4096, 0);
	*r++ = cuDeviceGetAttribute(&major, 75, 0);
	return NULL;
}

static void call_at_once(void)
{
	int results[N_THREADS][N_RESULTS];
	pthread_t threads[N_THREADS];

	pthread_barrier_init(&all_are_there, NULL, N_THREADS);
	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, call_all, results[i]);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < N_THREADS; i++) {
		for (int k = 0; k < N_RESULTS; k++)
			printf("%d ", results[i][k]);
		printf("\n");
	}
}

int main(void)
{
	handle context;
	dptr address;

	call_at_once();
	printf("%d ", cuInit(0));
	printf("%d ", cuDevicePrimaryCtxRetain(&context, 0));
	printf("%d ", cuCtxSetCurrent(context));
	printf("%d ", cuMemAlloc_v2(&address, 4096));
	printf("%d\n", cuCtxSynchronize());
	return 0;
}
