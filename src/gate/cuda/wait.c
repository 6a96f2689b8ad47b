/* SPDX-License-Identifier: Apache-2.0 */
/* Waits and callbacks: calls that submit no work.  None of them is ever made to wait.
 * What the program waits for itself needs no marker of the gate's. */
#include "gate/cuda/library.h"
#include "gate/cuda/pool.h"
#include "gate/cuda/stream.h"

#include <stdlib.h>

static struct clv_custody custody_of(void *stream, bool is_per_thread)
{
	struct clv_custody none = {0};
	const void *handle;

	if (!clv_gate_peek() || atomic_load(&clv_cuda_n_captures) > 0)
		return none;
	handle = clv_cuda_queue_handle(stream, is_per_thread);
	return clv_custody_take(clv_queue_find_known(handle));
}

/* Book what was waited for, or put it back if the wait failed. */
static int book(const struct clv_custody *custody, int result)
{
	if (!custody->queue)
		return result;
	if (result == CLV_CUDA_SUCCESS)
		clv_custody_book(custody);
	else
		clv_custody_return(custody);
	return result;
}

int clv_own_cuStreamSynchronize(
	clv_fn_cuStreamSynchronize *real, bool is_per_thread, void *stream)
{
	struct clv_custody custody = custody_of(stream, is_per_thread);
	int r;

	clv_gate_wait_begin();
	r = book(&custody, real(stream));
	clv_gate_wait_end();
	clv_cuda_pools_settle_freed();
	return r;
}

int clv_own_cuEventSynchronize(clv_fn_cuEventSynchronize *real, void *event)
{
	int r;

	clv_gate_wait_begin();
	r = real(event);
	clv_gate_wait_end();
	return r;
}

/* Of the whole context; the stream that mostly has the work is the default one. */
int clv_own_cuCtxSynchronize(clv_fn_cuCtxSynchronize *real)
{
	struct clv_custody custody = custody_of(NULL, false);
	int r;

	clv_gate_wait_begin();
	r = book(&custody, real());
	clv_gate_wait_end();
	clv_cuda_pools_settle_freed();
	return r;
}

int clv_own_cuCtxSynchronize_v2(clv_fn_cuCtxSynchronize_v2 *real, void *context)
{
	int r;

	clv_gate_wait_begin();
	r = real(context);
	clv_gate_wait_end();
	return r;
}

/* Callbacks.  In a graph one runs again and again: then its record stays. */

struct host_function {
	void (*function)(void *userdata);
	void *userdata;
	uint64_t serial; /* of the stream */
	bool is_once;
};

static void begin_function(uint64_t serial)
{
	clv_gate_callback_begin();
	clv_cuda_function_begin(serial);
}

static void end_function(uint64_t serial)
{
	clv_cuda_function_end(serial);
	clv_gate_callback_end();
}

static void run_host_function(void *userdata)
{
	struct host_function call = *(struct host_function *)userdata;

	if (call.is_once)
		free(userdata);
	begin_function(call.serial);
	call.function(call.userdata);
	end_function(call.serial);
}

/* A call that was taken may have run already, and be gone. */
static int submitted(int result, void *call, uint64_t serial)
{
	if (result == CLV_CUDA_SUCCESS)
		return result;
	clv_cuda_function_refused(serial);
	free(call);
	return result;
}

int clv_own_cuLaunchHostFunc(clv_fn_cuLaunchHostFunc *real, bool is_per_thread,
	void *stream, void *function, void *userdata)
{
	struct host_function *call;
	uint64_t serial;

	if (clv_gate_thread.callback_depth > 0)
		return CLV_CUDA_NOT_PERMITTED;
	call = function ? malloc(sizeof(*call)) : NULL;
	if (!call)
		return real(stream, function, userdata);
	call->function = (void (*)(void *))(uintptr_t)function;
	call->userdata = userdata;
	call->is_once = !clv_cuda_is_capturing(stream, is_per_thread);
	serial = call->is_once ? clv_cuda_function_submitted(stream, is_per_thread) : 0;
	call->serial = serial;
	return submitted(
		real(stream, (void *)(uintptr_t)run_host_function, call), call, serial);
}

struct stream_callback {
	void (*function)(void *stream, int status, void *userdata);
	void *userdata;
	uint64_t serial;
};

static void run_stream_callback(void *stream, int status, void *userdata)
{
	struct stream_callback call = *(struct stream_callback *)userdata;

	free(userdata);
	begin_function(call.serial);
	call.function(stream, status, call.userdata);
	end_function(call.serial);
}

int clv_own_cuStreamAddCallback(clv_fn_cuStreamAddCallback *real, bool is_per_thread,
	void *stream, void *function, void *userdata, uint32_t flags)
{
	struct stream_callback *call;
	uint64_t serial;

	if (clv_gate_thread.callback_depth > 0)
		return CLV_CUDA_NOT_PERMITTED;
	call = function ? malloc(sizeof(*call)) : NULL;
	if (!call)
		return real(stream, function, userdata, flags);
	call->function = (void (*)(void *, int, void *))(uintptr_t)function;
	call->userdata = userdata;
	serial = clv_cuda_function_submitted(stream, is_per_thread);
	call->serial = serial;
	return submitted(
		real(stream, (void *)(uintptr_t)run_stream_callback, call, flags), call,
		serial);
}
