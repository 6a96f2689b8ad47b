/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: what is submitted to a stream meanwhile becomes part of a graph and is no
 * work yet.  The legacy stream cannot be marked while one goes on, so everything gets its
 * marker before. */
#include "gate/cuda/library.h"
#include "gate/cuda/stream.h"

static int begun(int result)
{
	if (result != CLV_CUDA_SUCCESS)
		atomic_fetch_sub(&clv_cuda_n_captures, 1);
	return result;
}

static void begin(void)
{
	if (clv_gate_peek())
		clv_queues_mark_tails(false);
	atomic_fetch_add(&clv_cuda_n_captures, 1);
}

int clv_own_cuStreamBeginCapture(
	clv_fn_cuStreamBeginCapture *real, bool is_per_thread, void *stream)
{
	(void)is_per_thread;
	begin();
	return begun(real(stream));
}

int clv_own_cuStreamBeginCapture_v2(
	clv_fn_cuStreamBeginCapture_v2 *real, bool is_per_thread, void *stream, int mode)
{
	(void)is_per_thread;
	begin();
	return begun(real(stream, mode));
}

int clv_own_cuStreamBeginCaptureToGraph(clv_fn_cuStreamBeginCaptureToGraph *real,
	bool is_per_thread, void *stream, void *h_graph, void *dependencies,
	void *dependency_data, size_t num_dependencies, int mode)
{
	(void)is_per_thread;
	begin();
	return begun(real(
		stream, h_graph, dependencies, dependency_data, num_dependencies, mode));
}

/* A capture that went wrong ends too, with an error. */
int clv_own_cuStreamEndCapture(
	clv_fn_cuStreamEndCapture *real, bool is_per_thread, void *stream, void *ph_graph)
{
	bool was_capturing = clv_cuda_is_capturing(stream, is_per_thread);
	int r = real(stream, ph_graph);

	if (was_capturing && !clv_cuda_is_capturing(stream, is_per_thread))
		atomic_fetch_sub(&clv_cuda_n_captures, 1);
	return r;
}

static int end_stream(int (*destroy)(void *stream), void *stream)
{
	bool was_capturing = clv_cuda_is_capturing(stream, false);

	clv_cuda_stream_end(stream);
	if (was_capturing)
		atomic_fetch_sub(&clv_cuda_n_captures, 1);
	return destroy(stream);
}

int clv_own_cuStreamDestroy(clv_fn_cuStreamDestroy *real, void *stream)
{
	return end_stream(real, stream);
}

int clv_own_cuStreamDestroy_v2(clv_fn_cuStreamDestroy_v2 *real, void *stream)
{
	return end_stream(real, stream);
}
