/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, which are launched as one command, and semaphores of other interfaces, for
 * which graphs may begin with a wait (streams/graph.h). */
#include "gate/streams/graph.h"
#include "gate/hip/library.h"
#include "gate/process/hot.h"
#include "gate/queue/queues.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream-wait.h"
#include "gate/streams/stream.h"
#include "gate/streams/submit.h"
#include "gate/window/costs.h"

static int launch(
	clv_fn_hipGraphLaunch *real, bool is_per_thread, void *exec, void *stream)
{
	struct clv_stream_submission submission;
	int r = clv_stream_launch_begin(&submission, stream, is_per_thread,
		clv_cost_key_kernel(exec, 0, 0, 0), false);

	if (r == CLV_HIP_SUCCESS)
		r = clv_stream_submission_end(&submission, real(exec, stream));
	return r;
}

int clv_own_hipGraphLaunch(
	clv_fn_hipGraphLaunch *real, bool is_per_thread, void *exec, void *stream)
{
	clv_graph_wait_first(exec, stream, is_per_thread);
	if (CLV_UNLIKELY(!clv_quick_pass(clv_stream_handle(stream, is_per_thread),
		    clv_cost_key_kernel(exec, 0, 0, 0))))
		return launch(real, is_per_thread, exec, stream);
	return real(exec, stream);
}

int clv_own_hipWaitExternalSemaphoresAsync(clv_fn_hipWaitExternalSemaphoresAsync *real,
	void *semaphores, void *values, uint32_t count, void *stream)
{
	struct clv_blocked_waiting waiting =
		clv_blocked_waiting_begin(stream, false, false);

	clv_stream_count_others(stream, false, 1);
	return clv_blocked_waiting_end(&waiting, real(semaphores, values, count, stream));
}

int clv_own_hipImportExternalSemaphore(
	clv_fn_hipImportExternalSemaphore *real, void *ret, void *desc)
{
	int r = real(ret, desc);

	if (r == CLV_HIP_SUCCESS)
		clv_semaphore_imported(*(void **)ret, desc);
	return r;
}

int clv_own_hipDestroyExternalSemaphore(
	clv_fn_hipDestroyExternalSemaphore *real, void *semaphore)
{
	clv_semaphore_gone(semaphore);
	return real(semaphore);
}

/* Executable graphs. */

static int note_exec_graph(int result, void *exec, void *graph)
{
	if (result == CLV_HIP_SUCCESS)
		clv_graph_made(exec, graph);
	return result;
}

static int note_instantiated(int result, void *const *exec, void *graph)
{
	return result == CLV_HIP_SUCCESS ? note_exec_graph(result, *exec, graph) : result;
}

int clv_own_hipGraphInstantiate(clv_fn_hipGraphInstantiate *real, void *ret_exec,
	void *graph, void *ret_node, void *log, size_t n_bytes)
{
	return note_instantiated(
		real(ret_exec, graph, ret_node, log, n_bytes), ret_exec, graph);
}

int clv_own_hipGraphInstantiateWithFlags(clv_fn_hipGraphInstantiateWithFlags *real,
	void *ret_exec, void *graph, uint64_t flags)
{
	return note_instantiated(real(ret_exec, graph, flags), ret_exec, graph);
}

int clv_own_hipGraphInstantiateWithParams(clv_fn_hipGraphInstantiateWithParams *real,
	void *ret_exec, void *graph, void *params)
{
	return note_instantiated(real(ret_exec, graph, params), ret_exec, graph);
}

int clv_own_hipGraphExecUpdate(clv_fn_hipGraphExecUpdate *real, void *exec, void *graph,
	void *ret_node, void *ret_result)
{
	return note_exec_graph(real(exec, graph, ret_node, ret_result), exec, graph);
}

int clv_own_hipGraphExecExternalSemaphoresWaitNodeSetParams(
	clv_fn_hipGraphExecExternalSemaphoresWaitNodeSetParams *real, void *exec,
	void *node, void *params)
{
	int r = real(exec, node, params);

	if (r == CLV_HIP_SUCCESS)
		clv_graph_wait_set(exec, node, params);
	return r;
}

int clv_own_hipGraphExecDestroy(clv_fn_hipGraphExecDestroy *real, void *exec)
{
	clv_graph_gone(exec);
	return real(exec);
}
