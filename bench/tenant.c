/* SPDX-License-Identifier: Apache-2.0 */
/* The workload of all benches: a plain OpenCL program that submits kernels in one of
 * several patterns and records for each kernel when the device ran it.  The referee
 * controls it by lines on standard input: "run [NS]" (at that CLOCK_MONOTONIC time),
 * "pause", "alloc BYTES", "free", "quit"; each is answered by one line.  With --processes
 * it forks before it uses OpenCL and relays the lines to its children.
 *
 * It does not know of cleave and judges nothing: the referee evaluates the log. */
#include "tenant.h"
#include "ocl.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { CMD_LINE = 128, WARM_UP_NS = 60 * 1000000 };

enum state { PAUSED, RUNNING, QUITTING };

struct ring {
	cl_event event[TENANT_DEPTH_MAX];
	uint32_t work_ns[TENANT_DEPTH_MAX];
	uint32_t head, count; /* head: the oldest */
};

struct tenant {
	const struct tenant_options *opt;
	struct bench_ocl ocl;
	uint32_t loops[TENANT_KERNELS_MAX];
	struct ring ring;
	uint64_t kernels;    /* completed since the last "run" */
	uint64_t started_ns; /* CLOCK_MONOTONIC_RAW of the last "run" */
	uint32_t random;
	FILE *log;
	pthread_mutex_t lock; /* guards what the command thread sets */
	pthread_cond_t changed;
	_Atomic int state;
	uint64_t start_at_ns;
	size_t alloc_bytes; /* 0: no allocation was requested */
	int free_all;
	cl_mem held;
};

static uint32_t next_random(struct tenant *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	t->random ^= t->random << 5;
	return t->random;
}

/* Between half and one and a half of the mean, so that no pattern synchronizes with the
 * turns. */
static uint64_t jitter_us(struct tenant *t, uint64_t mean_us)
{
	return mean_us / 2 + (mean_us ? next_random(t) % mean_us : 0);
}

static void write_record(struct tenant *t, uint64_t start_ns, uint64_t end_ns,
	uint32_t kind, uint32_t work_ns)
{
	struct tenant_record rec = {start_ns, end_ns, kind, work_ns};

	if (t->log && fwrite(&rec, sizeof(rec), 1, t->log) != 1)
		bench_die("writing the log", errno);
}

/* Each kind gets the same device time: the shorter a kernel, the likelier it is. */
static int choose_kernel(struct tenant *t)
{
	const struct tenant_options *opt = t->opt;
	double sum = 0, at;

	if (opt->kernels == 1)
		return 0;

	for (int i = 0; i < opt->kernels; i++)
		sum += 1.0 / opt->kernel_us[i];
	at = sum * next_random(t) / 4294967296.0;
	for (int i = 0; i < opt->kernels - 1; i++) {
		at -= 1.0 / opt->kernel_us[i];
		if (at < 0)
			return i;
	}
	return opt->kernels - 1;
}

static void submit(struct tenant *t)
{
	struct ring *ring = &t->ring;
	uint32_t slot = (ring->head + ring->count) % TENANT_DEPTH_MAX;
	int k = choose_kernel(t);

	bench_ocl_submit(&t->ocl, t->loops[k], &ring->event[slot]);
	ring->work_ns[slot] = t->opt->kernel_us[k] * 1000;
	ring->count++;
}

/* Waits until at most `keep` kernels are in flight, and records those that are complete.
 */
static void reap(struct tenant *t, uint32_t keep)
{
	struct ring *ring = &t->ring;
	cl_event wait[TENANT_DEPTH_MAX];
	uint64_t start_ns, end_ns;
	uint32_t n = ring->count > keep ? ring->count - keep : 0;
	int r;

	if (!n)
		return;

	for (uint32_t i = 0; i < n; i++)
		wait[i] = ring->event[(ring->head + i) % TENANT_DEPTH_MAX];
	r = keep ? clWaitForEvents(n, wait) : clFinish(t->ocl.queue);
	if (r)
		bench_die("waiting for kernels", r);

	for (uint32_t i = 0; i < n; i++) {
		bench_ocl_times(wait[i], &start_ns, &end_ns);
		clReleaseEvent(wait[i]);
		write_record(t, start_ns, end_ns, TENANT_KERNEL,
			ring->work_ns[(ring->head + i) % TENANT_DEPTH_MAX]);
	}
	ring->head = (ring->head + n) % TENANT_DEPTH_MAX;
	ring->count -= n;
	t->kernels += n;
}

/* Sleeps in short steps, so that "pause" takes effect soon. */
static void sleep_us(struct tenant *t, uint64_t us)
{
	uint64_t until_ns = bench_now_ns() + us * 1000, now_ns;

	while (atomic_load(&t->state) == RUNNING &&
		(now_ns = bench_now_ns()) < until_ns) {
		uint64_t step_ns = until_ns - now_ns;
		struct timespec ts = {0};

		ts.tv_nsec = (long)(step_ns < 50000000 ? step_ns : 50000000);
		nanosleep(&ts, NULL);
	}
}

static void step_deep(struct tenant *t)
{
	submit(t);
	if (t->ring.count >= t->opt->depth)
		reap(t, t->opt->depth / 2);
}

static void step_sync(struct tenant *t)
{
	submit(t);
	reap(t, 0);
}

static void step_gaps(struct tenant *t)
{
	step_sync(t);
	sleep_us(t, t->opt->gap_us);
}

static void step_request(struct tenant *t)
{
	uint64_t begin_ns, end_ns, period_us = 1000000 / t->opt->hz;

	begin_ns = bench_now_ns();
	for (uint32_t done_us = 0; done_us < t->opt->request_us;
		done_us += t->opt->kernel_us[0])
		submit(t);
	clFinish(t->ocl.queue);
	end_ns = bench_now_ns();
	reap(t, 0);
	write_record(t, begin_ns, end_ns, TENANT_REQUEST, 0);

	period_us = jitter_us(t, period_us);
	if (period_us * 1000 > end_ns - begin_ns)
		sleep_us(t, period_us - (end_ns - begin_ns) / 1000);
}

static void step_bursts(struct tenant *t)
{
	uint64_t want_us = jitter_us(t, t->opt->burst_us), begin_ns;

	for (uint64_t us = 0; us < want_us && atomic_load(&t->state) == RUNNING;
		us += t->opt->kernel_us[0])
		step_deep(t);
	reap(t, 0);
	begin_ns = bench_now_ns();
	sleep_us(t, jitter_us(t, t->opt->idle_us));
	write_record(t, begin_ns, bench_now_ns(), TENANT_IDLE, 0);
}

static const struct {
	const char *name;
	void (*step)(struct tenant *t);
} modes[] = {
	[TENANT_DEEP] = {"deep", step_deep},
	[TENANT_SYNC] = {"sync", step_sync},
	[TENANT_GAPS] = {"gaps", step_gaps},
	[TENANT_REQUESTS] = {"request", step_request},
	[TENANT_BURSTS] = {"bursts", step_bursts},
};

int tenant_mode_parse(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(name, modes[i].name) == 0)
			return (int)i;
	return -1;
}

static void answer(const char *line)
{
	fputs(line, stdout);
	fputc('\n', stdout);
	fflush(stdout);
}

static void handle_command(struct tenant *t, const char *line)
{
	pthread_mutex_lock(&t->lock);
	if (strncmp(line, "run", 3) == 0) {
		t->start_at_ns = strtoull(line + 3, NULL, 10);
		atomic_store(&t->state, RUNNING);
	} else if (strncmp(line, "pause", 5) == 0) {
		atomic_store(&t->state, PAUSED);
	} else if (strncmp(line, "alloc ", 6) == 0) {
		t->alloc_bytes = (size_t)strtoull(line + 6, NULL, 10);
	} else if (strncmp(line, "free", 4) == 0) {
		t->free_all = 1;
	} else {
		atomic_store(&t->state, QUITTING);
	}
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void *read_commands(void *userdata)
{
	char line[CMD_LINE];

	while (fgets(line, sizeof(line), stdin))
		handle_command(userdata, line);
	handle_command(userdata, "quit");
	return NULL;
}

static void allocate(struct tenant *t, size_t bytes)
{
	char line[CMD_LINE];
	cl_int r = 0;
	cl_mem mem;

	mem = clCreateBuffer(t->ocl.context, CL_MEM_READ_WRITE, bytes, NULL, &r);
	if (mem && t->held)
		clReleaseMemObject(t->held);
	if (mem)
		t->held = mem;
	snprintf(line, sizeof(line), "alloc %d", r);
	answer(line);
}

static void serve_memory(struct tenant *t)
{
	size_t bytes;
	int free_all;

	pthread_mutex_lock(&t->lock);
	bytes = t->alloc_bytes;
	free_all = t->free_all;
	t->alloc_bytes = 0;
	t->free_all = 0;
	pthread_mutex_unlock(&t->lock);

	if (bytes)
		allocate(t, bytes);
	if (free_all) {
		if (t->held)
			clReleaseMemObject(t->held);
		t->held = NULL;
		answer("freed");
	}
}

static void wait_for_start(struct tenant *t)
{
	struct timespec at;

	if (t->start_at_ns) {
		at.tv_sec = (time_t)(t->start_at_ns / 1000000000u);
		at.tv_nsec = (long)(t->start_at_ns % 1000000000u);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
			EINTR)
			;
	}
	t->kernels = 0;
	t->started_ns = bench_now_ns();
}

static void maybe_idle_at(struct tenant *t, int *idled)
{
	uint64_t ran_ns = bench_now_ns() - t->started_ns, begin_ns;

	if (*idled || ran_ns < (uint64_t)t->opt->idle_at_ms * 1000000)
		return;

	reap(t, 0);
	begin_ns = bench_now_ns();
	sleep_us(t, (uint64_t)t->opt->idle_for_ms * 1000);
	write_record(t, begin_ns, bench_now_ns(), TENANT_IDLE, 0);
	*idled = 1;
}

static void run_block(struct tenant *t)
{
	char line[CMD_LINE];
	int idled = t->opt->idle_for_ms == 0;

	answer("running");
	wait_for_start(t);
	while (atomic_load(&t->state) == RUNNING) {
		modes[t->opt->mode].step(t);
		if (!idled)
			maybe_idle_at(t, &idled);
		if (t->alloc_bytes || t->free_all)
			serve_memory(t);
	}
	reap(t, 0);
	if (t->log)
		fflush(t->log);
	if (atomic_load(&t->state) != QUITTING) {
		snprintf(line, sizeof(line), "paused %llu",
			(unsigned long long)t->kernels);
		answer(line);
	}
}

static void serve(struct tenant *t)
{
	for (;;) {
		int state, memory;

		pthread_mutex_lock(&t->lock);
		while (atomic_load(&t->state) == PAUSED && !t->alloc_bytes &&
			!t->free_all)
			pthread_cond_wait(&t->changed, &t->lock);
		state = atomic_load(&t->state);
		memory = t->alloc_bytes || t->free_all;
		pthread_mutex_unlock(&t->lock);

		if (memory)
			serve_memory(t);
		if (state == QUITTING)
			return;
		if (state == RUNNING)
			run_block(t);
	}
}

static void warm_up(struct tenant *t)
{
	uint64_t until_ns = bench_now_ns() + WARM_UP_NS;

	do {
		for (int k = 0; k < t->opt->kernels; k++)
			bench_ocl_submit(&t->ocl, t->loops[k], NULL);
		clFinish(t->ocl.queue);
	} while (bench_now_ns() < until_ns);
}

int tenant_calibrate(void)
{
	struct bench_ocl ocl;
	struct bench_cal cal;

	bench_ocl_open(&ocl, 0);
	cal = bench_ocl_calibrate(&ocl);
	printf("cal %llu %.6f\n", (unsigned long long)cal.base_ns, cal.loops_per_us);
	bench_ocl_close(&ocl);
	return 0;
}

int tenant_main(const struct tenant_options *opt, int process)
{
	static struct tenant t = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	char path[4096], line[CMD_LINE];
	struct bench_cal cal = opt->cal;
	pthread_t commands;

	prctl(PR_SET_TIMERSLACK, 1000);
	t.opt = opt;
	t.random = 2463534242u + opt->seed * 7919u + (uint32_t)process * 104729u;
	bench_ocl_open(&t.ocl, opt->out_of_order);
	if (cal.loops_per_us <= 0)
		cal = bench_ocl_calibrate(&t.ocl);
	for (int k = 0; k < opt->kernels; k++)
		t.loops[k] = bench_cal_loops(&cal, opt->kernel_us[k]);

	if (opt->log) {
		snprintf(path, sizeof(path), "%s.%d", opt->log, process);
		t.log = fopen(path, "we");
		if (!t.log)
			bench_die("opening the log", errno);
		setvbuf(t.log, NULL, _IOFBF, 1 << 16);
	}
	warm_up(&t);
	if (pthread_create(&commands, NULL, read_commands, &t))
		bench_die("pthread_create", errno);

	snprintf(line, sizeof(line), "ready %d", (int)getpid());
	answer(line);
	serve(&t);
	if (t.log)
		fclose(t.log);
	bench_ocl_close(&t.ocl);
	return 0;
}
