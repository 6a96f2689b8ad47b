/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses a GPU in one of several ways, for the CUDA benches.
 *
 * usage: cuda-bench MODE KERNEL_US [KEY VALUE]...
 *
 * It prints "ready PID" when it begins and runs until its input ends.  Its measurements
 * go to the file that `log` names: "work TIME_NS DONE_US" every 10 ms, if `cal` gave it
 * the number of loops in a microsecond, and for each request "request SUBMITTED_NS
 * RETURNED_NS STARTED_NS", the last by the GPU's own clock. */
#include "cuda-tenant.h"
#include "virtual-clock.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH_US = 10000, /* work that is submitted before the program waits */
	BATCH_MOST = 500,
	WARM_UP = 2048,
	COUNT_BATCH = 100,
	COUNT_CALL_NS = 10000, /* of the virtual clock */
	SAMPLE_MS = 10,
};

static void sleep_until(uint64_t ns)
{
	struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Modes. */

/* One batch is in the queue behind the one that runs. */
static void queue(struct tenant *t)
{
	double n = BATCH_US / t->options.kernel_us;
	unsigned batch = n < 1 ? 1 : n > BATCH_MOST ? BATCH_MOST : (unsigned)n;
	cuda_handle events[2];
	uint64_t launched[2] = {0};

	for (int i = 0; i < 2; i++)
		OK(cuEventCreate(&events[i], 2));
	for (unsigned long round = 0; !atomic_load(&t->ended); round++) {
		for (unsigned i = 0; i < batch; i++)
			work_launch(&t->work, loops_of(t), -1);
		OK(cuEventRecord(events[round % 2], t->work.stream));
		launched[round % 2] = t->work.launched;
		if (round == 0)
			continue;
		OK(cuEventSynchronize(events[(round + 1) % 2]));
		note_done(t, launched[(round + 1) % 2]);
	}
}

static void one_by_one(struct tenant *t)
{
	while (!atomic_load(&t->ended)) {
		work_launch(&t->work, loops_of(t), -1);
		OK(cuStreamSynchronize(t->work.stream));
		note_done(t, t->work.launched);
		if (t->options.gap_us > 0)
			sleep_until(work_now_ns() + (uint64_t)(t->options.gap_us * 1e3));
	}
}

static void request(struct tenant *t, int stamp)
{
	uint64_t submitted_ns = work_now_ns();

	for (uint64_t i = 0; i < t->options.kernels; i++)
		work_launch(&t->work, loops_of(t), i == 0 ? stamp : -1);
	OK(cuStreamSynchronize(t->work.stream));
	fprintf(t->log, "request %llu %llu %llu\n", (unsigned long long)submitted_ns,
		(unsigned long long)work_now_ns(),
		(unsigned long long)t->work.page->stamps[stamp]);
}

/* At this rate, also if a request took longer. */
static void requests(struct tenant *t)
{
	uint64_t next_ns = work_now_ns();

	for (int n = 0; !atomic_load(&t->ended); n++) {
		next_ns += (uint64_t)(1e9 / t->options.hz);
		sleep_until(next_ns);
		request(t, n % WORK_STAMPS);
	}
}

/* A separate function that is not inlined, so that callgrind can count in it alone. */
__attribute__((noinline)) void launch_once(struct work *work, uint64_t loops);

void launch_once(struct work *work, uint64_t loops)
{
	work_launch(work, loops, -1);
}

/* The virtual clock says that each launch takes equally long, and no marker is placed
 * before the program waits. */
static void end_counted(struct tenant *t, uint64_t n)
{
	virtual_clock_advance(COUNT_CALL_NS);
	if (n % COUNT_BATCH == 0)
		OK(cuStreamSynchronize(t->work.stream));
}

static void count(struct tenant *t)
{
	virtual_clock_start();
	for (uint64_t i = 1; i <= WARM_UP; i++) {
		work_launch(&t->work, loops_of(t), -1);
		end_counted(t, i);
		if (i == WARM_UP / 2)
			virtual_clock_settle();
	}
	OK(cuStreamSynchronize(t->work.stream));
	for (uint64_t i = 1; i <= t->options.calls; i++) {
		launch_once(&t->work, loops_of(t));
		end_counted(t, i);
	}
	OK(cuStreamSynchronize(t->work.stream));
}

/* The time of the calling thread for a launch alone: the median of batches.  A batch is
 * behind a first kernel, so that no launch finds the GPU idle and has to wake it. */
static void launches(struct tenant *t)
{
	const uint64_t n = t->options.calls / COUNT_BATCH;
	double *ns = calloc(n, sizeof(ns[0]));

	for (uint64_t round = 0; ns && round < n + WARM_UP / COUNT_BATCH; round++) {
		uint64_t began_ns;

		launch_once(&t->work, loops_of(t));
		began_ns = work_now_ns();
		for (uint64_t i = 0; i < COUNT_BATCH; i++)
			launch_once(&t->work, loops_of(t));
		ns[round % n] = (double)(work_now_ns() - began_ns) / COUNT_BATCH;
		OK(cuStreamSynchronize(t->work.stream));
	}
	if (!ns || n == 0)
		exit(1);
	qsort(ns, n, sizeof(ns[0]), work_compare);
	printf("%.2f\n", ns[n / 2]);
	free(ns);
}

/* Allocates memory and then does nothing. */
static void hold(struct tenant *t)
{
	uint64_t at;

	if (t->options.hold_mib)
		OK(cuMemAlloc_v2(&at, t->options.hold_mib << 20));
	while (!atomic_load(&t->ended))
		sleep(1);
}

/* How late the machine wakes a thread that sleeps until a certain time: median and 99th
 * percentile, in microseconds.  Does not use the GPU. */
static void wakes(struct tenant *t)
{
	uint64_t n = t->options.calls, at = work_now_ns();
	double *us = calloc(n, sizeof(us[0]));

	for (uint64_t i = 0; us && i < n; i++) {
		at += 1000000;
		sleep_until(at);
		us[i] = (double)(work_now_ns() - at) / 1e3;
		if (us[i] > 1000)
			at = work_now_ns();
	}
	if (!us || n == 0)
		exit(1);
	qsort(us, n, sizeof(us[0]), work_compare);
	printf("%.1f %.1f\n", us[n / 2], us[n * 99 / 100]);
	free(us);
}

static void calibrate(struct tenant *t)
{
	printf("%.6f\n", work_calibrate(&t->work));
}

static const struct {
	const char *name;
	void (*run)(struct tenant *tenant);
	enum { GOES_ON, ENDS, ENDS_WITHOUT_GPU } how;
} modes[] = {
	{"queue", queue, GOES_ON},
	{"sync", one_by_one, GOES_ON},
	{"requests", requests, GOES_ON},
	{"hold", hold, GOES_ON},
	{"pipeline", run_pipeline, GOES_ON},
	{"copies-in", run_copies_in, GOES_ON},
	{"copies-within", run_copies_within, GOES_ON},
	{"pipeline-calls", run_pipeline, ENDS},
	{"two-streams-calls", run_two_streams, ENDS},
	{"count", count, ENDS},
	{"launches", launches, ENDS},
	{"calibrate", calibrate, ENDS},
	{"wakes", wakes, ENDS_WITHOUT_GPU},
};

/* Threads beside the mode's own. */

static void *wait_for_the_end(void *arg)
{
	struct tenant *t = arg;
	char rest[64];

	while (read(STDIN_FILENO, rest, sizeof(rest)) > 0)
		;
	atomic_store(&t->ended, 1);
	/* Does not wait for kernels, which may take too long. */
	sleep(1);
	fflush(t->log);
	_exit(0);
}

static void *sample(void *arg)
{
	struct tenant *t = arg;

	for (uint64_t at = work_now_ns();; at += SAMPLE_MS * 1000000u) {
		double done_us;

		sleep_until(at);
		done_us = (double)t->work.page->progress / t->work.loops_per_us;
		fprintf(t->log, "work %llu %.1f\n", (unsigned long long)work_now_ns(),
			done_us);
	}
	return NULL;
}

static void begin(struct tenant *t)
{
	pthread_t thread;

	t->log = fopen(t->options.log ? t->options.log : "/dev/null", "we");
	if (!t->log) {
		perror(t->options.log);
		exit(1);
	}
	setvbuf(t->log, NULL, _IOLBF, 0);
	pthread_create(&thread, NULL, wait_for_the_end, t);
	if (t->options.cal > 0)
		pthread_create(&thread, NULL, sample, t);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

/* Options. */

static void read_option(struct options *o, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t offset;
		int is_whole;
	} keys[] = {
		{"cal", offsetof(struct options, cal), 0},
		{"gap-us", offsetof(struct options, gap_us), 0},
		{"hz", offsetof(struct options, hz), 0},
		{"kernels", offsetof(struct options, kernels), 1},
		{"blocks", offsetof(struct options, blocks), 1},
		{"calls", offsetof(struct options, calls), 1},
		{"hold-mib", offsetof(struct options, hold_mib), 1},
		{"slot-kib", offsetof(struct options, slot_kib), 1},
	};

	if (strcmp(key, "log") == 0) {
		o->log = value;
		return;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *at = (char *)o + keys[i].offset;

		if (strcmp(key, keys[i].key) != 0)
			continue;
		if (keys[i].is_whole)
			*(uint64_t *)(void *)at = strtoull(value, NULL, 10);
		else
			*(double *)(void *)at = strtod(value, NULL);
		return;
	}
	fprintf(stderr, "cuda-bench: there is no option %s\n", key);
	exit(64);
}

static void run(struct tenant *t, const char *mode)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(mode, modes[i].name) != 0)
			continue;
		if (modes[i].how != ENDS_WITHOUT_GPU)
			work_open(&t->work, (unsigned)t->options.blocks);
		if (t->options.cal > 0)
			t->work.loops_per_us = t->options.cal;
		if (modes[i].how == GOES_ON) {
			t->options.calls = 0;
			begin(t);
		}
		modes[i].run(t);
		return;
	}
	fprintf(stderr, "cuda-bench: there is no mode %s\n", mode);
	exit(64);
}

int main(int argc, char **argv)
{
	static struct tenant tenant = {.options = {.kernels = 1,
					       .blocks = 1,
					       .hz = 20,
					       .calls = 20000,
					       .slot_kib = 512}};

	if (argc < 3 || argc % 2 == 0) {
		fprintf(stderr, "usage: cuda-bench MODE KERNEL_US [KEY VALUE]...\n");
		return 64;
	}
	tenant.options.kernel_us = strtod(argv[2], NULL);
	for (int i = 3; i < argc; i += 2)
		read_option(&tenant.options, argv[i], argv[i + 1]);
	run(&tenant, argv[1]);
	return 0;
}
