/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>
#include <string.h>

/* Concurrency on the GPU: kernels of different streams as far as there are
 * multiprocessors, kernels that wait for words, and copies beside them. The GPU is an
 * H100 with 132 multiprocessors. */

static handle module;

static const char image[] = "cleave-double-module\n"
			    "kernel all 4000000\n"
			    "kernel one 4000000 units 1\n"
			    "kernel us20 20000 units 1\n"
			    "kernel half param units 66\n"
			    "kernel most 4000000 units 88\n"
			    "kernel store store\n"
			    "kernel await await 1000 units 1\n"
			    "kernel await-all await\n"
			    "kernel relay relay 1000 units 1\n"
			    "kernel serve serve 1000 units 2\n";

static handle function(const char *name)
{
	handle f;

	if (!module)
		OK(cuModuleLoadData(&module, image));
	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

static handle stream_of(unsigned flags, int priority)
{
	handle s;

	OK(cuStreamCreateWithPriority(&s, flags, priority));
	return s;
}

static handle stream(void)
{
	return stream_of(1, 0);
}

static handle record(handle s)
{
	handle e;

	OK(cuEventCreate(&e, 0));
	OK(cuEventRecord(e, s));
	return e;
}

static float elapsed(handle a, handle b)
{
	float ms;

	OK(cuEventSynchronize(a));
	OK(cuEventSynchronize(b));
	OK(cuEventElapsedTime(&ms, a, b));
	return ms;
}

static void run(handle f, handle s)
{
	launch(f, s, 0, 0);
}

struct spin_args {
	dptr at;
	uint32_t value;
	dptr out;
	uint32_t out_value, turns;
};

static void spin(handle f, handle s, struct spin_args a)
{
	void *params[] = {&a.at, &a.value, &a.out, &a.out_value, &a.turns};

	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

struct kernel_params {
	handle f;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	handle kernel, ctx;
};

static handle node(
	handle graph, const handle *after, size_t n, const char *name, struct spin_args a)
{
	void *params[] = {&a.at, &a.value, &a.out, &a.out_value, &a.turns};
	struct kernel_params p = {.f = function(name),
		.grid = {1, 1, 1},
		.block = {1, 1, 1},
		.params = params};
	handle made;

	OK(cuGraphAddKernelNode_v2(&made, graph, after, n, &p));
	return made;
}

/* A gate in front of the streams, so that the commands behind it start at the same
 * time. */
static volatile uint32_t *gate;

static void hold(handle s)
{
	void *p;

	if (!gate) {
		OK(cuMemHostAlloc(&p, 64, 0));
		gate = p;
	}
	*gate = 0;
	OK(cuStreamWaitValue32_v2(s, (dptr)(uintptr_t)gate, 1, 0));
}

/* Runs two kernels of two streams from the same start; returns the time from the gate to
 * the end of each. */
static void race(handle one, handle other, float *ret_one, float *ret_other)
{
	handle s = stream(), t = stream(), start, first, second;

	hold(s);
	start = record(s);
	OK(cuStreamWaitEvent(t, start, 0));
	launch(one, s, 4000000, 0);
	launch(other, t, 4000000, 0);
	first = record(s);
	second = record(t);
	*gate = 1;
	*ret_one = elapsed(start, first);
	*ret_other = elapsed(start, second);
}

static void units(void)
{
	float one, other;
	long long before;

	begin();
	race(function("half"), function("half"), &one, &other);
	CHECK(one == 4.0F && other == 4.0F);
	/* The GPU and the group were busy for as long as one of the kernels took. */
	CHECK(stat_of("gpu 0", "busy_ns") == 4000000);
	before = stat_of("process", "run_ns");
	CHECK(before == 4000000 && stat_of("process", "launches") == 2);
	/* Two kernels that both need the whole GPU run one after the other. */
	race(function("all"), function("all"), &one, &other);
	CHECK(one == 4.0F && other == 8.0F);
	/* So do two of one stream, however small. */
	{
		handle s = stream(), a = record(s), b;

		run(function("one"), s);
		run(function("one"), s);
		b = record(s);
		CHECK(elapsed(a, b) >= 8.0F);
	}
}

/* 88 and the 44 that are left; then the second kernel gets all that it needs. */
static void remaining_units(void)
{
	float one, other;

	begin();
	race(function("most"), function("most"), &one, &other);
	CHECK(one == 4.0F && other == 6.0F);
	/* A kernel starts on the multiprocessors that a small one leaves free. */
	race(function("one"), function("all"), &one, &other);
	CHECK(one == 4.0F);
	BETWEEN(4.02, other, 4.04);
}

static void priorities(void)
{
	handle s[3], ended[3], start;

	begin();
	for (int i = 0; i < 3; i++)
		s[i] = stream_of(1, i < 2 ? 0 : -5);
	hold(s[0]);
	start = record(s[0]);
	for (int i = 1; i < 3; i++)
		OK(cuStreamWaitEvent(s[i], start, 0));
	for (int i = 0; i < 3; i++) {
		run(function("all"), s[i]);
		ended[i] = record(s[i]);
	}
	*gate = 1;
	CHECK(elapsed(start, ended[2]) == 4.0F);
	CHECK(elapsed(start, ended[0]) == 8.0F);
	CHECK(elapsed(start, ended[1]) == 12.0F);
}

/* One stream's kernel waits for a kernel of another, and signals a third; the copy behind
 * it sees the memory as of its end. */
static void spinning(void)
{
	handle s, t, u;
	uint32_t *seen;
	void *host;
	dptr p;

	begin();
	OK(cuMemHostAlloc(&host, 16, 0));
	seen = host;
	s = stream();
	t = stream();
	u = stream();
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD32_v2(p, 0, 16));
	OK(cuCtxSynchronize());
	spin(function("relay"), s, (struct spin_args){p, 1, p + 4, 7, 0});
	spin(function("await"), t, (struct spin_args){.at = p + 4, .value = 7});
	OK(cuMemcpyDtoHAsync_v2(seen, p, 16, t));
	sleep_ms(20);
	IS(600, cuStreamQuery(s));
	IS(600, cuStreamQuery(t));
	/* Other kernels run beside the waiting ones. */
	run(function("all"), u);
	OK(cuMemsetD32_v2(p + 8, 5, 1));
	OK(cuStreamSynchronize(u));
	launch(function("store"), u, p, 1);
	OK(cuStreamSynchronize(t));
	OK(cuStreamSynchronize(s));
	CHECK(seen[0] == 1 && seen[1] == 7 && seen[2] == 5);
}

/* A waiting kernel ends by a copy, by a fill, by the front end, or by the host. */
static void waking(void)
{
	static const uint32_t one = 1;
	handle s, t, f;
	volatile uint32_t *host;
	void *p;
	dptr d;

	begin();
	s = stream();
	t = stream();
	f = function("await");
	OK(cuMemHostAlloc(&p, 64, 0));
	host = p;
	OK(cuMemAlloc_v2(&d, 64));
	OK(cuMemsetD32_v2(d, 0, 16));
	for (int i = 0; i < 4; i++)
		spin(f, i ? stream() : s,
			(struct spin_args){
				.at = i < 3 ? d + 4 * (dptr)i : (dptr)(uintptr_t)p,
				.value = 1});
	OK(cuMemcpyHtoDAsync_v2(d, &one, 4, t));
	OK(cuMemsetD32Async(d + 4, 1, 1, t));
	OK(cuStreamWriteValue32_v2(t, d + 8, 1, 0));
	host[0] = 1;
	OK(cuCtxSynchronize());
	CHECK(stat_of("process", "launches") >= 5);
}

/* A persistent kernel, fed and read through host memory. */
static void persistent(void)
{
	handle s, other;
	volatile uint32_t *word;
	void *p;

	begin();
	s = stream();
	other = stream();
	OK(cuMemHostAlloc(&p, 64, 0));
	word = p;
	spin(function("serve"), s,
		(struct spin_args){
			(dptr)(uintptr_t)p, 1, (dptr)(uintptr_t)p + 4, 101, 100});
	for (uint32_t i = 1; i <= 100; i++) {
		if (i == 50) {
			run(function("one"), other);
			OK(cuStreamSynchronize(other));
		}
		CHECK(word[1] == (i > 1 ? 99 + i : 0));
		word[0] = i;
		while (word[1] != 100 + i)
			sleep_ms(0);
	}
	OK(cuStreamSynchronize(s));
	CHECK(stat_of("process", "launches") == 2);
}

/* A waiting kernel keeps its multiprocessors, and a kernel that needs them waits. */
static void holds_its_units(void)
{
	volatile uint32_t *word;
	void *p;
	handle s, t;

	begin();
	s = stream();
	t = stream();
	OK(cuMemHostAlloc(&p, 64, 0));
	word = p;
	spin(function("await-all"), s,
		(struct spin_args){.at = (dptr)(uintptr_t)p, .value = 1});
	run(function("one"), t);
	sleep_ms(30);
	IS(600, cuStreamQuery(t));
	CHECK(stat_of("process", "run_ns") > 20000000);
	word[0] = 1;
	OK(cuStreamSynchronize(t));
	OK(cuStreamSynchronize(s));
}

/* Branches of a graph run concurrently, and one may wait for another; a node that comes
 * after both waits for both. A graph with more branches than streams also completes. */
static void branches(void)
{
	handle graph, exec, s, root, both[2], start, end;
	struct spin_args ns = {.at = 4000000};
	dptr p;

	begin();
	s = stream();
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD32_v2(p, 0, 16));
	OK(cuGraphCreate(&graph, 0));
	root = node(graph, NULL, 0, "us20", ns);
	for (int i = 0; i < 2; i++) {
		both[i] = node(graph, &root, 1, "half", ns);
		both[i] = node(graph, &both[i], 1, "half", ns);
	}
	node(graph, both, 2, "us20", ns);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	hold(s);
	start = record(s);
	OK(cuGraphLaunch(exec, s));
	end = record(s);
	*gate = 1;
	CHECK(elapsed(start, end) == 8.04F);
	CHECK(stat_of("process", "launches") == 7); /* and the fill */

	node(graph, &root, 1, "await", (struct spin_args){.at = p, .value = 1});
	root = node(graph, &root, 1, "relay", (struct spin_args){p + 4, 1, p, 1, 0});
	node(graph, NULL, 0, "relay", (struct spin_args){p + 8, 0, p + 4, 1, 0});
	for (int i = 0; i < 20; i++)
		node(graph, i % 2 ? &root : NULL, i % 2, "us20", ns);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, i ? s : NULL));
	OK(cuStreamSynchronize(s));
	CHECK(stat_of("process", "launches") == 7 + 3 * (6 + 3 + 20));
}

/* --- Copies --- */

#define COPIED ((size_t)80 << 20) /* 4.19 ms at 20 GB/s */

static void copies(void)
{
	handle s[3], start, ended[3];
	void *host[2];
	dptr d[2];

	begin();
	for (int i = 0; i < 3; i++)
		s[i] = stream();
	for (int i = 0; i < 2; i++) {
		OK(cuMemHostAlloc(&host[i], COPIED, 0));
		OK(cuMemAlloc_v2(&d[i], COPIED));
	}
	hold(s[0]);
	start = record(s[0]);
	OK(cuStreamWaitEvent(s[1], start, 0));
	OK(cuStreamWaitEvent(s[2], start, 0));
	run(function("all"), s[0]);
	OK(cuMemcpyHtoDAsync_v2(d[0], host[0], COPIED, s[1]));
	OK(cuMemcpyDtoHAsync_v2(host[1], d[1], COPIED, s[2]));
	for (int i = 0; i < 3; i++)
		ended[i] = record(s[i]);
	*gate = 1;
	CHECK(elapsed(start, ended[0]) == 4.0F);
	BETWEEN(4.19, elapsed(start, ended[1]), 4.2);
	BETWEEN(4.19, elapsed(start, ended[2]), 4.2);
}

/* --- The order of streams --- */

/* A value that one stream waits for delays no other stream, whether the front end or a
 * host function waits for it. */
static volatile uint32_t *told;

static void wait_until_told(void *unused)
{
	while (!*told)
		sleep_ms(1);
}

static void only_its_stream(void)
{
	handle s[3];
	void *p;

	begin();
	for (int i = 0; i < 3; i++)
		s[i] = stream();
	OK(cuMemHostAlloc(&p, 64, 0));
	told = p;
	OK(cuStreamWaitValue32_v2(s[0], (dptr)(uintptr_t)p + 4, 1, 0));
	OK(cuLaunchHostFunc(s[1], wait_until_told, NULL));
	run(function("one"), s[2]);
	OK(cuStreamSynchronize(s[2]));
	IS(600, cuStreamQuery(s[0]));
	IS(600, cuStreamQuery(s[1]));
	/* The front end writes while all multiprocessors are taken. */
	spin(function("await-all"), stream(),
		(struct spin_args){.at = (dptr)(uintptr_t)p + 8, .value = 1});
	OK(cuStreamWriteValue32_v2(s[2], (dptr)(uintptr_t)p + 4, 1, 0));
	OK(cuStreamSynchronize(s[0]));
	OK(cuStreamWriteValue32_v2(s[0], (dptr)(uintptr_t)p, 1, 0));
	OK(cuStreamSynchronize(s[1]));
	OK(cuStreamWriteValue32_v2(s[0], (dptr)(uintptr_t)p + 8, 1, 0));
	OK(cuCtxSynchronize());
}

/* The default stream's kernel comes after earlier work of blocking streams and before
 * their later work; non-blocking streams neither wait for it nor delay it. */
static void legacy(void)
{
	handle blocking, other, free_one, e[4];
	void *p;

	begin();
	blocking = stream_of(0, 0);
	other = stream_of(0, 0);
	free_one = stream();
	OK(cuMemHostAlloc(&p, 64, 0));
	OK(cuStreamWaitValue32_v2(blocking, (dptr)(uintptr_t)p, 1, 0));
	run(function("one"), blocking);
	e[0] = record(blocking);
	run(function("one"), NULL);
	e[1] = record(NULL);
	run(function("one"), other);
	e[2] = record(other);
	run(function("one"), free_one);
	OK(cuStreamSynchronize(free_one));
	sleep_ms(5);
	IS(600, cuEventQuery(e[1]));
	IS(600, cuEventQuery(e[2]));
	*(volatile uint32_t *)p = 1;
	CHECK(elapsed(e[0], e[1]) == 4.0F);
	CHECK(elapsed(e[1], e[2]) == 4.0F);
}

/* A stream takes so many commands, of which its wait is the first; then a launch waits
 * until a quarter of them is done.  It delays only its own caller. */
#define DEPTH 1024

static volatile int n_accepted;

static void *fill(void *ctx)
{
	handle s;

	OK(cuCtxSetCurrent(ctx));
	s = stream();
	hold(s);
	n_accepted = 1;
	for (int i = 0; i < DEPTH + 500; i++) {
		run(function("us20"), s);
		n_accepted++;
	}
	return NULL;
}

static void full_queue(void)
{
	pthread_t thread;
	handle ctx, s;

	begin();
	function("one");
	OK(cuCtxGetCurrent(&ctx));
	CHECK(pthread_create(&thread, NULL, fill, ctx) == 0);
	while (n_accepted < DEPTH)
		sleep_ms(1);
	s = stream();
	for (int i = 0; i < 10; i++)
		run(function("one"), s);
	OK(cuStreamSynchronize(s));
	CHECK(n_accepted == DEPTH);
	*gate = 1;
	pthread_join(thread, NULL);
	CHECK(n_accepted == 1 + DEPTH + 500);
}

/* A thread is preempted between its command in an empty stream and the ring for it, and
 * the machine, awake for another stream, completes the command meanwhile. Then the
 * machine must also run the stream's next command, although no call waits for it. */
static handle ringing;

static void *store_one(void *ctx)
{
	OK(cuCtxSetCurrent(ctx));
	launch(function("store"), ringing, (dptr)(uintptr_t)(gate + 1), 1);
	return NULL;
}

static bool becomes(const volatile uint32_t *word, uint32_t value)
{
	for (int i = 0; i < 5000 && *word != value; i++)
		sleep_ms(1);
	return *word == value;
}

static void late_ring(void)
{
	pthread_t thread;
	handle ctx, other;

	begin();
	OK(cuCtxGetCurrent(&ctx));
	ringing = stream();
	other = stream();
	hold(other);
	function("store");
	CHECK(pthread_create(&thread, NULL, store_one, ctx) == 0);
	sleep_ms(20);
	*gate = 1;
	CHECK(becomes(gate + 1, 1));
	pthread_join(thread, NULL);
	launch(function("store"), ringing, (dptr)(uintptr_t)(gate + 1), 2);
	CHECK(becomes(gate + 1, 2));
}

/* The first launch of a function waits for its context where loading is lazy, so a kernel
 * of that context that waits for the launch waits for ever. */
static volatile uint32_t *released;

static void *release(void *unused)
{
	sleep_ms(20);
	*released = 1;
	return NULL;
}

static void loading(bool waits)
{
	pthread_t thread;
	handle s, t;
	void *p;

	begin();
	s = stream();
	t = stream();
	OK(cuMemHostAlloc(&p, 64, 0));
	released = p;
	OK(cuStreamWaitValue32_v2(s, (dptr)(uintptr_t)p, 1, 0));
	CHECK(pthread_create(&thread, NULL, release, NULL) == 0);
	run(function("one"), t);
	CHECK(*released == waits);
	IS(waits ? 0 : 600, cuStreamQuery(s));
	pthread_join(thread, NULL);
	OK(cuStreamWaitValue32_v2(s, (dptr)(uintptr_t)p + 4, 1, 0));
	run(function("one"), t);
	OK(cuStreamSynchronize(t));
	IS(600, cuStreamQuery(s));
}

static void lazy(void)
{
	unsetenv("CUDA_MODULE_LOADING");
	loading(true);
}

static void eager(void)
{
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	loading(false);
}

const struct case_of_test at_once_cases[] = {
	{"units", units, NULL, NULL},
	{"what-is-left", remaining_units, NULL, NULL},
	{"priorities", priorities, NULL, NULL},
	{"spinning", spinning, NULL, NULL},
	{"waking", waking, NULL, NULL},
	{"persistent", persistent, NULL, NULL},
	{"holds-its-units", holds_its_units, NULL, NULL},
	{"branches", branches, NULL, NULL},
	{"copies-at-once", copies, NULL, NULL},
	{"only-its-stream", only_its_stream, NULL, NULL},
	{"legacy", legacy, NULL, NULL},
	{"full-queue", full_queue, NULL, NULL},
	{"late-ring", late_ring, "ring-us 100000\n", NULL},
	{"lazy-sync", lazy, "lazy-sync\n", NULL},
	{"eager", eager, "lazy-sync\n", NULL},
	{0},
};
