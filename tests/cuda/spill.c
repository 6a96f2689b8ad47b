/* SPDX-License-Identifier: Apache-2.0 */
/* What a program with a quota of 1 GiB and 2 GiB of host memory can allocate.
 *
 * usage: cuda-spill CASE */
#include "memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPILL (2048 * MIB)

int cuMemPrefetchAsync(dptr address, size_t bytes, int device, handle stream);
int cuMemPrefetchBatchAsync(dptr *addresses, size_t *sizes, size_t n, void *locations,
	size_t *indexes, size_t n_locations, unsigned long long flags, handle stream);
int cuMemAdvise(dptr address, size_t bytes, int advice, int device);
int cuMemAdvise_v2(dptr address, size_t bytes, int advice, struct location location);
int cuDevicePrimaryCtxReset_v2(int device);

static handle spin, main_context;

size_t free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo_v2(&left, &total));
	CHECK(total == QUOTA);
	return left;
}

static void begin(void)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&main_context, 0));
	OK(cuCtxSetCurrent(main_context));
	spin = load_spin();
}

static void launch(uint64_t ns)
{
	void *parameters[] = {&ns};

	OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	OK(cuCtxSynchronize());
}

static dptr allocate(size_t n_bytes)
{
	dptr address;

	OK(cuMemAlloc_v2(&address, n_bytes));
	return address;
}

static void is_memory(dptr address, size_t n_bytes)
{
	char there[64], back[64];

	memset(there, 0x5a, sizeof(there));
	OK(cuMemcpyHtoD_v2(address + n_bytes - sizeof(there), there, sizeof(there)));
	OK(cuMemcpyDtoH_v2(back, address + n_bytes - sizeof(back), sizeof(back)));
	CHECK(memcmp(there, back, sizeof(there)) == 0);
	OK(cuMemsetD8_v2(address, 1, n_bytes));
}

static void beyond(void)
{
	dptr beyond, none;

	allocate(600 * MIB);
	beyond = allocate(600 * MIB);
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	is_memory(beyond, 600 * MIB);
	launch(100000);
	CHECK(cuMemAlloc_v2(&none, SPILL) == OUT_OF_MEMORY);
	is_memory(allocate(SPILL - 600 * MIB), SPILL - 600 * MIB);
	CHECK(cuMemAlloc_v2(&none, 600 * MIB) == OUT_OF_MEMORY);
	is_memory(allocate(424 * MIB), 424 * MIB);
	launch(100000);
}

/* Also by stream-ordered calls, which may free device memory. */
static void freed(void)
{
	allocate(600 * MIB);
	for (int i = 0; i < 3; i++)
		OK(cuMemFreeAsync(allocate(SPILL), NULL));
	for (int i = 0; i < 10; i++)
		OK(cuMemFree_v2(allocate(SPILL)));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
}

static void managed(void)
{
	dptr a, b;

	OK(cuMemAllocManaged(&a, 600 * MIB, 1));
	OK(cuMemAllocManaged(&b, 600 * MIB, 1));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	launch(100000);
	*(volatile char *)(uintptr_t)b = 1;
	OK(cuMemFree_v2(b));
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == QUOTA);
}

static void pitch(void)
{
	size_t width;
	dptr a;

	allocate(600 * MIB);
	OK(cuMemAllocPitch_v2(&a, &width, 1000, 600 * 1024, 4));
	CHECK(width == 1024);
	is_memory(a, width * 600 * 1024);
	CHECK(cuMemAllocPitch_v2(NULL, &width, 1000, 600 * 1024, 4) == 1);
	CHECK(cuMemAllocPitch_v2(&a, NULL, 1000, 600 * 1024, 4) == 1);
	CHECK(free_bytes() == QUOTA - 600 * MIB);
}

/* Neither hints nor copies bring spilled memory back to the device. */
static void hints(void)
{
	static const struct location device = {1, 0}, host = {2, 0};
	size_t sizes[] = {MIB, MIB}, index = 0;
	dptr mine = allocate(600 * MIB), a = allocate(600 * MIB);
	dptr both[] = {mine, a + 300 * MIB};

	OK(cuMemPrefetchAsync(a, 600 * MIB, 0, NULL));
	OK(cuMemPrefetchAsync(a + 599 * MIB, MIB, 0, NULL));
	OK(cuMemPrefetchAsync_v2(a, 600 * MIB, device, 0, NULL));
	OK(cuMemPrefetchAsync_v2(a, 600 * MIB, host, 0, NULL));
	OK(cuMemPrefetchBatchAsync(
		both, sizes, 2, (void *)(uintptr_t)&device, &index, 1, 0, NULL));
	for (int advice = 1; advice <= 6; advice++) {
		OK(cuMemAdvise(a, 600 * MIB, advice, 0));
		OK(cuMemAdvise_v2(a + 300 * MIB, MIB, advice, device));
	}
	launch(100000);
	CHECK(cuMemAdvise(mine, MIB, 3, 0) != 0);
	CHECK(cuMemPrefetchAsync(mine, MIB, 0, NULL) != 0);
}

/* A batch that another thread changes while the first waits for its turn. */
static dptr batch;

static void *fetch(void *is_over)
{
	static const uint64_t device = 1;
	size_t size = MIB, index = 0;

	while (!atomic_load((atomic_bool *)is_over))
		cuMemPrefetchBatchAsync(
			&batch, &size, 1, (void *)(uintptr_t)&device, &index, 1, 0, NULL);
	return NULL;
}

static void *fetch_in_context(void *is_over)
{
	handle context;

	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	return fetch(is_over);
}

static void changed_batch(void)
{
	dptr mine, spilled;
	pthread_t thread;
	atomic_bool is_over = false;

	OK(cuMemAllocManaged(&mine, 600 * MIB, 1));
	OK(cuMemAllocManaged(&spilled, 600 * MIB, 1));
	batch = mine;
	CHECK(pthread_create(&thread, NULL, fetch_in_context, &is_over) == 0);
	for (int i = 0; i < 2000; i++) {
		*(volatile dptr *)&batch = i % 2 ? mine : spilled;
		usleep(1000);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	launch(100000);
}

/* A prefetch into a full stream returns once the program, which allocates meanwhile, has
 * let the stream go on. */
static handle full;

static void *prefetch_into_full(void *memory)
{
	handle event;

	OK(cuCtxSetCurrent(main_context));
	OK(cuEventCreate(&event, 2));
	for (int i = 0; i < 1000; i++)
		OK(cuEventRecord(event, full));
	for (int i = 0; i < 40; i++)
		OK(cuMemPrefetchAsync(*(dptr *)memory, MIB, 0, full));
	return NULL;
}

static void beside_a_hint(void)
{
	volatile uint32_t *word;
	pthread_t thread;
	void *p;
	dptr mine;

	OK(cuMemHostAlloc(&p, sizeof(*word), 0));
	word = p;
	*word = 0;
	OK(cuStreamCreate(&full, 1));
	OK(cuMemAllocManaged(&mine, 600 * MIB, 1));
	OK(cuStreamWaitValue32_v2(full, (dptr)(uintptr_t)p, 1, 0));
	CHECK(pthread_create(&thread, NULL, prefetch_into_full, &mine) == 0);
	usleep(300000);
	is_memory(allocate(600 * MIB), 600 * MIB);
	*word = 1;
	pthread_join(thread, NULL);
	OK(cuStreamSynchronize(full));
	launch(100000);
}

/* The same with a batch, which may be for any memory: the allocation is refused. */
static void *prefetch_batches(void *memory)
{
	static const uint64_t device = 1;
	size_t size = MIB, index = 0;

	OK(cuCtxSetCurrent(main_context));
	for (int i = 0; i < 1100; i++)
		OK(cuMemPrefetchBatchAsync(memory, &size, 1, (void *)(uintptr_t)&device,
			&index, 1, 0, full));
	return NULL;
}

static void beside_a_batch(void)
{
	volatile uint32_t *word;
	pthread_t thread;
	void *p;
	dptr mine, none;

	OK(cuMemHostAlloc(&p, sizeof(*word), 0));
	word = p;
	*word = 0;
	OK(cuStreamCreate(&full, 1));
	OK(cuMemAllocManaged(&mine, 600 * MIB, 1));
	OK(cuStreamWaitValue32_v2(full, (dptr)(uintptr_t)p, 1, 0));
	CHECK(pthread_create(&thread, NULL, prefetch_batches, &mine) == 0);
	usleep(300000);
	CHECK(cuMemAlloc_v2(&none, 600 * MIB) == OUT_OF_MEMORY);
	*word = 1;
	pthread_join(thread, NULL);
	OK(cuStreamSynchronize(full));
	is_memory(allocate(600 * MIB), 600 * MIB);
}

static void wait_for_free(size_t n_bytes)
{
	for (int i = 0; i < 3000 && free_bytes() != n_bytes; i++)
		usleep(10000);
	if (free_bytes() != n_bytes)
		fprintf(stderr, "waited for %zu MiB free, %zu MiB are\n", n_bytes / MIB,
			free_bytes() / MIB);
	CHECK(free_bytes() == n_bytes);
}

/* Whether the first allocation came back. The gate takes the one that fits at that
 * moment, so it may be either. */
static bool is_first_back(size_t first_bytes, size_t second_bytes)
{
	for (int i = 0; i < 3000 && free_bytes() != QUOTA - first_bytes &&
			free_bytes() != QUOTA - second_bytes;
		i++)
		usleep(10000);
	return free_bytes() == QUOTA - first_bytes;
}

static void comes_back(void)
{
	struct {
		dptr at;
		size_t n_bytes;
	} one = {0, 700 * MIB}, other = {0, 800 * MIB}, swap;
	dptr a = allocate(600 * MIB);

	one.at = allocate(one.n_bytes);
	other.at = allocate(other.n_bytes);
	launch(100000);
	OK(cuMemFree_v2(a));
	if (!is_first_back(one.n_bytes, other.n_bytes)) {
		swap = one;
		one = other;
		other = swap;
	}
	wait_for_free(QUOTA - one.n_bytes);
	is_memory(one.at, one.n_bytes);
	launch(100000);
	OK(cuMemFree_v2(one.at));
	wait_for_free(QUOTA - other.n_bytes);
	OK(cuMemPrefetchAsync(other.at, other.n_bytes, 0, NULL));
	is_memory(other.at, other.n_bytes);
	a = allocate(600 * MIB);
	OK(cuMemFree_v2(other.at));
	wait_for_free(QUOTA - 600 * MIB);
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == QUOTA);
}

/* The allocation is still there, and still in host memory. */
static void is_not_freed(void)
{
	dptr a;
	handle context;

	allocate(600 * MIB);
	a = allocate(600 * MIB);
	OK(cuCtxGetCurrent(&context));
	OK(cuCtxSetCurrent(NULL));
	CHECK(cuMemFree_v2(a) != 0);
	OK(cuCtxSetCurrent(context));
	OK(cuMemPrefetchAsync(a, 600 * MIB, 0, NULL));
	CHECK(cuCtxDestroy_v2(context) != 0);
	OK(cuMemPrefetchAsync(a, 600 * MIB, 0, NULL));
	launch(100000);
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
}

/* Freed, and its context destroyed, during the migration. */
static void is_freed_on_its_way(void)
{
	for (int i = 0; i < 20; i++) {
		dptr a = allocate(600 * MIB), b = allocate(700 * MIB);

		OK(cuMemFree_v2(a));
		usleep(10000 * (i % 13));
		OK(cuMemFree_v2(b));
		CHECK(free_bytes() == QUOTA);
	}
	for (int i = 0; i < 20; i++) {
		handle context;
		dptr a;

		OK(cuCtxCreate_v2(&context, 0, 0));
		a = allocate(600 * MIB);
		allocate(700 * MIB);
		OK(cuMemFree_v2(a));
		usleep(10000 * (i % 13));
		OK(cuCtxDestroy_v2(context));
	}
	for (int i = 0; i < 20; i++) {
		handle context;
		dptr a;

		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuCtxSetCurrent(context));
		a = allocate(600 * MIB);
		allocate(700 * MIB);
		OK(cuMemFree_v2(a));
		usleep(10000 * (i % 13));
		OK(cuDevicePrimaryCtxReset_v2(0));
		OK(cuCtxSetCurrent(NULL));
	}
}

static void processes(void)
{
	int status, pipes[2];
	pid_t child;
	char byte;

	CHECK(pipe(pipes) == 0);
	child = fork();
	if (child == 0) {
		close(pipes[1]);
		CHECK(read(pipes[0], &byte, 1) == 1);
		execl("/proc/self/exe", "cuda-spill", "beside", (char *)NULL);
	}
	close(pipes[0]);
	begin();
	allocate(600 * MIB);
	allocate(1400 * MIB);
	CHECK(write(pipes[1], "", 1) == 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Another process has 600 MiB of the quota and 1400 MiB of host memory. */
static void beside(void)
{
	dptr none;

	CHECK(cuMemAlloc_v2(&none, 700 * MIB) == OUT_OF_MEMORY);
	allocate(640 * MIB);
	CHECK(cuMemAlloc_v2(&none, 500 * MIB) == OUT_OF_MEMORY);
}

/* For a test that observes the process from outside. */
static void stays(void)
{
	allocate(600 * MIB);
	allocate(800 * MIB);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		launch(100000);
}

static void no_room(void)
{
	dptr none;

	allocate(600 * MIB);
	CHECK(cuMemAlloc_v2(&none, 600 * MIB) == OUT_OF_MEMORY);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"beyond", beyond},
	{"freed", freed},
	{"managed", managed},
	{"pitch", pitch},
	{"hints", hints},
	{"is-not-freed", is_not_freed},
	{"changed-batch", changed_batch},
	{"beside-a-hint", beside_a_hint},
	{"beside-a-batch", beside_a_batch},
	{"comes-back", comes_back},
	{"is-freed-on-its-way", is_freed_on_its_way},
	{"processes", processes},
	{"beside", beside},
	{"stays", stays},
	{"no-room", no_room},
};

int main(int argc, char **argv)
{
	/* That case forks before it initializes CUDA. */
	if (argc > 1 && strcmp(argv[1], "processes") != 0)
		begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: cuda-spill CASE\n");
	return 2;
}
