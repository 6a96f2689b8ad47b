/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that change the current context of a thread, and with it the thread's default
 * streams.  A first context is also the last moment at which many a program may create
 * threads, so the gate creates its own here; without them no context is made. */
#include "gate/cuda/context/library.h"
#include "gate/streams/handle.h"
#include "gate/window/threads.h"

static int after_context_change(int result)
{
	clv_stream_forget_context();
	return result;
}

int clv_own_cuCtxSetCurrent(clv_fn_cuCtxSetCurrent *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_cuCtxPushCurrent(clv_fn_cuCtxPushCurrent *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_cuCtxPushCurrent_v2(clv_fn_cuCtxPushCurrent_v2 *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_cuCtxPopCurrent(clv_fn_cuCtxPopCurrent *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_cuCtxPopCurrent_v2(clv_fn_cuCtxPopCurrent_v2 *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_cuCtxCreate(
	clv_fn_cuCtxCreate *real, void *context, uint32_t flags, int device)
{
	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	return after_context_change(real(context, flags, device));
}

int clv_own_cuCtxCreate_v2(
	clv_fn_cuCtxCreate_v2 *real, void *context, uint32_t flags, int device)
{
	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	return after_context_change(real(context, flags, device));
}

int clv_own_cuCtxCreate_v3(clv_fn_cuCtxCreate_v3 *real, void *context, void *affinity,
	int n_affinity, uint32_t flags, int device)
{
	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	return after_context_change(real(context, affinity, n_affinity, flags, device));
}

int clv_own_cuCtxCreate_v4(clv_fn_cuCtxCreate_v4 *real, void *context, void *parameters,
	uint32_t flags, int device)
{
	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	return after_context_change(real(context, parameters, flags, device));
}

int clv_own_cuCtxAttach(clv_fn_cuCtxAttach *real, void *context, uint32_t flags)
{
	return after_context_change(real(context, flags));
}

int clv_own_cuCtxDetach(clv_fn_cuCtxDetach *real, void *context)
{
	return after_context_change(real(context));
}
