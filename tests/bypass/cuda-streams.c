/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more than the share by many streams, threads and contexts, and by streams
 * and contexts that come and go. */
#include "cuda.h"

#include <pthread.h>
#include <unistd.h>

#define N_STREAMS 180 /* the number that the double supports */

static int many(char **arguments)
{
	static handle streams[N_STREAMS];

	gpu_open();
	for (int i = 0; i < N_STREAMS; i++)
		streams[i] = new_stream();
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < N_STREAMS; i++)
			launch(streams[i], KERNEL_NS);
		OK(cuCtxSynchronize());
	}
}

/* Streams that are destroyed while they have work, which continues. */
static int destroyed(char **arguments)
{
	gpu_open();
	way_say("go\n");
	for (;;) {
		handle stream = new_stream();

		for (int i = 0; i < 8; i++)
			launch(stream, KERNEL_NS);
		OK(cuStreamDestroy_v2(stream));
	}
}

static void *flood_in_thread(void *userdata)
{
	OK(cuCtxSetCurrent(userdata));
	flood_with_kernels(new_stream(), KERNEL_NS, 8);
	return NULL;
}

static void *flood_of_thread(void *userdata)
{
	OK(cuCtxSetCurrent(userdata));
	flood_with_kernels((handle)2, KERNEL_NS, 8);
	return NULL;
}

static int in_threads(void *(*run)(void *userdata))
{
	pthread_t threads[8];
	handle context;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	way_say("go\n");
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, run, context);
	pthread_join(threads[0], NULL);
	return 0;
}

static int threads(char **arguments)
{
	return in_threads(flood_in_thread);
}

static int threads_default(char **arguments)
{
	return in_threads(flood_of_thread);
}

static void *launch_and_end(void *userdata)
{
	OK(cuCtxSetCurrent(userdata));
	for (int i = 0; i < 8; i++)
		launch((handle)2, KERNEL_NS);
	return NULL;
}

/* Threads that end while their default stream has work. */
static int short_threads(char **arguments)
{
	pthread_t thread;
	handle context;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	way_say("go\n");
	for (;;) {
		if (pthread_create(&thread, NULL, launch_and_end, context) != 0)
			continue;
		pthread_join(thread, NULL);
	}
}

static int second_context(char **arguments)
{
	handle context;

	gpu_open();
	OK(cuCtxCreate_v2(&context, 0, 0));
	way_say("go\n");
	flood_with_kernels(new_stream(), KERNEL_NS, 16);
	return 0;
}

static void *flood_in_own_context(void *userdata)
{
	handle context;

	OK(cuCtxCreate_v2(&context, 0, 0));
	flood_with_kernels(NULL, KERNEL_NS, 8);
	return NULL;
}

/* Each context is a channel group of the GPU. */
static int many_contexts(char **arguments)
{
	return in_threads(flood_in_own_context);
}

static int context_after_context(char **arguments)
{
	handle context;

	gpu_open();
	way_say("go\n");
	for (;;) {
		OK(cuCtxCreate_v2(&context, 0, 0));
		for (int i = 0; i < 20; i++)
			launch(NULL, KERNEL_NS);
		OK(cuCtxDestroy_v2(context));
	}
}

static int primary_reset(char **arguments)
{
	handle context;

	gpu_open();
	way_say("go\n");
	for (;;) {
		handle stream = new_stream();

		for (int i = 0; i < 20; i++)
			launch(stream, KERNEL_NS);
		OK(cuDevicePrimaryCtxRelease_v2(0));
		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuCtxSetCurrent(context));
		spin = load_kernel("kernel spin param\n");
	}
}

struct resource {
	int type;
	unsigned char rest[140];
};

static handle new_green(void)
{
	struct resource all, part;
	unsigned n = 1;
	handle description, green;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 128));
	OK(cuDevResourceGenerateDesc(&description, &part, 1));
	OK(cuGreenCtxCreate(&green, description, 0, 1));
	return green;
}

static void *flood_without_waits(void *userdata)
{
	handle stream;

	OK(cuCtxSetCurrent(userdata));
	stream = new_stream();
	for (;;)
		launch(stream, KERNEL_NS);
	return NULL;
}

/* The green context is a reference to the primary one that no call of the program's
 * shows, so that one lives on when the last of those is released.  The driver lets the
 * release wait. */
static int primary_held(char **arguments)
{
	pthread_t thread;
	handle context;

	gpu_open();
	new_green();
	OK(cuCtxGetCurrent(&context));
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, flood_without_waits, context);
	way_say("go\n");
	return cuDevicePrimaryCtxRelease_v2(0);
}

static int green(char **arguments)
{
	handle stream;

	gpu_open();
	OK(cuGreenCtxStreamCreate(&stream, new_green(), 1, 0));
	way_say("go\n");
	flood_with_kernels(stream, KERNEL_NS, 16);
	return 0;
}

/* Each green context ends while its stream has work. */
static int green_after_green(char **arguments)
{
	handle stream, context;

	gpu_open();
	way_say("go\n");
	for (;;) {
		handle one = new_green();

		OK(cuGreenCtxStreamCreate(&stream, one, 1, 0));
		for (int i = 0; i < 20; i++)
			launch(stream, KERNEL_NS);
		OK(cuGreenCtxDestroy(one));
		OK(cuCtxGetCurrent(&context));
		if (!context)
			way_die("no context", 0);
	}
}

/* Two streams wait for each other's events in turn. */
static int crossed(char **arguments)
{
	handle a, b, event;

	gpu_open();
	a = new_stream();
	b = new_stream();
	OK(cuEventCreate(&event, 2));
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 16; i++) {
			launch(i % 2 ? a : b, KERNEL_NS);
			OK(cuEventRecord(event, i % 2 ? a : b));
			OK(cuStreamWaitEvent(i % 2 ? b : a, event, 0));
		}
		OK(cuEventSynchronize(event));
	}
}

static int bursts(char **arguments)
{
	handle stream;

	gpu_open();
	stream = new_stream();
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 400; i++)
			launch(stream, KERNEL_NS);
		OK(cuStreamSynchronize(stream));
		usleep(300000);
	}
}

const struct way way_streams[] = {
	{"streams-many", many},
	{"streams-destroyed", destroyed},
	{"threads", threads},
	{"primary-held", primary_held},
	{"threads-default", threads_default},
	{"threads-short", short_threads},
	{"second-context-work", second_context},
	{"contexts-many", many_contexts},
	{"context-after-context", context_after_context},
	{"primary-again", primary_reset},
	{"green-context-work", green},
	{"green-after-green", green_after_green},
	{"streams-crossed", crossed},
	{"bursts", bursts},
	{NULL, NULL},
};
