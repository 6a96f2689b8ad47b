/* SPDX-License-Identifier: Apache-2.0 */
/* A HIP program that keeps a GPU busy in one of several styles.
 *
 * usage: hip-tenant STYLE KERNEL_NS SECONDS [BEGIN_NS END_NS] */
#include "tenant.h"

#include "../cuda/tenant-loop.h"

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

static const struct dim3 one = {1, 1, 1}, block = {32, 1, 1};
static const void *spin; /* the stub */
static void *from, *to;

/* --- The styles' work --- */

static void kernel(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipModuleLaunchKernel(
		program->function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void stub(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipLaunchKernel(spin, one, block, parameters, 0, stream));
}

static void stub_of_thread(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipLaunchKernel_spt(spin, one, block, parameters, 0, stream));
}

static void with_events(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipExtLaunchKernel(spin, one, block, parameters, 0, stream, NULL, NULL, 0));
}

static void cooperative(struct program *program, handle stream)
{
	void *parameters[] = {&program->kernel_ns, NULL};

	OK(hipLaunchCooperativeKernel(spin, one, block, parameters, 0, stream));
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

	OK(hipLaunchKernelExC(&config, spin, parameters));
#else
	stub(program, stream);
#endif
}

static void in_two_calls(struct program *program, handle stream)
{
	OK(hipConfigureCall(one, block, 0, stream));
	OK(hipSetupArgument(&program->kernel_ns, sizeof(program->kernel_ns), 0));
	OK(hipLaunchByPtr(spin));
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

/* A new graph each time, as programs that warm up do. */
static void captures(struct program *program, handle stream)
{
	capture(program);
	OK(hipGraphLaunch(program->graph, stream));
}

static void called(handle stream, int status, void *userdata)
{
}

static void callback(struct program *program, handle stream)
{
	kernel(program, stream);
	OK(hipStreamAddCallback(stream, called, NULL, 0));
}

static void allocate(size_t bytes)
{
	if (from)
		return;
	OK(hipMalloc(&from, bytes));
	OK(hipMalloc(&to, bytes));
}

/* At 1 GB/s this takes as long as the kernel. */
static void copy(struct program *program, handle stream)
{
	allocate(program->kernel_ns);
	OK(hipMemcpyAsync(to, from, program->kernel_ns, 3, stream));
}

static void fill(struct program *program, handle stream)
{
	allocate(program->kernel_ns);
	OK(hipMemsetAsync(to, 1, program->kernel_ns, stream));
}

static const struct style styles[] = {
	{"queue", kernel, hipStreamSynchronize, 1, AHEAD, 0},
	{"sync", kernel, hipStreamSynchronize, 1, 1, 0},
	{"stub", stub, hipStreamSynchronize, 1, AHEAD, 0},
	{"legacy", stub, hipStreamSynchronize, 0, AHEAD, 0},
	{"thread", stub_of_thread, hipStreamSynchronize_spt, 0, AHEAD, 0},
	{"streams", kernel, hipStreamSynchronize, N_STREAMS, AHEAD, 0},
	{"with-events", with_events, hipStreamSynchronize, 1, AHEAD, 0},
	{"cooperative", cooperative, hipStreamSynchronize, 1, AHEAD, 0},
	{"extended", extended, hipStreamSynchronize, 1, AHEAD, 0},
	{"in-two-calls", in_two_calls, hipStreamSynchronize, 1, AHEAD, 0},
	{"graph", graph, hipStreamSynchronize, 1, AHEAD / NODES, 0},
	{"captures", captures, hipStreamSynchronize, 1, 2, 0},
	{"callback", callback, hipStreamSynchronize, 1, AHEAD, 0},
	{"copy", copy, hipStreamSynchronize, 1, AHEAD, 0},
	{"fill", fill, hipStreamSynchronize, 1, AHEAD, 0},
};

static void begin(struct program *program)
{
	OK(hipInit(0));
	program->function = load_spin();
	spin = register_spin();
}

int main(int argc, char **argv)
{
	return tenant_main(argc, argv, styles, sizeof(styles) / sizeof(styles[0]), begin,
		hipStreamCreateWithFlags);
}
