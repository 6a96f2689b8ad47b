/* SPDX-License-Identifier: Apache-2.0 */
/* A program that keeps a GPU busy in one of several ways.
 *
 * usage: hip-tenant STYLE KERNEL_NS SECONDS
 *
 * Says "ready" when it begins, and at its end how many times it submitted. */
#include "tenant.h"

#include <string.h>
#include <time.h>

#define AHEAD 100
#define N_STREAMS 4
#define NODES 10 /* of a graph */

int hipExtLaunchKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **parameters, size_t shared, handle stream, handle start, handle stop,
	int flags);
int hipLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **parameters, unsigned shared, handle stream);
int hipConfigureCall(struct dim3 grid, struct dim3 block, size_t shared, handle stream);
int hipSetupArgument(const void *argument, size_t bytes, size_t offset);
int hipLaunchByPtr(const void *host);
int hipStreamAddCallback(handle stream, void (*function)(handle, int, void *),
	void *userdata, unsigned flags);
int hipMemsetAsync(void *p, int value, size_t bytes, handle stream);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int how, handle stream);
#if ROCM >= 6
int hipLaunchKernelExC(const void *config, const void *host, void **parameters);
#endif

struct program {
	handle function, streams[N_STREAMS], graph;
	const void *stub;
	void *from, *to;
	uint64_t kernel_ns, n;
};

static const struct dim3 one = {1, 1, 1}, block = {32, 1, 1};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What is submitted. */

static void kernel(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipModuleLaunchKernel(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void stub(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipLaunchKernel(program->stub, one, block, parameters, 0, stream));
}

static void stub_of_thread(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipLaunchKernel_spt(program->stub, one, block, parameters, 0, stream));
}

static void with_events(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipExtLaunchKernel(
		program->stub, one, block, parameters, 0, stream, NULL, NULL, 0));
}

static void cooperative(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipLaunchCooperativeKernel(program->stub, one, block, parameters, 0, stream));
}

static void extended(struct program *program, handle stream)
{
#if ROCM >= 6
	void *parameters[] = {&program->kernel_ns, NULL};
	struct {
		struct dim3 grid, block;
		size_t shared;
		handle stream;
		void *attributes;
		unsigned n_attributes;
	} config = {one, block, 0, stream, NULL, 0};

	OK(hipLaunchKernelExC(&config, program->stub, parameters));
#else
	stub(program, stream);
#endif
}

static void in_two_calls(struct program *program, handle stream)
{
	OK(hipConfigureCall(one, block, 0, stream));
	OK(hipSetupArgument(&program->kernel_ns, sizeof(program->kernel_ns), 0));
	OK(hipLaunchByPtr(program->stub));
}

static void capture(struct program *program)
{
	handle graph;

	OK(hipStreamBeginCapture(program->streams[0], 0));
	for (int i = 0; i < NODES; i++)
		kernel(program, program->streams[0]);
	OK(hipStreamEndCapture(program->streams[0], &graph));
	OK(hipGraphInstantiate(&program->graph, graph, NULL, NULL, 0));
}

static void graph(struct program *program, handle stream)
{
	if (!program->graph)
		capture(program);
	OK(hipGraphLaunch(program->graph, stream));
}

/* New graphs all the time, as those do that warm up. */
static void captures(struct program *program, handle stream)
{
	capture(program);
	OK(hipGraphLaunch(program->graph, stream));
}

static void called(handle stream, int status, void *userdata)
{
	(void)stream;
	(void)status;
	(void)userdata;
}

static void callback(struct program *program, handle stream)
{
	kernel(program, stream);
	OK(hipStreamAddCallback(stream, called, NULL, 0));
}

static void allocate(struct program *program, size_t bytes)
{
	if (program->from)
		return;
	OK(hipMalloc(&program->from, bytes));
	OK(hipMalloc(&program->to, bytes));
}

/* At 1 GB/s, for as long. */
static void copy(struct program *program, handle stream)
{
	allocate(program, program->kernel_ns);
	OK(hipMemcpyAsync(program->to, program->from, program->kernel_ns, 3, stream));
}

static void fill(struct program *program, handle stream)
{
	allocate(program, program->kernel_ns);
	OK(hipMemsetAsync(program->to, 1, program->kernel_ns, stream));
}

static const struct style {
	const char *name;
	void (*submit)(struct program *program, handle stream);
	int (*synchronize)(handle stream);
	unsigned n_streams; /* 0: the default one */
	unsigned ahead;     /* how many before it waits */
} styles[] = {
	{"queue", kernel, hipStreamSynchronize, 1, AHEAD},
	{"sync", kernel, hipStreamSynchronize, 1, 1},
	{"stub", stub, hipStreamSynchronize, 1, AHEAD},
	{"legacy", stub, hipStreamSynchronize, 0, AHEAD},
	{"thread", stub_of_thread, hipStreamSynchronize_spt, 0, AHEAD},
	{"streams", kernel, hipStreamSynchronize, N_STREAMS, AHEAD},
	{"with-events", with_events, hipStreamSynchronize, 1, AHEAD},
	{"cooperative", cooperative, hipStreamSynchronize, 1, AHEAD},
	{"extended", extended, hipStreamSynchronize, 1, AHEAD},
	{"in-two-calls", in_two_calls, hipStreamSynchronize, 1, AHEAD},
	{"graph", graph, hipStreamSynchronize, 1, AHEAD / NODES},
	{"captures", captures, hipStreamSynchronize, 1, 2},
	{"callback", callback, hipStreamSynchronize, 1, AHEAD},
	{"copy", copy, hipStreamSynchronize, 1, AHEAD},
	{"fill", fill, hipStreamSynchronize, 1, AHEAD},
};

static const struct style *find_style(const char *name)
{
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		if (strcmp(styles[i].name, name) == 0)
			return &styles[i];
	}
	fprintf(stderr, "there is no style %s\n", name);
	exit(64);
}

static void run(struct program *program, const struct style *style, uint64_t until_ns)
{
	unsigned n_streams = style->n_streams ? style->n_streams : 1;

	while (now_ns() < until_ns) {
		for (unsigned i = 0; i < style->ahead; i++)
			style->submit(program, program->streams[i % n_streams]);
		for (unsigned i = 0; i < n_streams; i++)
			OK(style->synchronize(program->streams[i]));
		program->n += style->ahead;
	}
}

int main(int argc, char **argv)
{
	struct program program = {0};
	const struct style *style;

	if (argc != 4)
		return 64;
	style = find_style(argv[1]);
	OK(hipInit(0));
	program.function = load_spin();
	program.stub = register_spin();
	for (unsigned i = 0; i < style->n_streams; i++)
		OK(hipStreamCreateWithFlags(&program.streams[i], 1));
	program.kernel_ns = strtoull(argv[2], NULL, 10);
	printf("ready\n");
	fflush(stdout);
	run(&program, style, now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u);
	printf("%llu\n", (unsigned long long)program.n);
	return 0;
}
