/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that begin a stream's capture or end it. */
#include "gate/streams/capture.h"
#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/stream/context-end.h"
#include "gate/streams/stream.h"

int clv_own_cuStreamBeginCapture(
	clv_fn_cuStreamBeginCapture *real, bool is_per_thread, void *stream)
{
	const void *handle;
	int r = clv_capture_begin(stream, is_per_thread, &handle);

	return r == CLV_CUDA_SUCCESS ? clv_capture_begun(handle, real(stream)) : r;
}

int clv_own_cuStreamBeginCapture_v2(
	clv_fn_cuStreamBeginCapture_v2 *real, bool is_per_thread, void *stream, int mode)
{
	const void *handle;
	int r = clv_capture_begin(stream, is_per_thread, &handle);

	return r == CLV_CUDA_SUCCESS ? clv_capture_begun(handle, real(stream, mode)) : r;
}

int clv_own_cuStreamBeginCaptureToGraph(clv_fn_cuStreamBeginCaptureToGraph *real,
	bool is_per_thread, void *stream, void *h_graph, void *dependencies,
	void *dependency_data, size_t num_dependencies, int mode)
{
	const void *handle;
	int r = clv_capture_begin(stream, is_per_thread, &handle);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	return clv_capture_begun(
		handle, real(stream, h_graph, dependencies, dependency_data,
				num_dependencies, mode));
}

int clv_own_cuStreamBeginRecaptureToGraph(clv_fn_cuStreamBeginRecaptureToGraph *real,
	bool is_per_thread, void *stream, int mode, void *h_graph, void *callback,
	void *user_data)
{
	const void *handle;
	int r = clv_capture_begin(stream, is_per_thread, &handle);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	return clv_capture_begun(
		handle, real(stream, mode, h_graph, callback, user_data));
}

int clv_own_cuStreamEndCapture(
	clv_fn_cuStreamEndCapture *real, bool is_per_thread, void *stream, void *ph_graph)
{
	return clv_capture_end(real, is_per_thread, stream, ph_graph);
}

static int destroy(int (*real)(void *stream), void *stream)
{
	bool is_in_part = clv_cuda_green_contains(stream);
	int r;

	clv_cuda_freed_end_stream(stream);
	r = clv_stream_destroy(real, stream);
	if (is_in_part && r == CLV_CUDA_SUCCESS)
		clv_cuda_green_stream_gone();
	return r;
}

int clv_own_cuStreamDestroy(clv_fn_cuStreamDestroy *real, void *stream)
{
	return destroy(real, stream);
}

int clv_own_cuStreamDestroy_v2(clv_fn_cuStreamDestroy_v2 *real, void *stream)
{
	return destroy(real, stream);
}
