/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to have work that is not counted, or that counts as complete before it is. */
#include "cuda.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

int cuLaunchCooperativeKernelMultiDevice(void *launches, unsigned n, unsigned flags);

/* The kernel is short until the gate has learned that.  Then it is launched four thousand
 * times and is long. */
static int trained(char **arguments)
{
	handle stream;

	gpu_open();
	stream = new_stream();
	train(spin, 2000);
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 4000; i++)
			launch(stream, 2000000);
		OK(cuStreamSynchronize(stream));
		train(spin, 2000);
	}
}

/* A copy between host and device is complete when the call returns.  A copy of no bytes
 * must not make the gate count what is before it as complete. */
static int empty_copy(char **arguments)
{
	char nothing = 0;
	dptr to;

	gpu_open();
	OK(cuMemAlloc_v2(&to, 4096));
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 16; i++)
			launch(NULL, KERNEL_NS);
		OK(cuMemcpyHtoD_v2(to, &nothing, 0));
	}
}

/* While a stream is captured, no marker can be placed in the legacy stream.  Releasing
 * one of several references to the primary context must not make the gate drop its
 * streams. */
static int let_go_in_capture(char **arguments)
{
	handle captured, context;

	gpu_open();
	captured = new_stream();
	train(spin, KERNEL_NS);
	OK(cuStreamBeginCapture_v2(captured, 2));
	way_say("go\n");
	for (;;) {
		launch(NULL, 4 * KERNEL_NS);
		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuDevicePrimaryCtxRelease_v2(0));
	}
}

/* The same without a capture. */
static int let_go(char **arguments)
{
	handle context, stream;

	gpu_open();
	stream = new_stream();
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 4; i++)
			launch(stream, KERNEL_NS);
		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuDevicePrimaryCtxRelease_v2(0));
	}
}

/* The same with a context that does not exist. */
static int destroy_nothing(char **arguments)
{
	handle captured;

	gpu_open();
	captured = new_stream();
	train(spin, KERNEL_NS);
	OK(cuStreamBeginCapture_v2(captured, 2));
	way_say("go\n");
	for (;;) {
		launch(NULL, 4 * KERNEL_NS);
		if (cuCtxDestroy_v2(NULL) == 0)
			way_die("cuCtxDestroy(NULL)", 0);
	}
}

/* The driver refuses the wait for a context in a capture that is not relaxed, and never
 * destroys the primary context: its work goes on and must not count as complete. */
static int destroy_primary_in_capture(char **arguments)
{
	handle context;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	train(spin, KERNEL_NS);
	OK(cuStreamBeginCapture_v2(new_stream(), 0));
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 20; i++)
			launch(NULL, 4 * KERNEL_NS);
		if (cuCtxDestroy_v2(context) == 0)
			way_die("cuCtxDestroy of the primary context", 0);
	}
}

static void *capture_for_ever(void *userdata)
{
	handle stream, graph;

	OK(cuCtxSetCurrent(userdata));
	stream = new_stream();
	for (;;) {
		OK(cuStreamBeginCapture_v2(stream, 0));
		usleep(200);
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphDestroy(graph));
	}
	return NULL;
}

/* For another thread's default stream the gate waits for the whole context, which is not
 * possible while one of its streams is captured. */
static int beside_captures(char **arguments)
{
	pthread_t thread;
	handle context;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	pthread_create(&thread, NULL, capture_for_ever, context);
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 16; i++)
			launch((handle)2, KERNEL_NS);
		while (cuStreamQuery((handle)2) != 0)
			usleep(100);
	}
}

/* A stream joins a capture and is destroyed in it, so that the gate takes the capture for
 * ended. */
static int joined_and_destroyed(char **arguments)
{
	handle captured, joined, event, graph, exec;

	gpu_open();
	captured = new_stream();
	OK(cuEventCreate(&event, 2));
	way_say("go\n");
	for (;;) {
		joined = new_stream();
		OK(cuStreamBeginCapture_v2(captured, 2));
		OK(cuEventRecord(event, captured));
		OK(cuStreamWaitEvent(joined, event, 0));
		OK(cuEventRecord(event, joined));
		OK(cuStreamWaitEvent(captured, event, 0));
		OK(cuStreamDestroy_v2(joined));
		for (int i = 0; i < 10; i++)
			try_launch(captured, KERNEL_NS);
		if (cuStreamEndCapture(captured, &graph) != 0) {
			launch(captured, KERNEL_NS);
			continue;
		}
		OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
		for (int i = 0; i < 4; i++)
			OK(cuGraphLaunch(exec, captured));
		OK(cuStreamSynchronize(captured));
		OK(cuGraphExecDestroy(exec));
		OK(cuGraphDestroy(graph));
	}
}

/* Hundreds of kernels in one call. */
static int several_at_once(char **arguments)
{
	struct of_one {
		handle function;
		unsigned grid[3], block[3], shared;
		handle stream;
		void **parameters;
	} all[100];
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns};
	handle stream;

	gpu_open();
	stream = new_stream();
	for (int i = 0; i < 100; i++)
		all[i] = (struct of_one){
			spin, {1, 1, 1}, {32, 1, 1}, 0, stream, parameters};
	way_say("go\n");
	for (;;) {
		OK(cuLaunchCooperativeKernelMultiDevice(all, 100, 0));
		OK(cuStreamSynchronize(stream));
	}
}

/* A function of a table that only NVIDIA's own runtimes know. */
static int export_table(char **arguments)
{
	static const unsigned char id[16] = {0xc1, 0xea, 0x7e, 0xd0, 0x0b, 0x1e, 0x4a,
		0x11, 0x9c, 0x0d, 0xca, 0xfe, 0xba, 0xbe, 0x00, 0x01};
	const struct {
		size_t bytes;
		int (*launch)(handle function, unsigned gx, unsigned gy, unsigned gz,
			unsigned bx, unsigned by, unsigned bz, unsigned shared,
			handle stream, void **parameters, void **extra);
	} *table = NULL;
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns};
	handle stream;

	gpu_open();
	stream = new_stream();
	OK(cuGetExportTable((const void **)(void *)&table, id));
	way_say("go\n");
	for (;;) {
		for (int i = 0; i < 16; i++)
			OK(table->launch(
				spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
		OK(cuStreamSynchronize(stream));
	}
}

const struct way way_counts[] = {
	{"trained", trained},
	{"empty-copy", empty_copy},
	{"let-go-in-capture", let_go_in_capture},
	{"let-go", let_go},
	{"destroy-nothing", destroy_nothing},
	{"destroy-primary-in-capture", destroy_primary_in_capture},
	{"beside-captures", beside_captures},
	{"joined-and-destroyed", joined_and_destroyed},
	{"several-at-once", several_at_once},
	{"export-table", export_table},
	{NULL, NULL},
};
