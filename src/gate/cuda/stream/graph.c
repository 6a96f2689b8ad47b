/* SPDX-License-Identifier: Apache-2.0 */
/* A graph is launched as one command, whatever is in it: conditional nodes, child graphs,
 * launches from the device.  Its duration is learned like a kernel's.  Waits at its
 * beginning are submitted to the stream before it (streams/graph.h).  Memory that its
 * nodes allocate is charged when it is launched. */
#include "gate/cuda/stream/graph.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/cuda/memory/pool.h"
#include "gate/cuda/stream/submit.h"
#include "gate/process/hot.h"
#include "gate/process/view.h"
#include "gate/queue/queues.h"
#include "gate/streams/graph.h"
#include "gate/streams/handle.h"
#include "gate/streams/submit.h"
#include "gate/window/costs.h"

#include <pthread.h>
#include <stdlib.h>

/* Executable graphs whose nodes allocate memory.  Few do. */
struct allocating {
	struct allocating *next;
	void *graph;
	uint64_t n_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocating *allocating;
static _Atomic uint32_t n_allocating;

/* A search through a graph and its child graphs.  They may be nested to any depth, so the
 * graphs to be searched are in a list, and no function is recursive. */
struct search {
	void **graphs; /* still to be searched */
	size_t n, room;
	uint64_t n_bytes;
};

static bool add(struct search *search, void *graph)
{
	if (search->n == search->room) {
		size_t room = 2 * search->room + 8;
		void **graphs = realloc(search->graphs, room * sizeof(*graphs));

		if (!graphs)
			return false;
		search->graphs = graphs;
		search->room = room;
	}
	search->graphs[search->n++] = graph;
	return true;
}

/* The functions below return the driver's result. */

static int search_allocation(struct search *search, void *node)
{
	struct clv_cuda_node_allocation allocation = {0};
	int r = clv_cuda.cuGraphMemAllocNodeGetParams(node, &allocation);

	if (r == CLV_CUDA_SUCCESS)
		search->n_bytes += allocation.n_bytes;
	return r;
}

static int search_child(struct search *search, void *node)
{
	void *child = NULL;
	int r = clv_cuda.cuGraphChildGraphNodeGetGraph(node, &child);

	if (r == CLV_CUDA_SUCCESS && !add(search, child))
		r = CLV_CUDA_OUT_OF_MEMORY;
	return r;
}

static int search_node(struct search *search, void *node)
{
	int type = 0, r = clv_cuda.cuGraphNodeGetType(node, &type);

	if (r == CLV_CUDA_SUCCESS && type == CLV_CUDA_NODE_ALLOCATE)
		r = search_allocation(search, node);
	if (r == CLV_CUDA_SUCCESS && type == CLV_CUDA_NODE_GRAPH)
		r = search_child(search, node);
	return r;
}

static int search_graph(struct search *search, void *graph)
{
	size_t n = 0;
	void **nodes;
	int r = clv_cuda.cuGraphGetNodes(graph, NULL, &n);

	if (r != CLV_CUDA_SUCCESS || n == 0)
		return r;
	nodes = calloc(n, sizeof(*nodes));
	if (!nodes)
		return CLV_CUDA_OUT_OF_MEMORY;
	r = clv_cuda.cuGraphGetNodes(graph, nodes, &n);
	for (size_t i = 0; i < n && r == CLV_CUDA_SUCCESS; i++)
		r = search_node(search, nodes[i]);
	free(nodes);
	return r;
}

static int bytes_of_graph(void *graph, uint64_t *ret)
{
	struct search search = {0};
	int r = add(&search, graph) ? CLV_CUDA_SUCCESS : CLV_CUDA_OUT_OF_MEMORY;

	while (search.n > 0 && r == CLV_CUDA_SUCCESS)
		r = search_graph(&search, search.graphs[--search.n]);
	free(search.graphs);
	*ret = search.n_bytes;
	return r;
}

static void add_record(struct allocating *record)
{
	pthread_mutex_lock(&lock);
	record->next = allocating;
	allocating = record;
	atomic_fetch_add(&n_allocating, 1);
	pthread_mutex_unlock(&lock);
}

static int note_allocating(void *graph_exec, uint64_t n_bytes)
{
	struct allocating *record = malloc(sizeof(*record));

	if (!record)
		return CLV_CUDA_OUT_OF_MEMORY;
	*record = (struct allocating){.graph = graph_exec, .n_bytes = n_bytes};
	add_record(record);
	return CLV_CUDA_SUCCESS;
}

/* A graph that cannot be searched might allocate past the quota, so it is destroyed. */
static int note_instantiated(void **graph_exec, void *graph, int result)
{
	uint64_t n_bytes;
	int r;

	if (result != CLV_CUDA_SUCCESS || !clv_gate_current_view())
		return result;
	r = bytes_of_graph(graph, &n_bytes);
	if (r == CLV_CUDA_SUCCESS && n_bytes > 0)
		r = note_allocating(*graph_exec, n_bytes);
	if (r == CLV_CUDA_SUCCESS) {
		clv_graph_made(*graph_exec, graph);
	} else {
		clv_cuda.cuGraphExecDestroy(*graph_exec);
		*graph_exec = NULL;
	}
	return r;
}

int clv_own_cuGraphInstantiate(clv_fn_cuGraphInstantiate *real, void *ph_graph_exec,
	void *h_graph, void *ph_error_node, void *log_buffer, size_t buffer_size)
{
	return note_instantiated(ph_graph_exec, h_graph,
		real(ph_graph_exec, h_graph, ph_error_node, log_buffer, buffer_size));
}

int clv_own_cuGraphInstantiate_v2(clv_fn_cuGraphInstantiate_v2 *real, void *ph_graph_exec,
	void *h_graph, void *ph_error_node, void *log_buffer, size_t buffer_size)
{
	return note_instantiated(ph_graph_exec, h_graph,
		real(ph_graph_exec, h_graph, ph_error_node, log_buffer, buffer_size));
}

int clv_own_cuGraphInstantiateWithFlags(clv_fn_cuGraphInstantiateWithFlags *real,
	void *ph_graph_exec, void *h_graph, uint64_t flags)
{
	return note_instantiated(
		ph_graph_exec, h_graph, real(ph_graph_exec, h_graph, flags));
}

int clv_own_cuGraphInstantiateWithParams(clv_fn_cuGraphInstantiateWithParams *real,
	bool is_per_thread, void *ph_graph_exec, void *h_graph, void *instantiate_params)
{
	(void)is_per_thread;
	return note_instantiated(
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

static struct allocating *withdraw(const void *graph)
{
	struct allocating **link, *found;

	pthread_mutex_lock(&lock);
	for (link = &allocating; *link && (*link)->graph != graph;)
		link = &(*link)->next;
	found = *link;
	if (found) {
		*link = found->next;
		atomic_fetch_sub(&n_allocating, 1);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* The record is withdrawn before the call, because another graph may get the handle right
 * after it.  If the driver refuses, the record is put back. */
int clv_own_cuGraphExecDestroy(clv_fn_cuGraphExecDestroy *real, void *graph)
{
	struct allocating *record = withdraw(graph);
	int r;

	clv_graph_gone(graph);
	r = real(graph);

	if (record && r != CLV_CUDA_SUCCESS)
		add_record(record);
	else
		free(record);
	return r;
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

/* The driver allocates in the launch, so the memory is charged before it, and after the
 * turn, for which no thread may wait meanwhile. */
static int launch_allocating(clv_fn_cuGraphLaunch *real, void *graph, void *stream,
	bool is_per_thread, uint64_t n_bytes)
{
	struct clv_stream_submission submission;
	struct clv_cuda_growth growth;
	int device, r = clv_cuda_device_of(stream, &device);

	if (r == CLV_CUDA_SUCCESS)
		r = clv_stream_launch_begin(&submission, stream, is_per_thread,
			clv_cost_key_kernel(graph, 0, 0, 0), false);
	if (r != CLV_CUDA_SUCCESS)
		return r;
	r = clv_cuda_growth_begin(&growth, NULL, device, n_bytes);
	if (r == CLV_CUDA_SUCCESS) {
		r = real(graph, stream);
		clv_cuda_growth_end(&growth, r == CLV_CUDA_SUCCESS);
	}
	return clv_stream_submission_end(&submission, r);
}

int clv_own_cuGraphLaunch(
	clv_fn_cuGraphLaunch *real, bool is_per_thread, void *graph, void *stream)
{
	uint64_t kind = clv_cost_key_kernel(graph, 0, 0, 0), n_bytes;

	clv_graph_wait_first(graph, stream, is_per_thread);
	n_bytes = bytes_to_allocate(graph);
	if (CLV_UNLIKELY(n_bytes > 0))
		return launch_allocating(real, graph, stream, is_per_thread, n_bytes);
	if (CLV_UNLIKELY(!clv_quick_pass(clv_stream_handle(stream, is_per_thread), kind)))
		return launch(real, graph, stream, is_per_thread);
	return real(graph, stream);
}

/* A kernel on several devices at once, of which the lease has one. */
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

void clv_cuda_graphs_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
