/* SPDX-License-Identifier: Apache-2.0 */
/* Correct programs whose streams, host threads and processes wait for each other, each of
 * which ends on an unshared GPU: a gate between them and the driver must not close a
 * cycle of waits. All kernels use few multiprocessors, so that streams really run
 * concurrently. The calls are CUDA's; HIP has the same under its own names.
 *
 * usage: cuda-patterns			the names
 *        cuda-patterns NAME		runs one; "done N" with its result, then
 * 					stays until its input ends */
#include "pattern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static const char image[] = "cleave-double-module\n"
			    "kernel run param units 4\n"
			    "kernel fresh 20000 units 1\n"
			    "kernel await await 20000 units 1\n"
			    "kernel relay relay 20000 units 1\n"
			    "kernel serve serve 20000 units 1\n"
			    "kernel store store 20000 units 1\n"
#ifndef ROCM
			    "kernel again relaunch 3 100000\n"
#endif
	;

handle run_kernel;
static handle fresh_kernel, await_kernel, relay_kernel, serve_kernel, store_kernel,
	again_kernel;
volatile uint32_t *words;
handle context;

/* Loads the kernel now: a first launch that loads it may wait for the kernel that it is
 * to release. */
static handle function(handle module, const char *name)
{
	handle f;

	OK(cuModuleGetFunction(&f, module, name));
	OK(cuFuncLoad(f));
	return f;
}

void begin(void)
{
	handle module;
	void *p;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, image));
	run_kernel = function(module, "run");
	OK(cuModuleGetFunction(&fresh_kernel, module, "fresh"));
	await_kernel = function(module, "await");
	relay_kernel = function(module, "relay");
	serve_kernel = function(module, "serve");
	store_kernel = function(module, "store");
#ifndef ROCM
	again_kernel = function(module, "again");
#endif
	OK(cuMemHostAlloc(&p, N_WORDS * sizeof(uint32_t), 0));
	words = p;
	memset(p, 0, N_WORDS * sizeof(uint32_t));
}

static void launch(handle f, handle stream, void **parameters)
{
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

void run(handle stream, uint64_t ns)
{
	void *parameters[] = {&ns};

	launch(run_kernel, stream, parameters);
}

void await_word(handle stream, dptr at, uint32_t value)
{
	void *parameters[] = {&at, &value};

	launch(await_kernel, stream, parameters);
}

void relay(handle stream, dptr at, uint32_t value, dptr out, uint32_t out_value)
{
	void *parameters[] = {&at, &value, &out, &out_value};

	launch(relay_kernel, stream, parameters);
}

void store(handle stream, dptr at, uint32_t value)
{
	void *parameters[] = {&at, &value};

	launch(store_kernel, stream, parameters);
}

void again(handle stream)
{
	launch(again_kernel, stream, NULL);
}

/* Teaches the gate's estimate that the kernel takes long. */
static void train(void)
{
	handle stream = new_stream(NON_BLOCKING);

	for (uint32_t i = 1; i <= 4; i++) {
		await_word(stream, word(N_WORDS - 1), i);
		sleep_ms(60);
		words[N_WORDS - 1] = i;
		OK(cuStreamSynchronize(stream));
	}
	OK(cuStreamDestroy_v2(stream));
}

/* A receive that is posted before the send. */
static uint32_t early_receive(void)
{
	handle a = new_stream(NON_BLOCKING), b = new_stream(NON_BLOCKING);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(a, word(0), i, word(1), i);
		run(b, 100000);
		store(b, word(0), i);
		OK(cuStreamSynchronize(a));
	}
	return words[1];
}

/* Stages of a pipeline, each on its own stream, the last one submitted first. */
static uint32_t pipeline(void)
{
	handle stages[6];

	for (uint32_t s = 0; s < 6; s++)
		stages[s] = new_stream(NON_BLOCKING);
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		for (uint32_t s = 6; s-- > 1;)
			relay(stages[s], word(s - 1), i, word(s), i);
		store(stages[0], word(0), i);
		OK(cuCtxSynchronize());
	}
	return words[5];
}

/* One kernel that gets input through memory while other streams compute. */
static uint32_t persistent(void)
{
	handle server = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING);
	uint32_t value = 1, out_value = 101, n = 100;
	dptr at = word(0), out = word(1), device;
	void *parameters[] = {&at, &value, &out, &out_value, &n};
	static char host[1 << 16];

	OK(cuMemAlloc_v2(&device, sizeof(host)));
	launch(serve_kernel, server, parameters);
	for (uint32_t i = 1; i <= n; i++) {
		run(other, 200000);
		OK(cuMemcpyHtoDAsync_v2(device, host, sizeof(host), other));
		if (i % 10 == 0)
			OK(cuStreamSynchronize(other));
		words[0] = i;
		while (words[1] != 100 + i)
			sleep_ms(0);
	}
	OK(cuStreamSynchronize(server));
	return words[1];
}

/* The work behind a kernel in its own stream is submitted before the host releases the
 * kernel. */
static uint32_t held_by_host(void)
{
	handle stream = new_stream(NON_BLOCKING);

	for (uint32_t i = 1; i <= 3; i++) {
		await_word(stream, word(0), i);
		for (int k = 0; k < 20; k++)
			run(stream, 1000000);
		store(stream, word(1), i);
		words[0] = i;
		OK(cuStreamSynchronize(stream));
	}
	return words[1];
}

static uint32_t pools(void)
{
	handle a = new_stream(NON_BLOCKING), b = new_stream(NON_BLOCKING), event;
	dptr p;

	OK(cuEventCreate(&event, 2));
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		OK(cuMemAllocAsync(&p, 8 * MIB, a));
		await_word(a, word(0), i);
		OK(cuEventRecord(event, a));
		OK(cuStreamWaitEvent(b, event, 0));
		OK(cuMemFreeAsync(p, b));
		store(b, word(1), i);
		store(new_stream(NON_BLOCKING), word(0), i);
		OK(cuStreamSynchronize(b));
	}
	return words[1];
}

static uint32_t priorities(void)
{
	handle low, high;

	OK(cuStreamCreateWithPriority(&low, NON_BLOCKING, 0));
	OK(cuStreamCreateWithPriority(&high, NON_BLOCKING, -5));
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(low, word(0), i, word(1), i);
		for (int k = 0; k < 5; k++)
			run(low, 2000000);
		run(high, 200000);
		store(high, word(0), i);
		OK(cuStreamSynchronize(high));
		OK(cuStreamSynchronize(low));
	}
	return words[1];
}

/* Two branches of a graph, of which one waits for the other. */
static uint32_t graph_branches(void)
{
	handle a = new_stream(NON_BLOCKING), b = new_stream(NON_BLOCKING), fork, join,
	       graph, exec;

	OK(cuEventCreate(&fork, 2));
	OK(cuEventCreate(&join, 2));
	OK(cuStreamBeginCapture_v2(a, 2));
	OK(cuEventRecord(fork, a));
	OK(cuStreamWaitEvent(b, fork, 0));
	run(a, 500000);
	run(b, 300000);
	run(b, 300000);
	OK(cuEventRecord(join, b));
	OK(cuStreamWaitEvent(a, join, 0));
	OK(cuStreamEndCapture(a, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		await_word(b, word(0), i);
		OK(cuGraphLaunch(exec, a));
		store(a, word(0), i);
		store(b, word(1), i);
		OK(cuCtxSynchronize());
	}
	return words[1];
}

/* A host function of a stream makes a thread launch the work that another stream waits
 * for. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t asked;
} host = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void ask(void *userdata)
{
	pthread_mutex_lock(&host.lock);
	host.asked++;
	pthread_cond_signal(&host.changed);
	pthread_mutex_unlock(&host.lock);
}

static void *launch_when_asked(void *userdata)
{
	handle stream;

	OK(cuCtxSetCurrent(context));
	stream = new_stream(NON_BLOCKING);
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		pthread_mutex_lock(&host.lock);
		while (host.asked < i)
			pthread_cond_wait(&host.changed, &host.lock);
		pthread_mutex_unlock(&host.lock);
		store(stream, word(0), i);
	}
	OK(cuStreamSynchronize(stream));
	return NULL;
}

static uint32_t host_functions(void)
{
	handle a = new_stream(NON_BLOCKING), b = new_stream(NON_BLOCKING);
	pthread_t thread;

	pthread_create(&thread, NULL, launch_when_asked, NULL);
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(a, word(0), i, word(1), i);
		run(b, 200000);
		OK(cuLaunchHostFunc(b, ask, NULL));
		OK(cuStreamSynchronize(a));
	}
	pthread_join(thread, NULL);
	return words[1];
}

#ifndef ROCM
/* The same with a function in a graph that is made by hand. */
static uint32_t graph_functions(void)
{
	struct {
		void (*function)(void *userdata);
		void *userdata;
	} asks = {ask, NULL};
	handle a = new_stream(NON_BLOCKING), b = new_stream(NON_BLOCKING), graph, exec,
	       node;
	pthread_t thread;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddHostNode(&node, graph, NULL, 0, &asks));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	pthread_create(&thread, NULL, launch_when_asked, NULL);
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(a, word(0), i, word(1), i);
		run(b, 200000);
		OK(cuGraphLaunch(exec, b));
		OK(cuStreamSynchronize(a));
	}
	pthread_join(thread, NULL);
	return words[1];
}
#endif

/* The legacy stream's work completes long before one blocking stream releases another. A
 * marker placed late would wait for the first and delay the second. */
static uint32_t legacy_and_blocking(void)
{
	handle first = new_stream(0), second = new_stream(0);

	for (uint32_t i = 1; i <= 4; i++) {
		for (int k = 0; k < 3; k++)
			run(LEGACY, 300000);
		OK(cuStreamWaitValue32_v2(first, word(0), i, 0));
		store(first, word(1), i);
		sleep_ms(100);
		OK(cuStreamWriteValue32_v2(second, word(0), i, 0));
		OK(cuStreamSynchronize(first));
	}
	return words[1];
}

/* The first command of a blocking stream waits for an event of a stream whose kernel
 * spins until another blocking stream has written a word. No call but the wait shows that
 * the blocking streams are in use. */
static void run_legacy_and_spin(handle spinning, handle event, uint32_t value)
{
	for (int k = 0; k < 3; k++)
		run(LEGACY, 300000);
	await_word(spinning, word(0), value);
	OK(cuEventRecord(event, spinning));
}

static uint32_t event_and_blocking(void)
{
	handle first = new_stream(0), second = new_stream(0),
	       spinning = new_stream(NON_BLOCKING), event;

	OK(cuEventCreate(&event, 2));
	for (uint32_t i = 1; i <= 4; i++) {
		run_legacy_and_spin(spinning, event, i);
		OK(cuStreamWaitEvent(first, event, 0));
		sleep_ms(100);
		OK(cuStreamWriteValue32_v2(second, word(0), i, 0));
		OK(cuStreamSynchronize(first));
	}
	return words[0];
}

/* The same with the default streams of two threads. */
static void *write_in_own_stream(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	sleep_ms(100);
	OK(cuStreamWriteValue32_v2(
		PER_THREAD, word(0), (uint32_t)(uintptr_t)userdata, 0));
	return NULL;
}

static uint32_t event_and_own_streams(void)
{
	handle spinning = new_stream(NON_BLOCKING), event;

	OK(cuEventCreate(&event, 2));
	for (uint32_t i = 1; i <= 4; i++) {
		pthread_t thread;

		run_legacy_and_spin(spinning, event, i);
		OK(cuStreamWaitEvent(PER_THREAD, event, 0));
		pthread_create(&thread, NULL, write_in_own_stream, (void *)(uintptr_t)i);
		OK(cuStreamSynchronize(PER_THREAD));
		pthread_join(thread, NULL);
	}
	return words[0];
}

void store_behind_wait(handle waiting, handle other, uint32_t n)
{
	OK(cuStreamWaitValue32_v2(waiting, word(2), n, 0));
	store(waiting, word(1), n);
	sleep_ms(30);
	OK(cuStreamWriteValue32_v2(other, word(2), n, 0));
	OK(cuStreamSynchronize(waiting));
}

/* Another thread has the legacy stream, and that thread may be preempted right after the
 * launch. */
static void *store_in_legacy(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	store(LEGACY, word(0), (uint32_t)(uintptr_t)userdata);
	return NULL;
}

static uint32_t late_marker(void)
{
	handle first = new_stream(0), second = new_stream(0);

	for (uint32_t i = 1; i <= 4; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, store_in_legacy, (void *)(uintptr_t)i);
		while (words[0] != i)
			sleep_ms(0);
		store_behind_wait(first, second, i);
		pthread_join(thread, NULL);
	}
	return words[1];
}

/* A first launch, which loads the kernel, may return only when the device is idle. The
 * work that makes it idle is launched in a blocking stream meanwhile. */
static void *launch_fresh(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	launch(fresh_kernel, LEGACY, NULL);
	return NULL;
}

static uint32_t first_launch(void)
{
	handle spinning = new_stream(NON_BLOCKING), blocking = new_stream(0);
	pthread_t thread;

	run(LEGACY, 1000);
	run(blocking, 1000);
	store(blocking, word(1), 0);
	OK(cuCtxSynchronize());
	await_word(spinning, word(0), 1);
	sleep_ms(20);
	pthread_create(&thread, NULL, launch_fresh, NULL);
	sleep_ms(50);
	for (int i = 0; i < 3; i++)
		run(blocking, 1000);
	store(blocking, word(0), 1);
	pthread_join(thread, NULL);
	OK(cuCtxSynchronize());
	return words[0];
}

/* One thread keeps the legacy stream full, and so waits in the driver most of the time;
 * another one submits to a blocking stream. */
static _Atomic int is_over;

static void *fill_legacy(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	while (!atomic_load(&is_over))
		run(LEGACY, 100000);
	return NULL;
}

static uint32_t full_legacy(void)
{
	handle blocking = new_stream(0);
	pthread_t thread;

	run(LEGACY, 1000);
	store(blocking, word(1), 0);
	OK(cuCtxSynchronize());
	pthread_create(&thread, NULL, fill_legacy, NULL);
	sleep_ms(300);
	for (uint32_t i = 1; i <= 100; i++)
		store(blocking, word(1), i);
	atomic_store(&is_over, 1);
	pthread_join(thread, NULL);
	OK(cuCtxSynchronize());
	return words[1];
}

/* A kernel in one stream waits for the program, which meanwhile submits to another and
 * synchronizes with it each time: that stream's completions do not wait for the
 * kernel. */
static uint32_t syncs_beside(void)
{
	handle spinning = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING);

	await_word(spinning, word(0), 1);
	sleep_ms(20);
	for (uint32_t i = 1; i <= 30; i++) {
		run(other, 200000);
		run(other, 200000);
		store(other, word(1), i);
		OK(cuStreamSynchronize(other));
	}
	store(other, word(0), 1);
	OK(cuStreamSynchronize(spinning));
	return words[1];
}

/* The same without synchronizing: only complete commands make room for more. */
static uint32_t deep_beside(void)
{
	handle spinning = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING);

	await_word(spinning, word(0), 1);
	sleep_ms(20);
	for (uint32_t i = 1; i <= 60; i++)
		run(other, 500000);
	store(other, word(0), 1);
	OK(cuStreamSynchronize(spinning));
	return words[0];
}

#ifndef ROCM
/* A context is destroyed while a kernel of another one waits for the program's next
 * step. */
static uint32_t context_ends(void)
{
	for (uint32_t i = 1; i <= 3; i++) {
		handle stream = new_stream(NON_BLOCKING), other, module, kernel;
		uint64_t ns = 100000;
		void *parameters[] = {&ns};

		await_word(stream, word(0), i);
		sleep_ms(20);
		OK(cuCtxCreate_v2(&other, 0, 0));
		OK(cuModuleLoadData(&module, image));
		kernel = function(module, "run");
		launch(kernel, i == 1 ? PER_THREAD : LEGACY, parameters);
		if (i == 3)
			OK(cuCtxSynchronize());
		OK(cuCtxDestroy_v2(other));
		OK(cuCtxSetCurrent(context));
		words[0] = i;
		OK(cuStreamSynchronize(stream));
	}
	return words[0];
}
#endif

/* The same with kernels that spin, and with a per-thread default stream among the
 * streams. */
static uint32_t mixed_defaults(void)
{
	handle blocking = new_stream(0), other = new_stream(NON_BLOCKING);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		run(LEGACY, 300000);
		relay(blocking, word(0), i, word(1), i);
		run(PER_THREAD, 300000);
		store(PER_THREAD, word(0), i);
		run(other, 300000);
		OK(cuStreamSynchronize(blocking));
		run(LEGACY, 300000);
	}
	OK(cuCtxSynchronize());
	return words[1];
}

/* A thread has used its per-thread default stream and makes no more calls. Meanwhile
 * another stream waits for a word that the program writes after other work. */
static pthread_barrier_t own_is_used, own_is_over;

static void *use_own_stream(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 20; i++) {
		run(PER_THREAD, 100000);
		OK(cuStreamSynchronize(PER_THREAD));
	}
	run(PER_THREAD, 100000);
	pthread_barrier_wait(&own_is_used);
	pthread_barrier_wait(&own_is_over);
	return NULL;
}

static uint32_t own_stream(void)
{
	handle waiting = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING);
	pthread_t thread;

	pthread_barrier_init(&own_is_used, NULL, 2);
	pthread_barrier_init(&own_is_over, NULL, 2);
	pthread_create(&thread, NULL, use_own_stream, NULL);
	pthread_barrier_wait(&own_is_used);
	OK(cuStreamWaitValue32_v2(waiting, word(0), 1, 0));
	store(waiting, word(1), 1);
	sleep_ms(2 * STANDS_MS);
	run(other, 1000000);
	OK(cuStreamSynchronize(other));
	words[0] = 1;
	OK(cuStreamSynchronize(waiting));
	pthread_barrier_wait(&own_is_over);
	pthread_join(thread, NULL);
	return words[1];
}

/* Four streams that signal each other in a ring by events. */
static uint32_t ping_pong(void)
{
	handle streams[4], events[4];

	for (int s = 0; s < 4; s++) {
		streams[s] = new_stream(s % 2 ? NON_BLOCKING : 0);
		OK(cuEventCreate(&events[s], 2));
	}
	for (uint32_t i = 0; i < 50 * N_ROUNDS; i++) {
		if (i > 0)
			OK(cuStreamWaitEvent(streams[i % 4], events[(i + 3) % 4], 0));
		run(streams[i % 4], 20000);
		OK(cuEventRecord(events[i % 4], streams[i % 4]));
	}
	store(streams[3], word(1), N_ROUNDS);
	OK(cuCtxSynchronize());
	return words[1];
}

/* Copy in, compute, copy out, each on its own stream. */
static uint32_t overlap(void)
{
	handle in = new_stream(NON_BLOCKING), compute = new_stream(NON_BLOCKING),
	       out = new_stream(NON_BLOCKING), in_done, computed;
	size_t n = 16 * MIB;
	dptr device[2];
	void *p;

	OK(cuMemHostAlloc(&p, n, 0));
	OK(cuMemAlloc_v2(&device[0], n));
	OK(cuMemAlloc_v2(&device[1], n));
	OK(cuEventCreate(&in_done, 2));
	OK(cuEventCreate(&computed, 2));
	/* Fewer than the commands of unknown length that enter before one is complete:
	 * how soon that is depends on what else the machine does. */
	for (uint32_t i = 1; i <= 4 * N_ROUNDS; i++) {
		OK(cuMemcpyHtoDAsync_v2(device[i % 2], p, n, in));
		OK(cuEventRecord(in_done, in));
		OK(cuStreamWaitEvent(compute, in_done, 0));
		run(compute, 800000);
		OK(cuEventRecord(computed, compute));
		OK(cuStreamWaitEvent(out, computed, 0));
		OK(cuMemcpyDtoHAsync_v2(p, device[i % 2], n, out));
	}
	store(out, word(1), N_ROUNDS);
	OK(cuCtxSynchronize());
	return words[1];
}

/* A thread and a stream for each link of a chain, the last one first. */
#define N_THREADS 64

static pthread_barrier_t all_submitted;

static void *link_of_chain(void *userdata)
{
	uint32_t i = (uint32_t)(uintptr_t)userdata;
	handle stream;

	OK(cuCtxSetCurrent(context));
	stream = new_stream(NON_BLOCKING);
	if (i > 0)
		relay(stream, word(i - 1), 1, word(i), 1);
	pthread_barrier_wait(&all_submitted);
	if (i == 0)
		store(stream, word(0), 1);
	OK(cuStreamSynchronize(stream));
	return NULL;
}

static uint32_t threads(void)
{
	pthread_t all[N_THREADS];

	pthread_barrier_init(&all_submitted, NULL, N_THREADS);
	for (uintptr_t i = N_THREADS; i-- > 0;)
		pthread_create(&all[i], NULL, link_of_chain, (void *)i);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(all[i], NULL);
	return words[N_THREADS - 1] * N_ROUNDS;
}

/* More streams than a GPU has hardware queues; their kernels end when all have begun. */
static uint32_t many_streams(void)
{
	handle streams[64];

	for (uint32_t i = 0; i < 64; i++)
		streams[i] = new_stream(NON_BLOCKING);
	for (uint32_t i = 0; i < 64; i++)
		await_word(streams[i], word(0), 1);
	words[0] = 1;
	OK(cuCtxSynchronize());
	return words[0];
}

static const struct pattern {
	const char *name;
	uint32_t (*run)(void);
	uint32_t result;
	int begins_itself;
} patterns[] = {
	/* clang-format off */
	{ "early-receive",       early_receive,       N_ROUNDS,           0 },
	{ "pipeline",            pipeline,            N_ROUNDS,           0 },
	{ "persistent",          persistent,          200,                0 },
	{ "held-by-host",        held_by_host,        3,                  0 },
	{ "pools",               pools,               N_ROUNDS,           0 },
	{ "priorities",          priorities,          N_ROUNDS,           0 },
	{ "graph-branches",      graph_branches,      N_ROUNDS,           0 },
	{ "host-functions",      host_functions,      N_ROUNDS,           0 },
	{ "legacy-and-blocking", legacy_and_blocking, 4,                  0 },
	{ "event-and-blocking",  event_and_blocking,  4,                  0 },
	{ "event-and-own-streams", event_and_own_streams, 4,              0 },
	{ "late-marker",         late_marker,         4,                  0 },
	{ "first-launch",        first_launch,        1,                  0 },
	{ "full-legacy",         full_legacy,         100,                0 },
	{ "syncs-beside",        syncs_beside,        30,                 0 },
	{ "deep-beside",         deep_beside,         1,                  0 },
	{ "mixed-defaults",      mixed_defaults,      N_ROUNDS,           0 },
	{ "own-stream",          own_stream,          1,                  0 },
	{ "thread-ends",         thread_ends,         N_ROUNDS,           0 },
	{ "ping-pong",           ping_pong,           N_ROUNDS,           0 },
	{ "overlap",             overlap,             N_ROUNDS,           0 },
	{ "threads",             threads,             N_ROUNDS,           0 },
	{ "many-streams",        many_streams,        1,                  0 },
	{ "processes",           processes,           N_ROUNDS,           1 },
	{ "late-process",        late_process,        3,                  1 },
	{ "external-semaphore",  external_semaphore,  2,                  0 },
#ifdef HAS_SEMAPHORES_IN_GRAPHS
	{ "graph-of-semaphore",  graph_of_semaphore,  2,                  0 },
#endif
	{ "late-free",           late_free,           4,                  0 },
	{ "full-of-events",      full_of_events,      1,                  0 },
	{ "full-of-launches",    full_of_launches,    2,                  0 },
	{ "full-of-waits",       full_of_waits,       1,                  0 },
	{ "updated-graphs",      updated_graphs,      3 * N_ROUNDS,       0 },
	{ "event-of-another",    event_of_another,    2,                  1 },
#ifndef ROCM
	{ "graph-functions",     graph_functions,     N_ROUNDS,           0 },
	{ "conditional-graphs",  conditional_graphs,  4,                  0 },
	{ "relaunched-graphs",   relaunched_graphs,   4,                  0 },
	{ "context-ends",        context_ends,        3,                  0 },
	{ "green-ends",          green_ends,          N_ROUNDS,           0 },
	{ "graph-beside-wait",   graph_beside_wait,   2,                  0 },
	{ "full-of-copies",      full_of_copies,      2,                  0 },
	{ "full-of-frees",       full_of_frees,       2,                  0 },
	{ "allocates-beside",    allocates_beside,    1,                  0 },
#endif
	/* clang-format on */
};

#define N_PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

int main(int argc, char **argv)
{
	for (size_t i = 0; i < N_PATTERNS; i++) {
		const struct pattern *pattern = &patterns[i];
		uint32_t result;

		if (argc < 2) {
			puts(pattern->name);
			continue;
		}
		if (strcmp(argv[1], pattern->name) != 0)
			continue;
		if (!pattern->begins_itself) {
			begin();
			train();
		}
		result = pattern->run();
		printf("done %u\n", result);
		fflush(stdout);
		while (getchar() != EOF)
			;
		return result == pattern->result ? 0 : 1;
	}
	return argc < 2 ? 0 : 64;
}
