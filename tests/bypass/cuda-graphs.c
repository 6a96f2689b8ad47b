/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more than the share by graphs. */
#include "cuda.h"

struct kernel_parameters {
	handle function;
	unsigned grid[3], block[3], shared;
	void **parameters, **extra;
	handle kernel, context;
};

struct node_parameters {
	int type, reserved[3];
	union {
		long long whole[29];
		struct {
			uint64_t condition;
			int type;
			uint32_t n;
			handle *bodies;
			handle context;
		} conditional;
	};
	long long last;
};

static uint64_t kernel_ns = KERNEL_NS;
static handle exec, node;

static struct kernel_parameters of_kernel(handle function, uint64_t *ns)
{
	static void *parameters[1];

	parameters[0] = ns;
	return (struct kernel_parameters){.function = function,
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.parameters = parameters};
}

static void add_kernel(handle graph, handle function, uint64_t ns)
{
	struct kernel_parameters parameters = of_kernel(function, &ns);

	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &parameters));
}

static handle new_graph(void)
{
	handle graph;

	OK(cuGraphCreate(&graph, 0));
	return graph;
}

static void instantiate(handle graph)
{
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
}

static void prepare_one(void)
{
	handle graph = new_graph();

	add_kernel(graph, spin, kernel_ns);
	instantiate(graph);
}

static void prepare_many(void)
{
	handle graph = new_graph();

	for (int i = 0; i < 20; i++)
		add_kernel(graph, spin, kernel_ns);
	instantiate(graph);
}

static void prepare_children(void)
{
	handle graph = new_graph(), outer, child;

	add_kernel(graph, spin, kernel_ns);
	for (int i = 0; i < 8; i++) {
		outer = new_graph();
		OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, graph));
		graph = outer;
	}
	instantiate(graph);
}

/* A loop of twenty iterations in the graph itself. */
static void prepare_loop(void)
{
	struct node_parameters parameters = {.type = 13};
	handle graph = new_graph(), loop;
	uint64_t condition;

	OK(cuGraphConditionalHandleCreate(&condition, graph, NULL, 20, 1));
	parameters.conditional.condition = condition;
	parameters.conditional.type = 1;
	parameters.conditional.n = 1;
	OK(cuGraphAddNode(&loop, graph, NULL, 0, &parameters));
	add_kernel(parameters.conditional.bodies[0], spin, kernel_ns);
	instantiate(graph);
}

/* A graph that launches itself from the device, which no call shows. */
static void prepare_relaunch(void)
{
	handle graph = new_graph();

	add_kernel(graph, load_kernel("kernel again relaunch 20 500000\n"), 0);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 4));
}

static void run_graph(handle stream)
{
	OK(cuGraphLaunch(exec, stream));
}

static handle captured(handle stream)
{
	handle graph;

	OK(cuStreamBeginCapture_v2(stream, 2));
	for (int i = 0; i < 10; i++)
		launch(stream, kernel_ns);
	OK(cuStreamEndCapture(stream, &graph));
	return graph;
}

/* A new graph for each launch. */
static void capture_and_run(handle stream)
{
	handle graph = captured(stream);

	instantiate(graph);
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* A kernel that was short when the gate learned its duration becomes long, and short
 * again. */
static void change_and_run(handle stream)
{
	static unsigned n;
	uint64_t ns = n++ % 50 ? 2000 : 20000000;
	struct kernel_parameters parameters = of_kernel(spin, &ns);

	OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters));
	OK(cuGraphLaunch(exec, stream));
}

const struct flood way_graph_floods[] = {
	{"graph", run_graph, 2, prepare_many},
	{"graph-of-one", run_graph, 16, prepare_one},
	{"graph-in-graphs", run_graph, 16, prepare_children},
	{"graph-loop", run_graph, 1, prepare_loop},
	{"graph-relaunched", run_graph, 1, prepare_relaunch},
	{"graph-captured", capture_and_run, 2, NULL},
	{"graph-changed", change_and_run, 100, prepare_one},
	{NULL, NULL, 0, NULL},
};
