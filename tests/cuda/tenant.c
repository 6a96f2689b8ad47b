/* SPDX-License-Identifier: Apache-2.0 */
/* A program that keeps a GPU busy in one of several ways.
 *
 * usage: cuda-tenant STYLE KERNEL_NS SECONDS [BEGIN_NS END_NS]
 *
 * Says "ready" when it begins, and at its end how many times it submitted, between the
 * two times of CLOCK_MONOTONIC where they are given. */
#include "tenant.h"

#include <string.h>
#include <time.h>

#define AHEAD 100
#define N_STREAMS 4
#define NODES 10 /* of a graph */

int cuLaunchCooperativeKernel(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters);
int cuLaunchKernelEx(
	const void *config, handle function, void **parameters, void **extra);
int cuLaunchHostFunc(handle stream, void (*function)(void *userdata), void *userdata);
int cuStreamBeginCapture_v2(handle stream, int mode);
int cuStreamEndCapture(handle stream, handle *graph);
int cuGraphInstantiateWithFlags(handle *exec, handle graph, uint64_t flags);
int cuGraphLaunch(handle exec, handle stream);
int cuFuncSetBlockShape(handle function, int x, int y, int z);
int cuParamSetSize(handle function, unsigned bytes);
int cuParamSetv(handle function, int offset, void *value, unsigned bytes);
int cuLaunchGridAsync(handle function, int width, int height, handle stream);
int cuMemcpyDtoDAsync_v2(dptr to, dptr from, size_t bytes, handle stream);

struct program {
	handle function, streams[N_STREAMS], graph;
	dptr from, to;
	uint64_t kernel_ns, n;
	uint64_t begin_ns, end_ns; /* of what counts */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute_for(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

/* What is submitted. */

static void kernel(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns};

	OK(cuLaunchKernel(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void kernel_of_thread(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns};

	OK(cuLaunchKernel_ptsz(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void cooperative(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns};

	OK(cuLaunchCooperativeKernel(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters));
}

static void extended(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns};
	struct {
		unsigned grid[3], block[3], shared;
		handle stream;
		void *attributes;
		unsigned n_attributes;
	} config = {{1, 1, 1}, {32, 1, 1}, 0, stream, NULL, 0};

	OK(cuLaunchKernelEx(&config, program->function, parameters, NULL));
}

/* As programs did before CUDA 4. */
static void ancient(struct program *program, handle stream)
{
	OK(cuFuncSetBlockShape(program->function, 32, 1, 1));
	OK(cuParamSetSize(program->function, 8));
	OK(cuParamSetv(program->function, 0, &program->kernel_ns, 8));
	OK(cuLaunchGridAsync(program->function, 1, 1, stream));
}

static void capture(struct program *program)
{
	handle graph;

	OK(cuStreamBeginCapture_v2(program->streams[0], 0));
	for (int i = 0; i < NODES; i++)
		kernel(program, program->streams[0]);
	OK(cuStreamEndCapture(program->streams[0], &graph));
	OK(cuGraphInstantiateWithFlags(&program->graph, graph, 0));
}

static void graph(struct program *program, handle stream)
{
	if (!program->graph)
		capture(program);
	OK(cuGraphLaunch(program->graph, stream));
}

/* New graphs all the time, as those do that warm up. */
static void captures(struct program *program, handle stream)
{
	capture(program);
	OK(cuGraphLaunch(program->graph, stream));
}

static void called(void *userdata)
{
	(void)userdata;
}

static void host_function(struct program *program, handle stream)
{
	kernel(program, stream);
	OK(cuLaunchHostFunc(stream, called, NULL));
}

static void copy(struct program *program, handle stream)
{
	size_t bytes = program->kernel_ns; /* at 1 GB/s, for as long */

	if (!program->from) {
		OK(cuMemAlloc_v2(&program->from, bytes));
		OK(cuMemAlloc_v2(&program->to, bytes));
	}
	OK(cuMemcpyDtoDAsync_v2(program->to, program->from, bytes, stream));
}

static const struct style {
	const char *name;
	void (*submit)(struct program *program, handle stream);
	int (*synchronize)(handle stream);
	unsigned n_streams; /* 0: the default one */
	unsigned ahead;     /* how many before it waits */
	int computes;       /* by itself, as long again */
} styles[] = {
	{"queue", kernel, cuStreamSynchronize, 1, AHEAD, 0},
	{"sync", kernel, cuStreamSynchronize, 1, 1, 0},
	{"gaps", kernel, cuStreamSynchronize, 1, 1, 1},
	{"legacy", kernel, cuStreamSynchronize, 0, AHEAD, 0},
	{"thread", kernel_of_thread, cuStreamSynchronize_ptsz, 0, AHEAD, 0},
	{"streams", kernel, cuStreamSynchronize, N_STREAMS, AHEAD, 0},
	{"cooperative", cooperative, cuStreamSynchronize, 1, AHEAD, 0},
	{"extended", extended, cuStreamSynchronize, 1, AHEAD, 0},
	{"ancient", ancient, cuStreamSynchronize, 1, AHEAD, 0},
	{"graph", graph, cuStreamSynchronize, 1, AHEAD, 0},
	{"captures", captures, cuStreamSynchronize, 1, 2, 0},
	{"host-function", host_function, cuStreamSynchronize, 1, AHEAD, 0},
	{"copy", copy, cuStreamSynchronize, 1, AHEAD, 0},
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
		for (unsigned i = 0; i < style->ahead; i++) {
			style->submit(program, program->streams[i % n_streams]);
		}
		for (unsigned i = 0; i < n_streams; i++)
			OK(style->synchronize(program->streams[i]));
		if (now_ns() >= program->begin_ns && now_ns() < program->end_ns)
			program->n += style->ahead;
		if (style->computes)
			compute_for(program->kernel_ns);
	}
}

int main(int argc, char **argv)
{
	struct program program = {0};
	handle context;
	const struct style *style;

	if (argc != 4 && argc != 6)
		return 64;
	style = find_style(argv[1]);
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	program.function = load_spin();
	for (unsigned i = 0; i < style->n_streams; i++)
		OK(cuStreamCreate(&program.streams[i], 1));
	program.kernel_ns = strtoull(argv[2], NULL, 10);
	program.begin_ns = argc == 6 ? strtoull(argv[4], NULL, 10) : 0;
	program.end_ns = argc == 6 ? strtoull(argv[5], NULL, 10) : UINT64_MAX;
	printf("ready\n");
	fflush(stdout);
	run(&program, style, now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u);
	printf("%llu\n", (unsigned long long)program.n);
	return 0;
}
