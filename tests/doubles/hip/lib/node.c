/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <string.h>

/* The nodes of graphs, and their parameters. */

#define FIRST_TYPE (DHI_ROCM >= 6 ? 0 : 1)

int dhi_node_add(struct node **ret, struct graph *graph, struct node *const *deps,
	size_t n, const struct op *op)
{
	if (!ret || !dhi_is_graph(graph) || (n && !deps))
		return HIP_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!deps[i] || deps[i]->graph != graph)
			return HIP_INVALID_VALUE;
	*ret = dhi_graph_add(graph, deps, n, op);
	return 0;
}

static bool is(const struct node *node, enum op_kind kind)
{
	return node && node->graph && node->op.kind == kind;
}

/* The node of the executable graph that is a copy of this one. */
static struct node *in_exec(struct exec *exec, const struct node *node, enum op_kind kind)
{
	if (!dhi_is_exec(exec) || !is(node, kind))
		return NULL;
	return dhi_graph_find(exec->graph, node);
}

int dhi_hipGraphNodeGetType(struct node *node, int *ret)
{
	static const int types[] = {[OP_KERNEL] = 0,
		[OP_COPY] = 1,
		[OP_FILL] = 2,
		[OP_HOST] = 3,
		[OP_GRAPH] = 4,
		[OP_EMPTY] = 5,
		[OP_WAIT] = 6,
		[OP_RECORD] = 7,
		[OP_SEMAPHORES] = 9,
		[OP_ALLOC] = 10,
		[OP_FREE] = 11};

	if (!node || !node->graph || !ret)
		return HIP_INVALID_VALUE;
	*ret = types[node->op.kind] + FIRST_TYPE;
	return 0;
}

/* --- Kernels, by their stubs --- */

static int kernel_op(const struct kernel_params *p, struct op *ret)
{
	uint32_t threads[3], block[3];
	struct func *f;

	if (!p || !p->function)
		return HIP_INVALID_VALUE;
	f = dhi_func_of(p->function, dhi_current());
	if (!f && dhi_is_func(p->function))
		f = p->function;
	if (!f)
		return HIP_INVALID_DEVICE_FUNCTION;
	memcpy(block, &p->block, sizeof(block));
	memcpy(threads, &p->grid, sizeof(threads));
	for (int i = 0; i < 3; i++)
		threads[i] *= block[i];
	return dhi_launch_op(f, threads, block, p->shared, p->params, p->extra, ret);
}

/* The parameters returned by queries are the node's own copy. */
static void keep_kernel(
	struct node *node, const struct kernel_params *p, const struct op *op)
{
	node->op = *op;
	node->kernel = *p;
	node->kernel.extra = NULL;
	node->kernel.params = node->params;
	for (int i = 0; i < N_ARGS; i++)
		node->params[i] = node->op.kernel.args + dhi_arg_offset(i);
}

int dhi_hipGraphAddKernelNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct kernel_params *p)
{
	struct op op;
	int r = kernel_op(p, &op);

	r = r ? r : dhi_node_add(ret, graph, deps, n, &op);
	if (!r)
		keep_kernel(*ret, p, &op);
	return r;
}

static int set_kernel(struct node *node, const struct kernel_params *p)
{
	struct op op;
	int r = node ? kernel_op(p, &op) : HIP_INVALID_VALUE;

	if (!r)
		keep_kernel(node, p, &op);
	return r;
}

int dhi_hipGraphExecKernelNodeSetParams(
	struct exec *exec, struct node *node, const struct kernel_params *p)
{
	return set_kernel(in_exec(exec, node, OP_KERNEL), p);
}

/* --- Copies --- */

static int copy_op(void *dst, const void *src, size_t bytes, int kind, struct op *ret)
{
	if (!dst || !src || kind < 0 || kind > 4)
		return HIP_INVALID_VALUE;
	*ret = (struct op){.kind = OP_COPY,
		.copy = {
			.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1}};
	return 0;
}

int dhi_hipGraphAddMemcpyNode1D(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, void *dst, const void *src, size_t bytes,
	int kind)
{
	struct op op;
	int r = copy_op(dst, src, bytes, kind, &op);

	return r ? r : dhi_node_add(ret, graph, deps, n, &op);
}

/* --- Fills --- */

static int set_op(const struct set_params *p, struct op *ret)
{
	if (!p || !p->dst || (p->element != 1 && p->element != 2 && p->element != 4))
		return HIP_INVALID_VALUE;
	*ret = (struct op){.kind = OP_FILL,
		.fill = {p->dst, p->pitch, 0, p->width * p->element, p->height, 1,
			p->value, p->element}};
	return 0;
}

int dhi_hipGraphAddMemsetNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct set_params *p)
{
	struct op op;
	int r = set_op(p, &op);

	r = r ? r : dhi_node_add(ret, graph, deps, n, &op);
	if (!r)
		(*ret)->set = *p;
	return r;
}

/* --- Host functions --- */

int dhi_hipGraphAddHostNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct host_params *p)
{
	struct op op = {.kind = OP_HOST};

	if (!p || !p->fn)
		return HIP_INVALID_VALUE;
	op.host.fn = p->fn;
	op.host.user = p->user;
	return dhi_node_add(ret, graph, deps, n, &op);
}

int dhi_hipGraphHostNodeGetParams(struct node *node, struct host_params *ret)
{
	if (!node || !ret || !node->graph || node->op.kind != OP_HOST)
		return HIP_INVALID_VALUE;
	ret->fn = node->op.host.fn;
	ret->user = node->op.host.user;
	return 0;
}

/* --- Graphs and events --- */

int dhi_hipGraphAddChildGraphNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, struct graph *child)
{
	struct op op = {.kind = OP_GRAPH};
	int r;

	if (!dhi_is_graph(child) || child == graph)
		return HIP_INVALID_VALUE;
	op.graph = dhi_graph_clone(child);
	op.graph->owner = graph;
	r = dhi_node_add(ret, graph, deps, n, &op);
	if (r)
		dhi_graph_free(op.graph);
	return r;
}

/* --- Memory: allocated with the node, and owned by the graph until it is destroyed
 * --- */

int dhi_hipGraphAddMemAllocNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, struct alloc_node *params)
{
	struct op op = {.kind = OP_ALLOC};
	struct device *device;
	int r;

	if (!params || !params->bytes || !dhi_is_graph(graph))
		return HIP_INVALID_VALUE;
	device = dhi_device_at(params->props.location.id);
	if (!device)
		return HIP_INVALID_VALUE;
	r = dhi_graph_take(graph, device, params->bytes, &op.memory.p);
	r = r ? r : dhi_node_add(ret, graph, deps, n, &op);
	if (!r)
		params->p = op.memory.p;
	return r;
}
