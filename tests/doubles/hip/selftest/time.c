/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of streams, events and the GPU's time. */

static struct stream *new_stream(unsigned flags)
{
	struct stream *s;

	OK(hipStreamCreateWithFlags(&s, flags));
	return s;
}

static struct event *new_event(void)
{
	struct event *e;

	OK(hipEventCreate(&e));
	return e;
}

static void events(void)
{
	struct stream *s = new_stream(1);
	struct event *from = new_event(), *to = new_event(), *quick;
	float ms;

	launch(kernel("ms100"), s, 0, 0);
	OK(hipEventRecord(from, s));
	launch(kernel("ms20"), s, 0, 0);
	OK(hipEventRecord(to, s));
	IS(HIP_NOT_READY, hipEventQuery(to));
	IS(HIP_NOT_READY, hipStreamQuery(s));
	IS(HIP_NOT_READY, hipEventElapsedTime(&ms, from, to));
	OK(hipStreamSynchronize(s));
	OK(hipEventQuery(to));
	OK(hipStreamQuery(s));
	BETWEEN(19.999, elapsed_ms(from, to), 20.001);
	OK(hipEventCreateWithFlags(&quick, 2));
	OK(hipEventRecord(quick, s));
	OK(hipEventSynchronize(quick));
	IS(HIP_INVALID_HANDLE, hipEventElapsedTime(&ms, from, quick));
	OK(hipEventDestroy(quick));
	IS(HIP_INVALID_HANDLE, hipEventDestroy(quick));
	OK(hipStreamDestroy(s));
}

/* A thousand kernels follow each other without a gap, independent of this machine's
 * speed. */
static void exact(void)
{
	struct stream *s = new_stream(1);
	struct event *from = new_event(), *to = new_event();
	struct func *f = kernel("us20");

	launch(kernel("ms100"), s, 0, 0);
	OK(hipEventRecord(from, s));
	for (int i = 0; i < 900; i++)
		launch(f, s, 0, 0);
	OK(hipEventRecord(to, s));
	OK(hipEventSynchronize(to));
	BETWEEN(17.999, elapsed_ms(from, to), 18.001);
}

/* More commands than the queue holds. */
static void blocks(void)
{
	struct stream *s = new_stream(1);
	struct func *f = kernel("us20");

	for (int i = 0; i < 5000; i++)
		launch(f, s, 0, 0);
	OK(hipStreamSynchronize(s));
	CHECK(stat_of("process", "launches") == 5000);
	CHECK(stat_of("gpu 0", "busy_ns") == 5000 * 20000);
}

static void waits(void)
{
	struct stream *a = new_stream(1), *b = new_stream(1);
	struct event *middle = new_event(), *start = new_event(), *end = new_event();

	launch(kernel("ms100"), a, 0, 0);
	OK(hipEventRecord(start, a));
	launch(kernel("ms20"), a, 0, 0);
	OK(hipEventRecord(middle, a));
	OK(hipStreamWaitEvent(b, middle, 0));
	launch(kernel("ms1"), b, 0, 0);
	OK(hipEventRecord(end, b));
	OK(hipStreamSynchronize(b));
	BETWEEN(20.999, elapsed_ms(start, end), 21.001);
}

/* The null stream waits for blocking streams and they for it; others do not. */
static void null_stream(void)
{
	struct stream *blocking = new_stream(0), *other = new_stream(1);
	uint32_t *word = hold(blocking);

	launch(kernel("us20"), NULL, 0, 0);
	launch(kernel("us20"), other, 0, 0);
	OK(hipStreamSynchronize(other));
	sleep_ms(5);
	IS(HIP_NOT_READY, hipStreamQuery(NULL));
	*word = 1;
	OK(hipStreamSynchronize(NULL));
	word = hold(NULL);
	launch(kernel("us20"), blocking, 0, 0);
	launch(kernel("us20"), other, 0, 0);
	OK(hipStreamSynchronize(other));
	sleep_ms(5);
	IS(HIP_NOT_READY, hipStreamQuery(blocking));
	*word = 1;
	OK(hipStreamSynchronize(blocking));
}

static _Atomic int steps[3], n_steps;

static void stream_step(struct stream *stream, int status, void *user)
{
	CHECK(status == 0);
	steps[n_steps++] = (int)(intptr_t)user;
}

static void hosts(void)
{
	struct stream *s = new_stream(1);
	uint32_t value = 0;
	void *p;

	OK(hipMalloc(&p, 4));
	launch(kernel("ms1"), s, 0, 0);
	OK(hipStreamAddCallback(s, stream_step, (void *)1, 0));
	launch(kernel("slow"), s, (uintptr_t)p, 77);
	OK(hipStreamAddCallback(s, stream_step, (void *)2, 0));
	OK(hipStreamSynchronize(s));
	CHECK(n_steps == 2 && steps[0] == 1 && steps[1] == 2);
	OK(hipMemcpy(&value, p, 4, HIP_TO_HOST));
	CHECK(value == 77);
}

/* A stream's copies are visible when a later command of it signals the host. */
static void ordered_copies(void)
{
	struct stream *s = new_stream(1);
	uint32_t *host, first = 1;
	void *p, *vhost;

	OK(hipMalloc(&p, 4));
	OK(hipHostMalloc(&vhost, 16, 0));
	host = vhost;
	host[0] = 5;
	OK(hipMemcpyAsync(p, host, 4, HIP_TO_DEVICE, s));
	OK(hipMemcpyAsync(&host[1], p, 4, HIP_TO_HOST, s));
	launch(kernel("slow"), s, (uintptr_t)p, 6);
	OK(hipMemcpyAsync(&host[2], p, 4, HIP_TO_HOST, s));
	OK(hipMemsetAsync(p, 0, 4, s));
	OK(hipMemcpyAsync(&host[3], p, 4, HIP_TO_HOST, s));
	OK(hipStreamSynchronize(s));
	CHECK(host[1] == 5 && host[2] == 6 && host[3] == 0);
	OK(hipMemcpyAsync(&first, p, 4, HIP_TO_HOST, s));
	CHECK(first == 0); /* pageable, so the call has waited */
}

static void values(void)
{
	struct stream *a = new_stream(1), *b = new_stream(1);
	struct event *end = new_event();
	void *p;

	OK(hipHostMalloc(&p, 8, 0));
	*(uint64_t *)p = 0;
	OK(hipStreamWaitValue64(a, p, 3, 1, UINT64_MAX));
	OK(hipEventRecord(end, a));
	sleep_ms(5);
	IS(HIP_NOT_READY, hipEventQuery(end));
	OK(hipStreamWriteValue64(b, p, 3, 0));
	OK(hipStreamSynchronize(b));
	OK(hipEventSynchronize(end));
}

/* Streams of higher priority go first, within the process. */
static void priorities(void)
{
	struct stream *low, *high;
	struct event *low_end = new_event(), *high_end = new_event();
	int least, greatest;

	OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
	OK(hipStreamCreateWithPriority(&low, 1, least));
	OK(hipStreamCreateWithPriority(&high, 1, greatest));
	launch(kernel("ms100"), high, 0, 0);
	for (int i = 0; i < 3; i++)
		launch(kernel("ms20"), low, 0, 0);
	OK(hipEventRecord(low_end, low));
	launch(kernel("ms1"), high, 0, 0);
	OK(hipEventRecord(high_end, high));
	OK(hipDeviceSynchronize());
	BETWEEN(59.999, elapsed_ms(high_end, low_end), 60.001);
}

static void masked(void)
{
	uint32_t half[4] = {UINT32_MAX, 0xfffff}, got[4];
	struct event *from = new_event(), *to = new_event();
	struct stream *s;

	OK(hipExtStreamCreateWithCUMask(&s, 4, half));
	OK(hipExtStreamGetCUMask(s, 4, got));
	CHECK(memcmp(got, half, sizeof(got)) == 0);
	launch(kernel("ms100"), s, 0, 0);
	OK(hipEventRecord(from, s));
	launch(kernel("ms20"), s, 0, 0);
	OK(hipEventRecord(to, s));
	OK(hipStreamSynchronize(s));
	BETWEEN(39.999, elapsed_ms(from, to), 40.001);
}

/* The name that C++ programs call. */
int ext_module_launch(struct func *f, uint32_t wx, uint32_t wy, uint32_t wz, uint32_t bx,
	uint32_t by, uint32_t bz, size_t shared, struct stream *stream, void **params,
	void **extra, struct event *start, struct event *stop,
	uint32_t flags) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_t"
				"jjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");

static void ext_launch(void)
{
	struct event *from = new_event(), *to = new_event();
	struct stream *s = new_stream(1);

	launch(kernel("ms100"), s, 0, 0);
	OK(ext_module_launch(
		kernel("groups"), 640, 1, 1, 64, 1, 1, 0, s, NULL, NULL, from, to, 0));
	OK(hipStreamSynchronize(s));
	BETWEEN(0.0099, elapsed_ms(from, to), 0.0101);
}

/* Two processes share the GPU by slices; each has exactly half. */
static void shared(void)
{
	pid_t pid = fork();
	struct stream *s = new_stream(1);
	struct func *f = kernel("ms1");
	long long busy;
	int status;

	for (int i = 0; i < 100; i++)
		launch(f, s, 0, 0);
	OK(hipStreamSynchronize(s));
	if (pid == 0)
		_exit(0);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	busy = stat_of("gpu 0", "busy_ns");
	CHECK(busy == 200000000);
	BETWEEN(20, (double)stat_of("gpu 0", "switches"), 210);
}

struct spin_args {
	volatile uint32_t *at;
	uint32_t value;
	volatile uint32_t *out;
	uint32_t out_value, turns;
};

static void launch_spin(struct func *f, struct stream *s, struct spin_args a)
{
	void *params[] = {&a.at, &a.value, &a.out, &a.out_value, &a.turns};

	OK(hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

static struct func *small(const char *name)
{
	static const char image[] = "cleave-double-module\n"
				    "kernel half 10000000 units 52\n"
				    "kernel relay relay 1000 units 1\n"
				    "kernel serve serve 1000 units 1\n";
	static struct module *module;
	struct func *f;

	if (!module)
		OK(hipModuleLoadData(&module, image));
	OK(hipModuleGetFunction(&f, module, name));
	return f;
}

/* Kernels of two streams share the 104 units, and one may wait for the other. */
static void at_once(void)
{
	struct stream *s = new_stream(1), *t = new_stream(1);
	struct event *from = new_event();
	volatile uint32_t *word;
	uint32_t *held;
	void *p;

	held = hold(s);
	OK(hipEventRecord(from, s));
	OK(hipStreamWaitEvent(t, from, 0));
	launch(small("half"), s, 0, 0);
	launch(small("half"), t, 0, 0);
	*held = 1;
	OK(hipStreamSynchronize(s));
	OK(hipStreamSynchronize(t));
	/* Sequential execution would take 20 ms. */
	BETWEEN(10000000, (double)stat_of("gpu 0", "busy_ns"), 19000000);

	OK(hipHostMalloc(&p, 64, 0));
	word = p;
	for (int i = 0; i < 4; i++)
		word[i] = 0;
	launch_spin(small("serve"), s, (struct spin_args){word, 1, word + 1, 11, 3});
	launch_spin(small("relay"), t, (struct spin_args){word + 1, 13, word + 2, 5, 0});
	for (uint32_t i = 1; i <= 3; i++) {
		CHECK(word[2] == 0);
		word[0] = i;
		while (word[1] != 10 + i)
			sleep_ms(0);
	}
	OK(hipStreamSynchronize(t));
	CHECK(word[2] == 5);
	OK(hipStreamSynchronize(s));
}

const struct case_of_test time_cases[] = {
	{"at-once", at_once, NULL, NULL},
	{"events", events, NULL, NULL},
	{"exact", exact, NULL, NULL},
	{"blocks", blocks, NULL, NULL},
	{"waits", waits, NULL, NULL},
	{"null-stream", null_stream, NULL, NULL},
	{"hosts", hosts, NULL, NULL},
	{"ordered-copies", ordered_copies, NULL, NULL},
	{"values", values, NULL, NULL},
	{"priorities", priorities, NULL, NULL},
	{"masked", masked, NULL, NULL},
	{"ext-launch", ext_launch, NULL, NULL},
	{"shared", shared, NULL, NULL},
	{0},
};
