/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>

/* Tests of graphs, built by calls and by capture. */

static struct stream *new_stream(void)
{
	struct stream *s;

	OK(hipStreamCreateWithFlags(&s, 1));
	return s;
}

static struct exec *instantiate(struct graph *graph)
{
	struct exec *exec;

	OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
	return exec;
}

static float run_ms(struct exec *exec, struct stream *s)
{
	struct event *from, *to;

	OK(hipEventCreate(&from));
	OK(hipEventCreate(&to));
	launch(kernel("ms100"), s, 0, 0);
	OK(hipEventRecord(from, s));
	OK(hipGraphLaunch(exec, s));
	OK(hipEventRecord(to, s));
	OK(hipStreamSynchronize(s));
	return elapsed_ms(from, to);
}

static _Atomic int called;

static void count_call(void *user)
{
	called += (int)(intptr_t)user;
}

/* Nodes by function, and by stub of the program. */
static void by_hand(void)
{
	uint32_t value = 0, number = 5, other = 6;
	void *p, *params[] = {&p, &number}, *others[] = {&p, &other};
	struct kernel_params kernel_of = {.block = {1, 1, 1},
		.grid = {1, 1, 1},
		.function = kernel("slow"),
		.params = params};
	struct set_params set = {.element = 4, .height = 1, .value = 3, .width = 1};
	struct host_params host = {count_call, (void *)1};
	struct node *fill, *store, *copy, *call, *nodes[8];
	struct stream *s = new_stream();
	size_t n = 8;
	struct graph *graph;
	struct exec *exec;
	int type;

	OK(hipMalloc(&p, 4));
	set.dst = p;
	OK(hipGraphCreate(&graph, 0));
	OK(hipGraphAddMemsetNode(&fill, graph, NULL, 0, &set));
	OK(hipGraphAddKernelNode(&store, graph, &fill, 1, &kernel_of));
	OK(hipGraphAddMemcpyNode1D(&copy, graph, &store, 1, &value, p, 4, HIP_TO_HOST));
	OK(hipGraphAddHostNode(&call, graph, &copy, 1, &host));
	OK(hipGraphGetNodes(graph, nodes, &n));
	CHECK(n == 4 && nodes[0] == fill && nodes[3] == call);
	OK(hipGraphNodeGetType(store, &type));
	CHECK(type == (DHI_ROCM >= 6 ? 0 : 1));
	exec = instantiate(graph);
	CHECK(run_ms(exec, s) >= 5 && value == 5 && called == 1);
	kernel_of.params = others;
	OK(hipGraphExecKernelNodeSetParams(exec, store, &kernel_of));
	run_ms(exec, s);
	CHECK(value == 6 && called == 2);
	OK(hipGraphExecDestroy(exec));
	OK(hipGraphDestroy(graph));
	IS(HIP_INVALID_VALUE, hipGraphDestroy(graph));
}

static void order(void)
{
	struct kernel_params p = {
		.block = {1, 1, 1}, .grid = {1, 1, 1}, .function = kernel("us20")};
	struct node *a, *b, *edges[2], *ends[2];
	struct graph *graph, *clone;
	struct exec *exec;
	size_t n = 2;

	OK(hipGraphCreate(&graph, 0));
	OK(hipGraphAddKernelNode(&a, graph, NULL, 0, &p));
	OK(hipGraphAddKernelNode(&b, graph, NULL, 0, &p));
	OK(hipGraphAddDependencies(graph, &b, &a, 1));
	OK(hipGraphGetEdges(graph, edges, ends, &n));
	CHECK(n == 1 && edges[0] == b && ends[0] == a);
	OK(hipGraphClone(&clone, graph));
	OK(hipGraphAddDependencies(graph, &a, &b, 1));
	IS(HIP_INVALID_VALUE, hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
	exec = instantiate(clone);
	BETWEEN(0.0399, run_ms(exec, new_stream()), 0.0401);
}

static void child(void)
{
	struct kernel_params p = {
		.block = {1, 1, 1}, .grid = {1, 1, 1}, .function = kernel("us20")};
	struct graph *inner, *outer;
	struct node *node, *first;

	OK(hipGraphCreate(&inner, 0));
	OK(hipGraphCreate(&outer, 0));
	OK(hipGraphAddKernelNode(&node, inner, NULL, 0, &p));
	OK(hipGraphAddChildGraphNode(&first, outer, NULL, 0, inner));
	OK(hipGraphAddChildGraphNode(&node, outer, &first, 1, inner));
	OK(hipGraphDestroy(inner));
	BETWEEN(0.0399, run_ms(instantiate(outer), new_stream()), 0.0401);
}

static void capture(void)
{
	struct stream *s = new_stream(), *side = new_stream();
	struct event *fork_of, *join_of;
	struct graph *graph;
	size_t n = 0;
	int status;

	kernel("ms1");
	OK(hipEventCreate(&fork_of));
	OK(hipEventCreate(&join_of));
	OK(hipStreamBeginCapture(s, 0));
	launch(kernel("ms1"), s, 0, 0);
	OK(hipEventRecord(fork_of, s));
	OK(hipStreamWaitEvent(side, fork_of, 0));
	launch(kernel("ms1"), side, 0, 0);
	launch(kernel("ms1"), s, 0, 0);
	OK(hipEventRecord(join_of, side));
	OK(hipStreamWaitEvent(s, join_of, 0));
	OK(hipStreamIsCapturing(side, &status));
	CHECK(status == 1);
	IS(HIP_CAPTURED_EVENT, hipEventQuery(join_of));
	OK(hipStreamEndCapture(s, &graph));
	OK(hipStreamIsCapturing(side, &status));
	CHECK(status == 0);
	CHECK(stat_of("process", "launches") <= 0);
	OK(hipGraphGetNodes(graph, NULL, &n));
	CHECK(n == 3);
	OK(hipGraphGetEdges(graph, NULL, NULL, &n));
	CHECK(n == 2);
	BETWEEN(2.999, run_ms(instantiate(graph), s), 3.001);
}

static void spoilt(void)
{
	struct stream *s = new_stream(), *side = new_stream(), *blocking;
	struct event *event;
	struct graph *graph;
	void *p;

	OK(hipEventCreate(&event));
	OK(hipStreamBeginCapture(s, 0));
	IS(HIP_CAPTURE_UNSUPPORTED, hipMalloc(&p, 64));
	IS(HIP_CAPTURE_INVALIDATED, hipStreamEndCapture(s, &graph));
	OK(hipStreamBeginCapture(s, 2));
	OK(hipMalloc(&p, 64));
	OK(hipEventRecord(event, s));
	OK(hipStreamWaitEvent(side, event, 0));
	OK(hipMemsetAsync(p, 0, 64, side));
	IS(HIP_CAPTURE_UNMATCHED, hipStreamEndCapture(side, &graph));
	IS(HIP_CAPTURE_UNJOINED, hipStreamEndCapture(s, &graph));
	OK(hipStreamCreate(&blocking));
	OK(hipStreamBeginCapture(blocking, 0));
	IS(HIP_CAPTURE_IMPLICIT, hipMemsetAsync(p, 0, 64, NULL));
	IS(HIP_CAPTURE_INVALIDATED, hipStreamEndCapture(blocking, &graph));
	IS(HIP_ILLEGAL_STATE, hipStreamEndCapture(s, &graph));
	IS(HIP_CAPTURE_UNSUPPORTED, hipStreamBeginCapture(NULL, 0));
}

/* The graph and its executables own memory allocated during the capture. */
static void captured_memory(void)
{
	struct stream *s = new_stream();
	struct graph *graph;
	struct exec *exec;
	void *p;

	OK(hipStreamBeginCapture(s, 2));
	OK(hipMallocAsync(&p, 4 * MIB, s));
	OK(hipMemsetAsync(p, 1, 4 * MIB, s));
	OK(hipFreeAsync(p, s));
	OK(hipStreamEndCapture(s, &graph));
	exec = instantiate(graph);
	OK(hipGraphDestroy(graph));
	CHECK(stat_of("gpu 0", "used") == (long long)(4 * MIB));
	OK(hipGraphLaunch(exec, s));
	OK(hipStreamSynchronize(s));
	OK(hipGraphExecDestroy(exec));
	CHECK(stat_of("gpu 0", "used") == 0);
}

static void update(void)
{
	struct stream *s = new_stream();
	struct graph *graphs[2];
	struct exec *exec;
	struct node *error;
	int result;

	for (int i = 0; i < 2; i++) {
		OK(hipStreamBeginCapture(s, 2));
		launch(kernel(i ? "ms1" : "us20"), s, 0, 0);
		OK(hipStreamEndCapture(s, &graphs[i]));
	}
	exec = instantiate(graphs[0]);
	OK(hipGraphExecUpdate(exec, graphs[1], &error, &result));
	BETWEEN(0.999, run_ms(exec, s), 1.001);
	OK(hipGraphCreate(&graphs[0], 0));
	IS(HIP_GRAPH_UPDATE_FAILURE,
		hipGraphExecUpdate(exec, graphs[0], &error, &result));
}

const struct case_of_test graph_cases[] = {
	{"by-hand", by_hand, NULL, NULL},
	{"order", order, NULL, NULL},
	{"child", child, NULL, NULL},
	{"capture", capture, NULL, NULL},
	{"spoilt", spoilt, NULL, NULL},
	{"captured-memory", captured_memory, NULL, NULL},
	{"update", update, NULL, NULL},
	{0},
};
