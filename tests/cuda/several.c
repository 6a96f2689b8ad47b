/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has two GPUs: what one stream of each computes is exchanged between
 * them, by one thread that makes their contexts current in turn, by a thread for each,
 * and by streams that wait for events of the other GPU.
 *
 * usage: cuda-several ROUNDS
 *
 * Prints "done" and stays until its input ends. */
#include "tenant.h"

#include <pthread.h>

#define N_GPUS 2
#define KERNEL_NS 200000
#define BYTES ((size_t)1 << 20)
#define NO_TIMING 2
#define NON_BLOCKING 1
#define PER_THREAD ((handle)2)

int cuMemcpyPeerAsync(
	dptr to, handle to_context, dptr from, handle from_context, size_t n, handle s);

static struct gpu {
	handle context, stream, is_done, function;
	dptr memory;
	uint32_t seen;
} gpus[N_GPUS];

static unsigned long n_rounds;

static void open_gpu(struct gpu *gpu, int device)
{
	size_t left, total;

	OK(cuDevicePrimaryCtxRetain(&gpu->context, device));
	OK(cuCtxSetCurrent(gpu->context));
	gpu->function = load_spin();
	OK(cuStreamCreate(&gpu->stream, NON_BLOCKING));
	OK(cuEventCreate(&gpu->is_done, NO_TIMING));
	OK(cuMemAlloc_v2(&gpu->memory, BYTES));
	OK(cuMemGetInfo_v2(&left, &total));
	CHECK(left < total && left + BYTES <= total);
}

static void launch(const struct gpu *gpu, handle stream)
{
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns};

	OK(cuLaunchKernel(gpu->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

/* Each GPU's work waits for the other's of the round before. */
static void exchange(uint32_t round)
{
	for (int i = 0; i < N_GPUS; i++) {
		struct gpu *gpu = &gpus[i];
		const struct gpu *other = &gpus[1 - i];

		OK(cuCtxSetCurrent(gpu->context));
		if (round > 0)
			OK(cuStreamWaitEvent(gpu->stream, other->is_done, 0));
		launch(gpu, gpu->stream);
		OK(cuMemsetD32Async(gpu->memory, round, BYTES / 4, gpu->stream));
		OK(cuEventRecord(gpu->is_done, gpu->stream));
	}
	OK(cuCtxSetCurrent(gpus[0].context));
	OK(cuStreamWaitEvent(gpus[0].stream, gpus[1].is_done, 0));
	OK(cuMemcpyPeerAsync(gpus[0].memory, gpus[0].context, gpus[1].memory,
		gpus[1].context, BYTES, gpus[0].stream));
	OK(cuMemcpyDtoHAsync_v2(&gpus[0].seen, gpus[0].memory, 4, gpus[0].stream));
	OK(cuStreamSynchronize(gpus[0].stream));
	CHECK(gpus[0].seen == round);
	OK(cuCtxSetCurrent(gpus[1].context));
	OK(cuCtxSynchronize());
}

static void *work_alone(void *userdata)
{
	const struct gpu *gpu = userdata;

	OK(cuCtxSetCurrent(gpu->context));
	for (unsigned long i = 0; i < n_rounds; i++) {
		launch(gpu, PER_THREAD);
		launch(gpu, NULL);
		if (i % 8 == 0)
			OK(cuCtxSynchronize());
	}
	OK(cuCtxSynchronize());
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[N_GPUS];
	int n = 0;

	n_rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	CHECK(n == N_GPUS);
	for (int i = 0; i < N_GPUS; i++)
		open_gpu(&gpus[i], i);
	for (uint32_t i = 0; i < n_rounds; i++)
		exchange(i);
	for (int i = 0; i < N_GPUS; i++)
		pthread_create(&threads[i], NULL, work_alone, &gpus[i]);
	for (int i = 0; i < N_GPUS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < N_GPUS; i++)
		OK(cuDevicePrimaryCtxRelease_v2(i));
	printf("done\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
