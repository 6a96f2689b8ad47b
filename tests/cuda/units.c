/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how many multiprocessors a program gets.
 *
 * usage: cuda-units WORD...
 *
 * Prints the number of multiprocessors of the GPU and, for each argument, by which factor
 * a kernel takes longer in the stream that the argument names than on all
 * multiprocessors. cooperative: the results of the largest possible cooperative launch in
 * that stream, and of one with a block more. Then it waits for the end of its input. */
#include "tenant.h"

#include <pthread.h>
#include <string.h>

#define KERNEL_NS 10000000
#define MULTIPROCESSORS 16
#define NON_BLOCKING 1
#define N_RACES 5000

struct resource {
	int type;
	unsigned char padding[92];
	unsigned count;
	unsigned char room[44];
};

struct kernel_node {
	handle function;
	unsigned grid[3], block[3], shared;
	void **parameters, **extra;
	handle kernel, context;
};

int cuStreamGetCtx(handle stream, handle *context);
int cuStreamGetCtx_v2(handle stream, handle *context, handle *green);
int cuLaunchCooperativeKernel(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters);
int cuDevicePrimaryCtxReset_v2(int device);
int cuCtxGetDevResource(handle context, struct resource *ret, int type);

static uint64_t kernel_ns = KERNEL_NS;
static void *parameters[] = {&kernel_ns, NULL};
static handle primary, function;

static void begin(void)
{
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	function = load_spin();
}

static handle made(void)
{
	handle stream, context, same, green = NULL;

	OK(cuStreamCreate(&stream, NON_BLOCKING));
	OK(cuStreamGetCtx(stream, &context));
	OK(cuStreamGetCtx_v2(stream, &same, &green));
	if (context != primary || same != primary || green)
		printf(" (of another context)");
	return stream;
}

static handle with_priority(void)
{
	handle stream;

	OK(cuStreamCreateWithPriority(&stream, NON_BLOCKING, -1));
	return stream;
}

static void *run_thread(void *userdata)
{
	OK(cuCtxSetCurrent(primary));
	*(handle *)userdata = made();
	return NULL;
}

static handle of_a_thread(void)
{
	pthread_t thread;
	handle stream;

	pthread_create(&thread, NULL, run_thread, &stream);
	pthread_join(thread, NULL);
	return stream;
}

static handle after_reset(void)
{
	OK(cuDevicePrimaryCtxReset_v2(0));
	begin();
	return made();
}

static handle blocking(void)
{
	handle stream;

	OK(cuStreamCreate(&stream, 0));
	return stream;
}

static handle legacy(void)
{
	return NULL;
}

static handle of_own_context(void)
{
	handle context;

	OK(cuCtxCreate_v2(&context, 0, 0));
	function = load_spin();
	return blocking();
}

/* A green context over all multiprocessors that the program is shown. */
static handle of_own_green(void)
{
	struct resource all, same;
	handle description, green, stream;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuCtxGetDevResource(primary, &same, 1));
	if (all.count != same.count)
		printf(" (%u of %u)", all.count, same.count);
	OK(cuDevResourceGenerateDesc(&description, &all, 1));
	OK(cuGreenCtxCreate(&green, description, 0, 1));
	OK(cuGreenCtxStreamCreate(&stream, green, NON_BLOCKING, 0));
	return stream;
}

/* The primary context has a second user (here a green context), and a library retains and
 * releases it. */
static handle kept(void)
{
	struct resource all;
	handle description, green, stream, again;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuDevResourceGenerateDesc(&description, &all, 1));
	OK(cuGreenCtxCreate(&green, description, 0, 1));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	stream = made();
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return stream;
}

/* The state of the primary context after its release and after the end of its last
 * stream. */
static void release(void)
{
	handle stream = made();
	unsigned flags;
	int is_active[2];

	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &is_active[0]));
	OK(cuStreamDestroy_v2(stream));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &is_active[1]));
	printf(" %d %d", is_active[0], is_active[1]);
}

static _Atomic int is_over;

static void *retain_and_release(void *unused)
{
	handle again;

	while (!is_over) {
		OK(cuDevicePrimaryCtxRetain(&again, 0));
		OK(cuDevicePrimaryCtxRelease_v2(0));
	}
	return unused;
}

/* Streams come and go while a library retains and releases the primary context, which has
 * another user. */
static void race(void)
{
	struct resource all;
	handle description, green;
	pthread_t thread;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuDevResourceGenerateDesc(&description, &all, 1));
	OK(cuGreenCtxCreate(&green, description, 0, 1));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	pthread_create(&thread, NULL, retain_and_release, NULL);
	for (int i = 0; i < N_RACES; i++) {
		handle stream = made();

		OK(cuStreamSynchronize(stream));
		OK(cuStreamDestroy_v2(stream));
	}
	is_over = 1;
	pthread_join(thread, NULL);
	printf(" 0");
}

static void launch(handle stream)
{
	OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void launch_graph(handle graph, handle stream)
{
	handle exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
}

static void launch_captured(handle stream)
{
	handle graph;

	OK(cuStreamBeginCapture_v2(stream, 0));
	launch(stream);
	OK(cuStreamEndCapture(stream, &graph));
	launch_graph(graph, stream);
}

static void launch_node(handle stream)
{
	struct kernel_node kernel = {.function = function,
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.parameters = parameters};
	handle graph, node;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
	launch_graph(graph, stream);
}

static const struct {
	const char *word;
	handle (*make)(void);
	void (*launch)(handle stream); /* NULL: like every kernel */
} places[] = {
	{"stream", made},
	{"priority", with_priority},
	{"thread", of_a_thread},
	{"reset", after_reset},
	{"blocking", blocking},
	{"legacy", legacy},
	{"context", of_own_context},
	{"green", of_own_green},
	{"kept", kept},
	{"graph", made, launch_captured},
	{"node", made, launch_node},
};

static double measure(handle stream, void (*submit)(handle stream))
{
	handle from, to;
	float ms = 0;

	/* Long enough that the second launch is queued behind it, however slow the
	 * machine is. */
	launch(stream);
	OK(cuEventCreate(&from, 0));
	OK(cuEventCreate(&to, 0));
	OK(cuEventRecord(from, stream));
	submit(stream);
	OK(cuEventRecord(to, stream));
	OK(cuEventSynchronize(to));
	OK(cuEventElapsedTime(&ms, from, to));
	return (double)ms / (KERNEL_NS / 1e6);
}

static void cooperate(unsigned n)
{
	handle stream = made();

	for (unsigned more = 0; more < 2; more++)
		printf(" %d", cuLaunchCooperativeKernel(function, 2 * n + more, 1, 1,
				      1024, 1, 1, 0, stream, parameters));
	OK(cuCtxSynchronize());
}

static void look_at(const char *word)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (strcmp(places[i].word, word) == 0)
			printf(" %.1f",
				measure(places[i].make(),
					places[i].launch ? places[i].launch : launch));
	}
}

int main(int argc, char **argv)
{
	int n = 0;

	OK(cuInit(0));
	OK(cuDeviceGetAttribute(&n, MULTIPROCESSORS, 0));
	printf("%d", n);
	begin();
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "cooperative") == 0)
			cooperate((unsigned)n);
		else if (strcmp(argv[i], "release") == 0)
			release();
		else if (strcmp(argv[i], "race") == 0)
			race();
		else
			look_at(argv[i]);
	}
	printf("\n");
	fflush(stdout);
	getchar();
	return 0;
}
