/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that begin a stream's capture or end it. */
#include "gate/streams/capture.h"
#include "gate/hip/library.h"
#include "gate/streams/stream.h"

int clv_own_hipStreamBeginCapture(
	clv_fn_hipStreamBeginCapture *real, bool is_per_thread, void *stream, int mode)
{
	const void *handle;
	int r = clv_capture_begin(stream, is_per_thread, &handle);

	return r == CLV_HIP_SUCCESS ? clv_capture_begun(handle, real(stream, mode)) : r;
}

int clv_own_hipStreamBeginCaptureToGraph(clv_fn_hipStreamBeginCaptureToGraph *real,
	void *stream, void *graph, void *dependencies, void *dependency_data,
	size_t n_dependencies, int mode)
{
	const void *handle;
	int r = clv_capture_begin(stream, false, &handle);

	if (r != CLV_HIP_SUCCESS)
		return r;
	return clv_capture_begun(handle,
		real(stream, graph, dependencies, dependency_data, n_dependencies, mode));
}

int clv_own_hipStreamEndCapture(clv_fn_hipStreamEndCapture *real, bool is_per_thread,
	void *stream, void *ret_graph)
{
	return clv_capture_end(real, is_per_thread, stream, ret_graph);
}

int clv_own_hipStreamDestroy(clv_fn_hipStreamDestroy *real, void *stream)
{
	return clv_stream_destroy(real, stream);
}
