/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with several streams.  Most measure for how long each of their calls keeps the
 * calling thread, without what the machine adds: a call in which the thread did not sleep
 * counts with its processor time.  From the duration of a call in which it slept the time
 * is subtracted for which threads of the process waited for a processor, because the
 * thread may have waited for one of them. */
#include "cuda-tenant.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
	SLOTS = 4,         /* slots of a pipeline */
	LONG_KERNELS = 50, /* short kernels that take as long as the one long kernel */
	PAGE_LOCKED = 0,
	NO_TIMING = 2,
	NON_BLOCKING = 1,
	FEW_US = 100, /* longer calls are printed */
};

/* Calls. */

struct moment {
	uint64_t wall_ns, cpu_ns;
	long n_sleeps;
};

static struct moment now(void)
{
	struct timespec cpu;
	struct rusage usage;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	getrusage(RUSAGE_THREAD, &usage);
	return (struct moment){
		.wall_ns = work_now_ns(),
		.cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec,
		.n_sleeps = usage.ru_nvcsw,
	};
}

struct calls {
	uint64_t n, queued_ns;
	struct moment began;
	/* If not, the program does what it does without being asked about its calls:
	 * reading the system's figures delays its next submission. */
	bool are_measured;
};

static uint64_t queued_ns_of(const char *thread)
{
	unsigned long long on_ns, queued_ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/schedstat", thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &on_ns, &queued_ns) != 2)
		queued_ns = 0;
	fclose(file);
	return queued_ns;
}

/* The time for which threads of the process have waited for a processor, in all. */
static uint64_t queued_ns(void)
{
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *each;
	uint64_t sum = 0;

	while (threads && (each = readdir(threads))) {
		if (each->d_name[0] != '.')
			sum += queued_ns_of(each->d_name);
	}
	if (threads)
		closedir(threads);
	return sum;
}

/* To be called before a few calls. */
static void calls_begin(struct calls *calls)
{
	if (calls->are_measured)
		calls->queued_ns = queued_ns();
}

static void call_begin(struct calls *calls)
{
	if (calls->are_measured)
		calls->began = now();
}

static uint64_t less(uint64_t ns, uint64_t by_ns)
{
	return ns > by_ns ? ns - by_ns : 0;
}

static void call_end(struct calls *calls)
{
	struct moment end;
	uint64_t ns;

	calls->n++;
	if (!calls->are_measured)
		return;
	end = now();
	ns = end.cpu_ns - calls->began.cpu_ns;
	if (end.n_sleeps > calls->began.n_sleeps)
		ns = end.wall_ns - calls->began.wall_ns;
	if (ns > FEW_US * 1000 && end.n_sleeps > calls->began.n_sleeps)
		ns = less(ns, queued_ns() - calls->queued_ns);
	if (ns > FEW_US * 1000)
		printf("%llu %llu\n", (unsigned long long)calls->n - 1,
			(unsigned long long)ns / 1000);
}

#define TIMED(calls, call)         \
	do {                       \
		call_begin(calls); \
		OK(call);          \
		call_end(calls);   \
	} while (0)

static void launch(
	struct tenant *t, struct calls *calls, cuda_handle stream, uint64_t loops)
{
	call_begin(calls);
	work_launch_in(&t->work, stream, loops, -1);
	call_end(calls);
}

static int goes_on(struct tenant *t, const struct calls *calls)
{
	return !atomic_load(&t->ended) &&
	       (t->options.calls == 0 || calls->n < t->options.calls);
}

static void tell(const struct tenant *t, const struct calls *calls)
{
	if (t->options.calls > 0)
		printf("calls %llu\n", (unsigned long long)calls->n);
}

/* A pipeline: input is copied in, computed with and copied out, each in a stream of its
 * own. */

struct slot {
	void *host;
	uint64_t device, launched;
	cuda_handle is_in, is_computed, is_out;
};

struct pipeline {
	cuda_handle in, compute, out;
	struct slot slots[SLOTS];
	struct calls calls;
};

static void open_pipeline(struct pipeline *p, size_t bytes)
{
	OK(cuStreamCreate(&p->in, NON_BLOCKING));
	OK(cuStreamCreate(&p->compute, NON_BLOCKING));
	OK(cuStreamCreate(&p->out, NON_BLOCKING));
	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &p->slots[i];

		OK(cuMemHostAlloc(&slot->host, bytes, PAGE_LOCKED));
		OK(cuMemAlloc_v2(&slot->device, bytes));
		OK(cuEventCreate(&slot->is_in, NO_TIMING));
		OK(cuEventCreate(&slot->is_computed, NO_TIMING));
		OK(cuEventCreate(&slot->is_out, NO_TIMING));
	}
}

static void pass_through(
	struct tenant *t, struct pipeline *p, struct slot *slot, size_t bytes)
{
	struct calls *calls = &p->calls;

	calls_begin(calls);
	TIMED(calls, cuMemcpyHtoDAsync_v2(slot->device, slot->host, bytes, p->in));
	OK(cuEventRecord(slot->is_in, p->in));
	OK(cuStreamWaitEvent(p->compute, slot->is_in, 0));
	launch(t, calls, p->compute, loops_of(t));
	OK(cuEventRecord(slot->is_computed, p->compute));
	OK(cuStreamWaitEvent(p->out, slot->is_computed, 0));
	TIMED(calls, cuMemcpyDtoHAsync_v2(slot->host, slot->device, bytes, p->out));
	OK(cuEventRecord(slot->is_out, p->out));
	slot->launched = t->work.launched;
}

void run_pipeline(struct tenant *t)
{
	const size_t bytes = t->options.slot_kib << 10;
	static struct pipeline p;

	open_pipeline(&p, bytes);
	p.calls.are_measured = t->options.calls > 0;
	for (unsigned long i = 0; goes_on(t, &p.calls); i++) {
		struct slot *slot = &p.slots[i % SLOTS];

		if (i >= SLOTS) {
			OK(cuEventSynchronize(slot->is_out));
			note_done(t, slot->launched);
		}
		pass_through(t, &p, slot, bytes);
	}
	tell(t, &p.calls);
}

/* In each round one stream has a kernel that is as long as all kernels of the other
 * stream together. */
void run_two_streams(struct tenant *t)
{
	cuda_handle streams[2], events[2][2];
	struct calls calls = {.are_measured = t->options.calls > 0};

	for (int i = 0; i < 2; i++) {
		OK(cuStreamCreate(&streams[i], NON_BLOCKING));
		OK(cuEventCreate(&events[i][0], NO_TIMING));
		OK(cuEventCreate(&events[i][1], NO_TIMING));
	}
	for (unsigned long round = 0; goes_on(t, &calls); round++) {
		cuda_handle *done = events[round % 2];

		for (int i = 0; i < 2 && round >= 2; i++)
			OK(cuEventSynchronize(done[i]));
		calls_begin(&calls);
		launch(t, &calls, streams[0], LONG_KERNELS * loops_of(t));
		for (int i = 0; i < LONG_KERNELS; i++)
			launch(t, &calls, streams[1], loops_of(t));
		for (int i = 0; i < 2; i++)
			OK(cuEventRecord(done[i], streams[i]));
	}
	tell(t, &calls);
}

/* Copies. */

enum { COPY_STREAMS = 4, COPIES_AHEAD = 32 };

struct copying {
	uint64_t to, from;
	void *host;
	size_t bytes;
};

static void copy(const struct copying *c, cuda_handle stream)
{
	if (c->host)
		OK(cuMemcpyHtoDAsync_v2(c->to, c->host, c->bytes, stream));
	else
		OK(cuMemcpyDtoDAsync_v2(c->to, c->from, c->bytes, stream));
}

/* Each stream has two batches in flight. */
static void copy_on(struct tenant *t, const struct copying *c)
{
	cuda_handle streams[COPY_STREAMS], ends[2 * COPY_STREAMS];

	for (int i = 0; i < COPY_STREAMS; i++)
		OK(cuStreamCreate(&streams[i], NON_BLOCKING));
	for (int i = 0; i < 2 * COPY_STREAMS; i++)
		OK(cuEventCreate(&ends[i], NO_TIMING));
	for (unsigned long round = 0; !atomic_load(&t->ended); round++) {
		cuda_handle stream = streams[round % COPY_STREAMS];
		cuda_handle end = ends[round % (2 * COPY_STREAMS)];

		if (round >= 2 * COPY_STREAMS)
			OK(cuEventSynchronize(end));
		for (int i = 0; i < COPIES_AHEAD; i++)
			copy(c, stream);
		OK(cuEventRecord(end, stream));
	}
}

void run_copies_in(struct tenant *t)
{
	struct copying c = {.bytes = t->options.slot_kib << 10};

	OK(cuMemAlloc_v2(&c.to, c.bytes));
	OK(cuMemHostAlloc(&c.host, c.bytes, PAGE_LOCKED));
	copy_on(t, &c);
}

void run_copies_within(struct tenant *t)
{
	struct copying c = {.bytes = t->options.slot_kib << 10};

	OK(cuMemAlloc_v2(&c.to, c.bytes));
	OK(cuMemAlloc_v2(&c.from, c.bytes));
	copy_on(t, &c);
}
