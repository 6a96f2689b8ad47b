/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs are launched as one command, whatever is in them: conditional nodes, child
 * graphs, launches from the device.  How long one takes is learned as for a kernel.
 * Memory that their nodes allocate is charged when they are launched. */
#include "gate/cuda/library.h"
#include "gate/cuda/memory.h"
#include "gate/cuda/pool.h"
#include "gate/cuda/submit.h"

#include <pthread.h>
#include <stdlib.h>

/* Executable graphs that allocate, which few do. */
struct allocating {
	struct allocating *next;
	void *graph;
	uint64_t n_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocating *allocating;
static _Atomic uint32_t n_allocating;

/* Graphs in graphs, as deep as the program likes: a list instead of calls in calls. */
struct search {
	void **graphs; /* still to be looked into */
	size_t n, room;
	uint64_t n_bytes;
};

static void add(struct search *search, void *graph)
{
	if (search->n == search->room) {
		size_t room = 2 * search->room + 8;
		void **graphs = realloc(search->graphs, room * sizeof(*graphs));

		if (!graphs)
			return;
		search->graphs = graphs;
		search->room = room;
	}
	search->graphs[search->n++] = graph;
}

static void look_at_node(struct search *search, void *node)
{
	struct clv_cuda_node_allocation allocation = {0};
	void *child = NULL;
	int type = 0;

	if (clv_cuda.cuGraphNodeGetType(node, &type) != CLV_CUDA_SUCCESS)
		return;
	if (type == CLV_CUDA_NODE_ALLOCATE && clv_cuda.cuGraphMemAllocNodeGetParams(node,
						      &allocation) == CLV_CUDA_SUCCESS)
		search->n_bytes += allocation.n_bytes;
	if (type == CLV_CUDA_NODE_GRAPH &&
		clv_cuda.cuGraphChildGraphNodeGetGraph(node, &child) == CLV_CUDA_SUCCESS)
		add(search, child);
}

static void look_at_graph(struct search *search, void *graph)
{
	size_t n = 0;
	void **nodes;

	if (clv_cuda.cuGraphGetNodes(graph, NULL, &n) != CLV_CUDA_SUCCESS || n == 0)
		return;
	nodes = calloc(n, sizeof(*nodes));
	if (nodes && clv_cuda.cuGraphGetNodes(graph, nodes, &n) == CLV_CUDA_SUCCESS) {
		for (size_t i = 0; i < n; i++)
			look_at_node(search, nodes[i]);
	}
	free(nodes);
}

static uint64_t bytes_of_graph(void *graph)
{
	struct search search = {0};

	add(&search, graph);
	while (search.n > 0)
		look_at_graph(&search, search.graphs[--search.n]);
	free(search.graphs);
	return search.n_bytes;
}

static int instantiated(void *const *graph_exec, void *graph, int result)
{
	struct allocating *record;
	uint64_t n_bytes;

	if (result != CLV_CUDA_SUCCESS || !clv_gate_peek())
		return result;
	n_bytes = bytes_of_graph(graph);
	record = n_bytes > 0 ? malloc(sizeof(*record)) : NULL;
	if (!record)
		return result;
	pthread_mutex_lock(&lock);
	*record = (struct allocating){allocating, *graph_exec, n_bytes};
	allocating = record;
	atomic_fetch_add(&n_allocating, 1);
	pthread_mutex_unlock(&lock);
	return result;
}

int clv_own_cuGraphInstantiate(clv_fn_cuGraphInstantiate *real, void *ph_graph_exec,
	void *h_graph, void *ph_error_node, void *log_buffer, size_t buffer_size)
{
	return instantiated(ph_graph_exec, h_graph,
		real(ph_graph_exec, h_graph, ph_error_node, log_buffer, buffer_size));
}

int clv_own_cuGraphInstantiate_v2(clv_fn_cuGraphInstantiate_v2 *real, void *ph_graph_exec,
	void *h_graph, void *ph_error_node, void *log_buffer, size_t buffer_size)
{
	return instantiated(ph_graph_exec, h_graph,
		real(ph_graph_exec, h_graph, ph_error_node, log_buffer, buffer_size));
}

int clv_own_cuGraphInstantiateWithFlags(clv_fn_cuGraphInstantiateWithFlags *real,
	void *ph_graph_exec, void *h_graph, uint64_t flags)
{
	return instantiated(ph_graph_exec, h_graph, real(ph_graph_exec, h_graph, flags));
}

int clv_own_cuGraphInstantiateWithParams(clv_fn_cuGraphInstantiateWithParams *real,
	bool is_per_thread, void *ph_graph_exec, void *h_graph, void *instantiate_params)
{
	(void)is_per_thread;
	return instantiated(
		ph_graph_exec, h_graph, real(ph_graph_exec, h_graph, instantiate_params));
}

static uint64_t bytes_to_allocate(void *graph)
{
	struct allocating *each;
	uint64_t n_bytes = 0;

	if (atomic_load_explicit(&n_allocating, memory_order_relaxed) == 0)
		return 0;
	pthread_mutex_lock(&lock);
	for (each = allocating; each && each->graph != graph; each = each->next)
		;
	if (each)
		n_bytes = each->n_bytes;
	pthread_mutex_unlock(&lock);
	return n_bytes;
}

int clv_own_cuGraphExecDestroy(clv_fn_cuGraphExecDestroy *real, void *graph)
{
	struct allocating **link, *gone = NULL;

	pthread_mutex_lock(&lock);
	for (link = &allocating; *link && !gone;) {
		if ((*link)->graph == graph) {
			gone = *link;
			*link = gone->next;
			atomic_fetch_sub(&n_allocating, 1);
		} else {
			link = &(*link)->next;
		}
	}
	pthread_mutex_unlock(&lock);
	free(gone);
	return real(graph);
}

static int launch(
	clv_fn_cuGraphLaunch *real, void *graph, void *stream, bool is_per_thread)
{
	struct clv_stream_submission submission;
	int r = clv_stream_launch_begin(&submission, stream, is_per_thread,
		clv_cost_key_kernel(graph, 0, 0, 0), false);

	if (r == CLV_CUDA_SUCCESS)
		r = clv_stream_submission_end(&submission, real(graph, stream));
	return r;
}

/* The turn comes first, for the driver allocates when it launches. */
static int launch_allocating(clv_fn_cuGraphLaunch *real, void *graph, void *stream,
	bool is_per_thread, uint64_t n_bytes)
{
	struct clv_cuda_growth growth;
	int device = 0, r;

	if (clv_cuda.cuCtxGetDevice(&device) != CLV_CUDA_SUCCESS)
		return real(graph, stream);
	if (!clv_cuda_growth_begin(&growth, NULL, device, n_bytes))
		return CLV_CUDA_OUT_OF_MEMORY;
	r = launch(real, graph, stream, is_per_thread);
	clv_cuda_growth_end(&growth);
	return r;
}

int clv_own_cuGraphLaunch(
	clv_fn_cuGraphLaunch *real, bool is_per_thread, void *graph, void *stream)
{
	uint64_t kind = clv_cost_key_kernel(graph, 0, 0, 0), n_bytes;

	n_bytes = bytes_to_allocate(graph);
	if (CLV_UNLIKELY(n_bytes > 0))
		return launch_allocating(real, graph, stream, is_per_thread, n_bytes);
	if (CLV_UNLIKELY(!clv_quick_pass(clv_stream_handle(stream, is_per_thread), kind)))
		return launch(real, graph, stream, is_per_thread);
	return real(graph, stream);
}

/* One kernel on several devices at once, of which the lease has one. */
int clv_own_cuLaunchCooperativeKernelMultiDevice(
	clv_fn_cuLaunchCooperativeKernelMultiDevice *real, void *launch_params_list,
	uint32_t num_devices, uint32_t flags)
{
	const struct clv_cuda_launch_of_several *launches = launch_params_list;
	struct clv_stream_submission submission;
	int r;

	if (num_devices == 0 || !clv_cuda_is_readable(launches, sizeof(*launches)))
		return real(launch_params_list, num_devices, flags);
	r = clv_stream_launch_begin(&submission, launches[0].stream, false,
		clv_cost_key_kernel(launches[0].function, launches[0].grid[0],
			launches[0].grid[1], launches[0].grid[2]),
		false);
	if (r == CLV_CUDA_SUCCESS)
		r = clv_stream_submission_end(
			&submission, real(launch_params_list, num_devices, flags));
	return r;
}
