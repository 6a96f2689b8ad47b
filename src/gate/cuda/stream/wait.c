/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of the program and callbacks (streams/wait.h).  In a wait the driver gives memory
 * of pools back to the device, so charges are settled after it. */
#include "gate/streams/wait.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/queue/custody.h"

int clv_own_cuStreamSynchronize(
	clv_fn_cuStreamSynchronize *real, bool is_per_thread, void *stream)
{
	struct clv_custody custody = clv_stream_wait_begin(stream, is_per_thread);
	int r = clv_stream_wait_end(&custody, real(stream));

	clv_cuda_memory_settle_freed();
	return r;
}

int clv_own_cuEventSynchronize(clv_fn_cuEventSynchronize *real, void *event)
{
	struct clv_custody none = clv_stream_wait_begin_other();

	return clv_stream_wait_end(&none, real(event));
}

int clv_own_cuCtxSynchronize(clv_fn_cuCtxSynchronize *real)
{
	struct clv_custody custody = clv_stream_wait_begin(NULL, false);
	int r = clv_stream_wait_end(&custody, real());

	clv_cuda_memory_settle_freed();
	return r;
}

int clv_own_cuCtxSynchronize_v2(clv_fn_cuCtxSynchronize_v2 *real, void *context)
{
	struct clv_custody none = clv_stream_wait_begin_other();

	return clv_stream_wait_end(&none, real(context));
}

int clv_own_cuLaunchHostFunc(clv_fn_cuLaunchHostFunc *real, bool is_per_thread,
	void *stream, void *function, void *userdata)
{
	return clv_stream_host_function(real, is_per_thread, stream, function, userdata);
}

/* What the call below passes on besides the parameters that all submissions have. */
static __thread struct {
	clv_fn_cuLaunchHostFunc_v2 *real;
	uint32_t sync_mode;
} with_mode __attribute__((tls_model("initial-exec")));

static int launch_with_mode(void *stream, void *function, void *userdata)
{
	return with_mode.real(stream, function, userdata, with_mode.sync_mode);
}

int clv_own_cuLaunchHostFunc_v2(clv_fn_cuLaunchHostFunc_v2 *real, bool is_per_thread,
	void *stream, void *function, void *userdata, uint32_t sync_mode)
{
	with_mode.real = real;
	with_mode.sync_mode = sync_mode;
	return clv_stream_host_function(
		launch_with_mode, is_per_thread, stream, function, userdata);
}

int clv_own_cuStreamAddCallback(clv_fn_cuStreamAddCallback *real, bool is_per_thread,
	void *stream, void *function, void *userdata, uint32_t flags)
{
	return clv_stream_callback(
		real, is_per_thread, stream, function, userdata, flags);
}
