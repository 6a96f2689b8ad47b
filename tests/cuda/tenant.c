/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA program that keeps a GPU busy in one of several styles.
 *
 * usage: cuda-tenant STYLE KERNEL_NS SECONDS [BEGIN_NS END_NS] */
#include "tenant.h"

#include "tenant-loop.h"

int cuLaunchCooperativeKernel(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters);
int cuLaunchGridAsync(handle function, int width, int height, handle stream);
int cuMemcpyDtoDAsync_v2(dptr to, dptr from, size_t bytes, handle stream);

#define N_KINDS 30

/* --- The styles' work --- */

static void kernel(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns};

	OK(cuLaunchKernel(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

/* Kernels of many sizes and lengths one after the other, as a network's. */
static void kinds(struct program *program, handle stream)
{
	static const uint32_t percent[] = {5, 8, 40, 12, 150, 6, 20, 70, 9, 33};
	static uint32_t n;
	uint32_t kind = n++ % N_KINDS;
	uint64_t ns = program->kernel_ns * percent[kind % 10] / 100;
	void *parameters[] = {&ns};

	OK(cuLaunchKernel(program->function, kind + 1, 1, 1, 32, 1, 1, 0, stream,
		parameters, NULL));
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

/* The launch API from before CUDA 4. */
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

/* A new graph each time, as programs that warm up do. */
static void captures(struct program *program, handle stream)
{
	capture(program);
	OK(cuGraphLaunch(program->graph, stream));
}

static void called(void *userdata)
{
}

static void host_function(struct program *program, handle stream)
{
	kernel(program, stream);
	OK(cuLaunchHostFunc(stream, called, NULL));
}

static void copy(struct program *program, handle stream)
{
	static dptr from, to;
	size_t bytes = program->kernel_ns; /* at 1 GB/s as long as the kernel */

	if (!from) {
		OK(cuMemAlloc_v2(&from, bytes));
		OK(cuMemAlloc_v2(&to, bytes));
	}
	OK(cuMemcpyDtoDAsync_v2(to, from, bytes, stream));
}

/* It is never without work, and never waits. */
static int no_wait(handle stream)
{
	return 0;
}

static const struct style styles[] = {
	{"queue", kernel, cuStreamSynchronize, 1, AHEAD, 0},
	{"flood", kernel, no_wait, 1, AHEAD, 0},
	{"sync", kernel, cuStreamSynchronize, 1, 1, 0},
	{"gaps", kernel, cuStreamSynchronize, 1, 1, 1},
	{"legacy", kernel, cuStreamSynchronize, 0, AHEAD, 0},
	{"kinds", kinds, cuStreamSynchronize, 0, 10 * N_KINDS, 0},
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

static void begin(struct program *program)
{
	handle context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	program->function = load_spin();
}

int main(int argc, char **argv)
{
	return tenant_main(argc, argv, styles, sizeof(styles) / sizeof(styles[0]), begin,
		cuStreamCreate);
}
