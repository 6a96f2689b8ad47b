/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls the driver from several threads at once before it is initialized,
 * and then uses it.  Says what each call returned: the same with a gate and without.  HIP
 * initializes itself in the first call; HSA below it does not. */
#include "pattern.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define N_THREADS 4
#define N_RESULTS 14

#ifdef ROCM
#define MAJOR 23
#define cuMemGetInfo_v2(free_bytes, all_bytes) hipMemGetInfo(free_bytes, all_bytes)
#define cuDeviceGetCount(n) hipGetDeviceCount(n)
#define cuDeviceGetAttribute(value, attribute, device) \
	hipDeviceGetAttribute(value, attribute, device)

int hipDeviceGetAttribute(int *value, int attribute, int device);
int hsa_iterate_agents(int (*see)(uint64_t agent, void *user), void *user);
int hsa_amd_memory_pool_allocate(uint64_t pool, size_t bytes, uint32_t flags, void **p);
int hsa_memory_copy(void *to, const void *from, size_t bytes);

static int see(uint64_t agent, void *user)
{
	return 0;
}

static int *call_below(int *r)
{
	char to[8], from[8] = "";
	void *p;

	*r++ = hsa_iterate_agents(see, NULL);
	*r++ = hsa_amd_memory_pool_allocate(0, 4096, 0, &p);
	*r++ = hsa_memory_copy(to, from, sizeof(to));
	return r;
}
#else
#define MAJOR 75

static int *call_below(int *r)
{
	return r;
}
#endif

static pthread_barrier_t all_are_there, all_have_called;

static void *call_all(void *ret_results)
{
	int *r = ret_results;
	handle own, stream, event;
	size_t free_bytes, all_bytes;
	dptr address;
	int n, major;
	void *p;

	pthread_barrier_wait(&all_are_there);
	r = call_below(r);
	pthread_barrier_wait(&all_have_called);
	*r++ = cuMemAlloc_v2(&address, 4096);
	*r++ = cuMemGetInfo_v2(&free_bytes, &all_bytes);
	*r++ = cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	*r++ = cuStreamCreate(&stream, 0);
	*r++ = cuEventCreate(&event, 0);
	*r++ = cuCtxSynchronize();
	*r++ = cuStreamSynchronize(NULL);
	*r++ = cuDeviceGetCount(&n);
	*r++ = cuDevicePrimaryCtxRetain(&own, 0);
	*r++ = cuMemHostAlloc(&p, 4096, 0);
	*r++ = cuDeviceGetAttribute(&major, MAJOR, 0);
	return NULL;
}

static void call_at_once(void)
{
	int results[N_THREADS][N_RESULTS] = {0};
	pthread_t threads[N_THREADS];

	pthread_barrier_init(&all_are_there, NULL, N_THREADS);
	pthread_barrier_init(&all_have_called, NULL, N_THREADS);
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
	handle own;
	dptr address;

	call_at_once();
	printf("%d ", cuInit(0));
	printf("%d ", cuDevicePrimaryCtxRetain(&own, 0));
	printf("%d ", cuCtxSetCurrent(own));
	printf("%d ", cuMemAlloc_v2(&address, 4096));
	printf("%d\n", cuCtxSynchronize());
	return 0;
}
