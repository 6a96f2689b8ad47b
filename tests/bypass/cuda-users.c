/* SPDX-License-Identifier: Apache-2.0 */
/* What ordinary programs do and other gates have failed at.  Prints "no" if everything is
 * as without a gate, "yes" and what is wrong if it is not; a hang prints nothing. */
#include "cuda.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A hang lasts for ever; a busy machine takes less than this. */
#define PATIENCE_NS UINT64_C(10000000000)

static void verdict(uint64_t since_ns, uint64_t at_most_ns)
{
	uint64_t ms = (way_now_ns() - since_ns) / 1000000;

	way_say("%s: it took %llu ms\n",
		way_now_ns() - since_ns > at_most_ns ? "yes" : "no",
		(unsigned long long)ms);
}

static void launch_many(handle stream)
{
	for (int i = 0; i < 400; i++)
		launch(stream, KERNEL_NS);
}

/* Launches into the default stream while a non-blocking stream is captured in relaxed
 * mode. */
static int default_beside_capture(char **arguments)
{
	handle captured, graph;

	gpu_open();
	captured = new_stream();
	OK(cuStreamBeginCapture_v2(captured, 2));
	launch(captured, KERNEL_NS);
	launch_many(NULL);
	OK(cuStreamEndCapture(captured, &graph));
	OK(cuStreamSynchronize(NULL));
	way_say("no\n");
	return 0;
}

/* A capture whose context is destroyed, as after an error. */
static int capture_lost(char **arguments)
{
	handle primary, context;

	gpu_open();
	OK(cuCtxGetCurrent(&primary));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuStreamBeginCapture_v2(new_stream(), 2));
	OK(cuCtxDestroy_v2(context));
	OK(cuCtxSetCurrent(primary));
	launch_many(NULL);
	OK(cuStreamSynchronize(NULL));
	way_say("no\n");
	return 0;
}

static void *flood_in_thread(void *userdata)
{
	OK(cuCtxSetCurrent(userdata));
	flood_with_kernels(new_stream(), KERNEL_NS, 64);
	return NULL;
}

static void flood_beside(void)
{
	pthread_t thread;
	handle context;

	OK(cuCtxGetCurrent(&context));
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, flood_in_thread, context);
	usleep(200000);
}

static long n_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* How often this thread sleeps in repeated calls.  A busy machine makes calls slow, but
 * makes no thread sleep. */
static int call_beside_work(int (*call)(void))
{
	uint64_t until_ns;
	long n;

	gpu_open();
	flood_beside();
	until_ns = way_now_ns() + PATIENCE_NS;
	n = n_sleeps();
	do {
		call();
	} while (way_now_ns() < until_ns);
	n = n_sleeps() - n;
	way_say("%s: it slept %ld times\n", n > 50 ? "yes" : "no", n);
	return 0;
}

static int release(void)
{
	handle context;

	OK(cuDevicePrimaryCtxRetain(&context, 0));
	return cuDevicePrimaryCtxRelease_v2(0);
}

/* Libraries retain and release the primary context while the program computes. */
static int release_beside_work(char **arguments)
{
	return call_beside_work(release);
}

static int destroy_nothing(void)
{
	return cuCtxDestroy_v2(NULL);
}

static int destroy_nothing_beside_work(char **arguments)
{
	return call_beside_work(destroy_nothing);
}

/* The program unblocks the stream only after the next call. */
static int pool_in_held_stream(char **arguments)
{
	uint32_t *word;
	handle stream;
	dptr piece;
	int r;

	gpu_open();
	stream = new_stream();
	OK(cuMemHostAlloc((void **)(void *)&word, 4096, 0));
	for (int i = 0; i < 15; i++)
		OK(take_plain());
	OK(cuMemAlloc_v2(&piece, 44 * MIB));
	OK(cuStreamWaitValue32_v2(stream, (dptr)(uintptr_t)word, 1, 1));
	r = cuMemAllocAsync(&piece, 20 * MIB, stream);
	*word = 1;
	OK(cuStreamSynchronize(stream));
	way_say(r == 0 || r == OUT_OF_MEMORY ? "no: error %d\n" : "yes, error %d\n", r);
	return 0;
}

/* The stream waits for a word that the program writes after the next launches. */
static int word_after_launch(char **arguments)
{
	handle waiting, other;
	volatile uint32_t *word;
	uint64_t began_ns;
	void *memory;

	gpu_open();
	waiting = new_stream();
	other = new_stream();
	OK(cuMemHostAlloc(&memory, 4096, 0));
	word = memory;
	began_ns = way_now_ns();
	for (uint32_t turn = 1; turn <= 5; turn++) {
		OK(cuStreamWaitValue32_v2(waiting, (dptr)(uintptr_t)memory, turn, 0));
		launch(waiting, KERNEL_NS);
		for (int i = 0; i < 40; i++)
			launch(other, KERNEL_NS);
		*word = turn;
		OK(cuStreamSynchronize(other));
		OK(cuStreamSynchronize(waiting));
	}
	verdict(began_ns, 2 * PATIENCE_NS);
	return 0;
}

/* The same with the GPU for itself, and more launches than are ever in flight. */
static int word_after_launches(char **arguments)
{
	handle waiting, other;
	volatile uint32_t *word;
	void *memory;

	gpu_open();
	waiting = new_stream();
	other = new_stream();
	OK(cuMemHostAlloc(&memory, 4096, 0));
	word = memory;
	OK(cuStreamWaitValue32_v2(waiting, (dptr)(uintptr_t)memory, 1, 0));
	launch(waiting, KERNEL_NS);
	launch_many(other);
	*word = 1;
	OK(cuStreamSynchronize(waiting));
	way_say("no\n");
	return 0;
}

static void wait_for_flag(void *userdata)
{
	while (*(volatile int *)userdata == 0)
		usleep(100);
}

/* A callback that waits until the program has submitted the next work. */
static int callback_before_launch(char **arguments)
{
	static volatile int flag;
	handle waiting, other;
	uint64_t began_ns;

	gpu_open();
	waiting = new_stream();
	other = new_stream();
	began_ns = way_now_ns();
	for (int turn = 0; turn < 3; turn++) {
		flag = 0;
		OK(cuLaunchHostFunc(waiting, wait_for_flag, (void *)(uintptr_t)&flag));
		launch(waiting, KERNEL_NS);
		for (int i = 0; i < 40; i++)
			launch(other, KERNEL_NS);
		flag = 1;
		OK(cuStreamSynchronize(waiting));
		OK(cuStreamSynchronize(other));
	}
	verdict(began_ns, 2 * PATIENCE_NS);
	return 0;
}

/* A capture gives the GPU no work, so it must not wait for a turn. */
static int capture_while_closed(char **arguments)
{
	handle stream, graph;
	uint64_t began_ns;

	gpu_open();
	stream = new_stream();
	launch(stream, KERNEL_NS);
	OK(cuStreamSynchronize(stream));
	began_ns = way_now_ns();
	for (int i = 0; i < 20; i++) {
		OK(cuStreamBeginCapture_v2(stream, 0));
		for (int n = 0; n < 50; n++)
			launch(stream, KERNEL_NS);
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphDestroy(graph));
	}
	verdict(began_ns, PATIENCE_NS / 4);
	return 0;
}

/* The GPU's reported size and its free memory must be consistent (HAMi 446). */
static int sizes_agree(char **arguments)
{
	size_t left, total, before, device;

	gpu_open();
	OK(cuDeviceTotalMem_v2(&device, 0));
	OK(cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < 10; i++) {
		OK(take_plain());
		OK(cuMemGetInfo_v2(&left, &total));
		if (total != device || left != before - (size_t)(i + 1) * PIECE_BYTES) {
			way_say("yes: %zu left of %zu after %d\n", left, total, i + 1);
			return 0;
		}
	}
	way_say(before == total ? "no: %zu\n" : "yes: %zu\n", total);
	return 0;
}

/* Another process can allocate what a pool has given back (HAMi-core 96). */
static int trimmed_pool(char **arguments)
{
	struct {
		int type, handle_types;
		struct location location;
		void *reserved;
		size_t most;
		unsigned char rest[56];
	} properties = {.type = 1, .location = {1, 0}};
	uint64_t keep = UINT64_MAX;
	unsigned long long got = 0;
	handle pool;
	dptr piece;
	FILE *other;

	gpu_open();
	OK(cuMemPoolCreate(&pool, &properties));
	OK(cuMemPoolSetAttribute(pool, 4, &keep));
	OK(cuMemAllocFromPoolAsync(&piece, 12 * PIECE_BYTES, pool, NULL));
	OK(cuMemFreeAsync(piece, NULL));
	OK(cuStreamSynchronize(NULL));
	OK(cuMemPoolTrimTo(pool, 0));
	other = popen("/proc/$PPID/exe allocations </dev/null", "re");
	if (!other || fscanf(other, "got %llu", &got) != 1)
		way_die("the other process", 0);
	pclose(other);
	way_say("%s: another process has %llu MiB\n",
		got < 15 * PIECE_BYTES ? "yes" : "no", got / MIB);
	return 0;
}

static void *allocate_for_ever(void *userdata)
{
	OK(cuCtxSetCurrent(userdata));
	for (;;) {
		dptr a, b;

		OK(cuMemAlloc_v2(&a, MIB));
		OK(cuMemAllocAsync(&b, MIB, (handle)2));
		OK(cuMemFree_v2(a));
		OK(cuMemFreeAsync(b, (handle)2));
	}
	return NULL;
}

/* CUDA does not work in a forked child: each call returns an error, and none waits for a
 * lock that a thread of the parent held at the fork. */
static int forked_amid_calls(char **arguments)
{
	pthread_t thread;
	handle context;
	int status;
	dptr piece;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, allocate_for_ever, context);
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(1);
			cuMemFree_v2(4096);
			cuMemAllocAsync(&piece, MIB, NULL);
			cuMemAlloc_v2(&piece, MIB);
			cuMemUnmap(4096, MIB);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (WIFSIGNALED(status)) {
			way_say("yes: child %d ended by signal %d\n", i,
				WTERMSIG(status));
			return 0;
		}
	}
	way_say("no\n");
	return 0;
}

static int count(char **arguments)
{
	int n = -1, r = cuInit(0);

	if (r == 0)
		OK(cuDeviceGetCount(&n));
	way_say("devices %d code %d\n", r == 0 ? n : 0, r);
	return 0;
}

const struct way way_users[] = {
	{"default-beside-capture", default_beside_capture},
	{"capture-lost", capture_lost},
	{"release-beside-work", release_beside_work},
	{"destroy-nothing-beside-work", destroy_nothing_beside_work},
	{"pool-in-held-stream", pool_in_held_stream},
	{"word-after-launch", word_after_launch},
	{"word-after-launches", word_after_launches},
	{"callback-before-launch", callback_before_launch},
	{"capture-while-closed", capture_while_closed},
	{"sizes-agree", sizes_agree},
	{"trimmed-pool", trimmed_pool},
	{"forked-amid-calls", forked_amid_calls},
	{"count", count},
	{NULL, NULL},
};
