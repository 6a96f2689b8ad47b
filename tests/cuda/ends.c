/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose own destructors, which run after the gate's, use their default stream,
 * and green contexts that end while their streams have work. */
#include "pattern.h"

#include <pthread.h>

static pthread_key_t own_key;
static pthread_once_t own_key_once = PTHREAD_ONCE_INIT;

static void store_at_the_end(void *userdata)
{
	run(PER_THREAD, 100000);
	store(PER_THREAD, word(1), (uint32_t)(uintptr_t)userdata);
	OK(cuStreamSynchronize(PER_THREAD));
}

static void make_own_key(void)
{
	pthread_key_create(&own_key, store_at_the_end);
}

static void *end_with_work(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	run(PER_THREAD, 100000);
	pthread_once(&own_key_once, make_own_key);
	pthread_setspecific(own_key, userdata);
	return NULL;
}

uint32_t thread_ends(void)
{
	for (uintptr_t i = 1; i <= N_ROUNDS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, end_with_work, (void *)i);
		pthread_join(thread, NULL);
	}
	return words[1];
}

#ifndef ROCM
struct resource {
	int type;
	unsigned char padding[92];
	unsigned count;
	unsigned char room[44];
};

static void run_some(handle stream)
{
	for (int i = 0; i < 5; i++)
		run(stream, 500000);
}

static void work_in(handle stream, uint32_t i)
{
	run_some(stream);
	store(stream, word(1), i);
	OK(cuStreamSynchronize(stream));
	run_some(stream);
}

/* In a stream of the green context, or in its default streams. */
static void work_in_green(handle green, uint32_t i)
{
	handle stream, current;

	if (i % 2) {
		OK(cuGreenCtxStreamCreate(&stream, green, NON_BLOCKING, 0));
		work_in(stream, i);
		return;
	}
	OK(cuCtxFromGreenCtx(&current, green));
	OK(cuCtxSetCurrent(current));
	work_in(LEGACY, i);
	work_in(PER_THREAD, i);
	work_in(new_stream(0), i);
	OK(cuCtxSetCurrent(context));
}

/* What the last kernels do is of no consequence. */
uint32_t green_ends(void)
{
	struct resource all;
	handle description, green;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuDevResourceGenerateDesc(&description, &all, 1));
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		OK(cuGreenCtxCreate(&green, description, 0, 1));
		work_in_green(green, i);
		OK(cuGreenCtxDestroy(green));
	}
	return words[1];
}
#endif
