/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of durations and of order. */

static float elapsed(handle a, handle b)
{
	float ms;

	OK(cuEventElapsedTime(&ms, a, b));
	return ms;
}

static handle event(void)
{
	handle e;

	OK(cuEventCreate(&e, 0));
	return e;
}

static handle stream(unsigned flags)
{
	handle s;

	OK(cuStreamCreate(&s, flags));
	return s;
}

/* A hundred kernels of 20 us take exactly 2 ms. */
static void exact(void)
{
	handle a, b, s, us20;

	begin();
	a = event();
	b = event();
	s = stream(1);
	us20 = kernel("us20");
	launch(kernel("ms20"), s, 0, 0);
	OK(cuEventRecord(a, s));
	for (int i = 0; i < 100; i++)
		launch(us20, s, 0, 0);
	OK(cuEventRecord(b, s));
	IS(600, cuEventQuery(b));
	IS(600, cuStreamQuery(s));
	OK(cuEventSynchronize(b));
	OK(cuStreamQuery(s));
	CHECK(elapsed(a, b) == 2.0F);
	CHECK(stat_of("process", "run_ns") == 22000000);
	CHECK(stat_of("process", "launches") == 101);
}

/* The call returns soon after the kernel's end, and polling sees it too. */
static void real_clock(void)
{
	handle s, spin;
	uint64_t start;

	begin();
	s = stream(1);
	spin = kernel("spin");
	start = now_ns();
	launch(spin, s, 5000000, 0);
	OK(cuStreamSynchronize(s));
	BETWEEN(5000000, now_ns() - start, 25000000);
	start = now_ns();
	launch(spin, s, 5000000, 0);
	while (cuStreamQuery(s))
		;
	BETWEEN(5000000, now_ns() - start, 25000000);
}

/* More commands than the queue has room for: calls block, no command is lost. */
static void full_rate(void)
{
	handle a, b, us20;
	uint64_t start;

	begin();
	a = event();
	b = event();
	us20 = kernel("us20");
	start = now_ns();
	OK(cuEventRecord(a, NULL));
	launch(kernel("ms1"), NULL, 0, 0);
	for (int i = 0; i < 5000; i++)
		launch(us20, NULL, 0, 0);
	CHECK(now_ns() - start > 50000000);
	OK(cuEventRecord(b, NULL));
	OK(cuCtxSynchronize());
	CHECK(elapsed(a, b) >= 101.0F);
	CHECK(stat_of("process", "run_ns") == 101000000);
}

static void cost(void)
{
	handle s, f;
	uint64_t start, best = UINT64_MAX;

	begin();
	s = stream(1);
	f = kernel("us20");
	launch(kernel("ms20"), s, 0, 0);
	for (int round = 0; round < 9; round++) {
		start = now_ns();
		for (int i = 0; i < 100; i++)
			launch(f, s, 0, 0);
		start = (now_ns() - start) / 100;
		best = start < best ? start : best;
	}
	printf("# a launch costs %llu ns\n", (unsigned long long)best);
	fflush(stdout);
	CHECK(best < 2000);
	OK(cuCtxSynchronize());
}

static void default_streams(void)
{
	handle blocking, other, a, b, c;

	begin();
	blocking = stream(0);
	other = stream(1);
	a = event();
	b = event();
	c = event();
	launch(kernel("spin"), blocking, 4000000, 0);
	launch(kernel("spin"), other, 30000000, 0);
	OK(cuEventRecord(a, NULL));
	OK(cuEventRecord(b, blocking));
	OK(cuEventRecord(c, other));
	OK(cuEventSynchronize(b));
	IS(600, cuEventQuery(c));
	CHECK(elapsed(a, b) == 0.0F);
	OK(cuEventSynchronize(c));
	CHECK(elapsed(a, c) == 30.0F);
}

static void events_between_streams(void)
{
	handle s = NULL, t, e, f, stray;

	begin();
	s = stream(1);
	t = stream(1);
	e = event();
	f = event();
	stray = event();
	launch(kernel("ms20"), s, 0, 0);
	OK(cuEventRecord(e, s));
	OK(cuStreamWaitEvent(t, e, 0));
	OK(cuStreamWaitEvent(t, stray, 0));
	OK(cuEventRecord(f, t));
	OK(cuStreamDestroy_v2(s));
	IS(400, cuStreamSynchronize(s));
	OK(cuStreamSynchronize(t));
	CHECK(elapsed(e, f) == 0.0F);
	IS(400, cuEventElapsedTime(&(float){0}, e, stray));
	OK(cuEventQuery(stray));
	OK(cuEventDestroy_v2(e));
	IS(400, cuEventRecord(e, t));
}

static int order[4], n_order;

static void note(void *user)
{
	order[n_order++] = (int)(intptr_t)user;
}

static void host_functions(void)
{
	handle s;
	uint32_t seen = 0;
	dptr p;

	begin();
	s = stream(1);
	OK(cuMemAlloc_v2(&p, 4));
	OK(cuLaunchHostFunc(s, note, (void *)1));
	launch(kernel("ms1"), s, 0, 0);
	launch(kernel("store"), s, p, 77);
	OK(cuMemcpyDtoHAsync_v2(&seen, p, 4, s));
	OK(cuLaunchHostFunc(s, note, (void *)2));
	OK(cuStreamSynchronize(s));
	CHECK(n_order == 2 && order[0] == 1 && order[1] == 2 && seen == 77);
}

static void values(void)
{
	handle s, t;
	volatile uint32_t *word;
	void *p;

	begin();
	s = stream(1);
	t = stream(1);
	OK(cuMemHostAlloc(&p, 8, 0));
	word = p;
	OK(cuStreamWaitValue32_v2(s, (dptr)(uintptr_t)p, 5, 1));
	OK(cuStreamWriteValue32_v2(s, (dptr)(uintptr_t)p + 4, 9, 0));
	launch(kernel("ms1"), t, 0, 0);
	OK(cuStreamSynchronize(t));
	IS(600, cuStreamQuery(s));
	*word = 5;
	/* Without a call of the program, the helper writes it. */
	for (int i = 0; i < 2000 && word[1] != 9; i++)
		sleep_ms(1);
	CHECK(word[1] == 9);
	OK(cuStreamSynchronize(s));
}

/* Two processes alternate by slices. */
static void child_floods(void)
{
	handle us20;

	begin();
	us20 = kernel("us20");
	for (int i = 0; i < 10000; i++)
		launch(us20, NULL, 0, 0);
	OK(cuCtxSynchronize());
	_exit(0);
}

static void two_processes(void)
{
	pid_t pids[2];
	long long first, second, switches;

	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			child_floods();
	}
	sleep_ms(200);
	first = stat_of("group 1 ", "run_ns");
	second = stat_of("group 2 ", "run_ns");
	switches = stat_of("gpu 0", "switches");
	CHECK(first > 30000000 && second > 30000000);
	BETWEEN(0.8, (double)first / (double)second, 1.25);
	CHECK(switches > 60);
	for (int i = 0; i < 2; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		CHECK(status == 0);
	}
	CHECK(stat_of("gpu 0", "busy_ns") == 400000000);
	CHECK(stat_of("gpu 0", "used") == 0);
}

/* A kernel longer than a slice is preempted in its middle. */
static void preempted(void)
{
	uint64_t start;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		begin();
		launch(kernel("spin"), NULL, 300000000, 0);
		OK(cuCtxSynchronize());
		_exit(0);
	}
	while (stat_of("gpu 0", "busy_ns") <= 0)
		sleep_ms(1);
	begin();
	start = now_ns();
	launch(kernel("us20"), NULL, 0, 0);
	OK(cuCtxSynchronize());
	BETWEEN(20000, now_ns() - start, 20000000);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
}

static void launch_own(void)
{
	OK(cuLaunchKernel_ptsz(kernel("us20"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

#define OWN ((handle)2)

static void *other_thread(void *ctx)
{
	OK(cuCtxSetCurrent(ctx));
	launch_own();
	OK(cuStreamSynchronize(OWN));
	return NULL;
}

static void per_thread(void)
{
	pthread_t thread;
	handle ctx;
	void *p;

	begin();
	OK(cuCtxGetCurrent(&ctx));
	OK(cuMemHostAlloc(&p, 8, 0));
	/* The default stream of another thread is another stream. */
	OK(cuStreamWaitValue32_v2(OWN, (dptr)(uintptr_t)p, 1, 1));
	CHECK(pthread_create(&thread, NULL, other_thread, ctx) == 0);
	pthread_join(thread, NULL);
	IS(600, cuStreamQuery(OWN));
	*(volatile int *)p = 1;
	OK(cuStreamSynchronize(OWN));
	/* The per-thread stream waits for the legacy one. */
	OK(cuStreamWaitValue32_v2(NULL, (dptr)(uintptr_t)p + 4, 1, 1));
	launch_own();
	sleep_ms(5);
	IS(600, cuStreamQuery(OWN));
	*((volatile int *)p + 1) = 1;
	OK(cuStreamSynchronize(OWN));
}

/* The event is behind the current work of all threads, and nothing later. */
static void event_of_context(void)
{
	volatile uint32_t *words;
	handle ctx, e = NULL, s, graph;
	pthread_t thread;
	void *p;

	begin();
	OK(cuCtxGetCurrent(&ctx));
	OK(cuMemHostAlloc(&p, 8, 0));
	words = p;
	words[0] = words[1] = 0;
	s = stream(1);
	OK(cuEventCreate(&e, 2));
	OK(cuStreamWaitValue32_v2(s, (dptr)(uintptr_t)p, 1, 0));
	CHECK(pthread_create(&thread, NULL, other_thread, ctx) == 0);
	pthread_join(thread, NULL);
	OK(cuCtxRecordEvent(ctx, e));
	OK(cuStreamWaitValue32_v2(s, (dptr)(uintptr_t)p + 4, 1, 0));
	sleep_ms(5);
	IS(600, cuEventQuery(e));
	words[0] = 1;
	OK(cuEventSynchronize(e));
	IS(600, cuStreamQuery(s));
	OK(cuStreamWaitEvent(stream(1), e, 0));
	words[1] = 1;
	OK(cuCtxSynchronize());
	IS(400, cuCtxRecordEvent(NULL, e));
	OK(cuStreamBeginCapture_v2(s, 2));
	IS(900, cuCtxRecordEvent(ctx, e));
	IS(901, cuStreamEndCapture(s, &graph));
}

static void trace(void)
{
	char *text, name[32];
	unsigned long long a, b, c, d;
	volatile uint32_t *word;
	void *p;

	begin();
	OK(cuMemHostAlloc(&p, sizeof(*word), 0));
	word = p;
	*word = 0;
	/* Both are there before the first one begins. */
	OK(cuStreamWaitValue32_v2(NULL, (dptr)(uintptr_t)p, 1, 0));
	launch(kernel("ms1"), NULL, 0, 0);
	launch(kernel("us20"), NULL, 0, 0);
	*word = 1;
	OK(cuCtxSynchronize());
	text = ask("trace");
	CHECK(sscanf(text, "%*d 0 1 0 %31s %llu %llu %*d 0 1 0 us20 %llu %llu", name, &a,
		      &b, &c, &d) == 5);
	CHECK(strcmp(name, "ms1") == 0 && b - a == 1000000 && c == b && d - c == 20000);
}

const struct case_of_test time_cases[] = {
	{"exact", exact, NULL, NULL},
	{"real-clock", real_clock, NULL, NULL},
	{"full-rate", full_rate, NULL, NULL},
	{"cost", cost, NULL, NULL},
	{"default-streams", default_streams, NULL, NULL},
	{"events-between-streams", events_between_streams, NULL, NULL},
	{"host-functions", host_functions, NULL, NULL},
	{"values", values, NULL, NULL},
	{"two-processes", two_processes, NULL, NULL},
	{"preempted", preempted, NULL, NULL},
	{"per-thread", per_thread, NULL, NULL},
	{"event-of-context", event_of_context, NULL, NULL},
	{"trace", trace, "trace\n", NULL},
	{0},
};
