/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose graphs change, decide on the device what runs, or launch themselves
 * there. */
#include "pattern.h"

struct update {
	int result;
	handle node, from;
};

/* One step of a program that captures the same work again each time, and updates the
 * executable graph if it can. */
static void step(handle stream, handle *exec, uint32_t i)
{
	struct update update;
	handle graph;

	OK(cuStreamBeginCapture_v2(stream, 2));
	run(stream, 100000);
	store(stream, word(0), i);
	if (i % 4 == 0)
		store(stream, word(1), i);
	OK(cuStreamEndCapture(stream, &graph));
	if (*exec && cuGraphExecUpdate_v2(*exec, graph, &update) != 0) {
		OK(cuGraphExecDestroy(*exec));
		*exec = NULL;
	}
	if (!*exec)
		OK(cuGraphInstantiateWithFlags(exec, graph, 0));
	OK(cuGraphDestroy(graph));
	OK(cuGraphLaunch(*exec, stream));
}

uint32_t updated_graphs(void)
{
	handle stream = new_stream(NON_BLOCKING), exec = NULL;

	for (uint32_t i = 1; i <= 3 * N_ROUNDS; i++) {
		step(stream, &exec, i);
		if (i % 2 == 0)
			OK(cuStreamSynchronize(stream));
		if (i % 2 == 0 && words[0] != i)
			return 0;
	}
	return words[1];
}

#ifndef ROCM
int cuGraphUpload(handle exec, handle stream);
int cuStreamBeginCaptureToGraph(handle stream, handle graph, const handle *after,
	const void *edges, size_t n, int mode);

#define N_GRAPHS 4 /* rounds */
#define NODE_CONDITIONAL 13
#define SET_BY_DEFAULT 1
#define IF 0
#define WHILE 1

struct conditional_node {
	int type, reserved[3];
	uint64_t condition;
	int kind;
	unsigned n;
	handle *bodies;
	handle context;
	uint64_t rest[26];
};

/* Adds a node to the graph and captures what is in it. */
static handle add_conditional(
	handle graph, int kind, unsigned value, void (*capture)(handle stream))
{
	struct conditional_node params = {
		.type = NODE_CONDITIONAL, .kind = kind, .n = 1, .context = context};
	handle stream = new_stream(NON_BLOCKING), node, body;

	OK(cuGraphConditionalHandleCreate(
		&params.condition, graph, context, value, SET_BY_DEFAULT));
	OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
	body = params.bodies[0];
	OK(cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, 2));
	capture(stream);
	OK(cuStreamEndCapture(stream, &graph));
	if (graph != body)
		exit(1);
	OK(cuStreamDestroy_v2(stream));
	return node;
}

static void compute(handle stream)
{
	run(stream, 100000);
	store(stream, word(0), 1);
}

/* What the condition skips. */
static void fail(handle stream)
{
	store(stream, word(0), 1000);
}

/* Loops and branches that the device decides on, beside work of another stream for which
 * they are launched early. */
uint32_t conditional_graphs(void)
{
	handle stream = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING), graph,
	       exec;

	OK(cuGraphCreate(&graph, 0));
	add_conditional(graph, WHILE, 7, compute);
	add_conditional(graph, IF, 0, fail);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (uint32_t i = 1; i <= N_GRAPHS; i++) {
		await_word(stream, word(2), i);
		OK(cuGraphLaunch(exec, stream));
		store(stream, word(1), i);
		run(other, 200000);
		store(other, word(2), i);
		OK(cuStreamSynchronize(stream));
	}
	return words[0] == 1 ? words[1] : 0;
}

#define FOR_DEVICE 4

/* A graph whose kernel launches it again. */
uint32_t relaunched_graphs(void)
{
	handle stream = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING), graph,
	       exec;

	OK(cuStreamBeginCapture_v2(other, 2));
	again(other);
	OK(cuStreamEndCapture(other, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, FOR_DEVICE));
	OK(cuGraphUpload(exec, stream));
	for (uint32_t i = 1; i <= N_GRAPHS; i++) {
		await_word(stream, word(2), i);
		OK(cuGraphLaunch(exec, stream));
		store(stream, word(1), i);
		run(other, 200000);
		store(other, word(2), i);
		OK(cuStreamSynchronize(stream));
	}
	return words[1];
}
#endif
