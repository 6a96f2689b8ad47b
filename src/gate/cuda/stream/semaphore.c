/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores of other interfaces, and changes of executable graphs that wait for them
 * (streams/graph.h). */
#include "gate/cuda/context/library.h"
#include "gate/streams/graph.h"

int clv_own_cuImportExternalSemaphore(
	clv_fn_cuImportExternalSemaphore *real, void *ret, void *desc)
{
	int r = real(ret, desc);

	if (r == CLV_CUDA_SUCCESS)
		clv_semaphore_imported(*(void **)ret, desc);
	return r;
}

int clv_own_cuDestroyExternalSemaphore(
	clv_fn_cuDestroyExternalSemaphore *real, void *semaphore)
{
	clv_semaphore_gone(semaphore);
	return real(semaphore);
}

int clv_own_cuGraphExecExternalSemaphoresWaitNodeSetParams(
	clv_fn_cuGraphExecExternalSemaphoresWaitNodeSetParams *real, void *exec,
	void *node, void *params)
{
	int r = real(exec, node, params);

	if (r == CLV_CUDA_SUCCESS)
		clv_graph_wait_set(exec, node, params);
	return r;
}

static int note_update(int result, void *exec, void *graph)
{
	if (result == CLV_CUDA_SUCCESS)
		clv_graph_made(exec, graph);
	return result;
}

int clv_own_cuGraphExecUpdate(clv_fn_cuGraphExecUpdate *real, void *exec, void *graph,
	void *ret_node, void *ret_result)
{
	return note_update(real(exec, graph, ret_node, ret_result), exec, graph);
}

int clv_own_cuGraphExecUpdate_v2(
	clv_fn_cuGraphExecUpdate_v2 *real, void *exec, void *graph, void *ret_info)
{
	return note_update(real(exec, graph, ret_info), exec, graph);
}
