/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of contexts.  What was created in a context is gone with it. */
#include "gate/cuda/stream/context-end.h"

#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"
#include "gate/cuda/context/primary.h"
#include "gate/cuda/memory/spill.h"
#include "gate/memory/charges.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream.h"
#include "gate/window/threads.h"

static void forget_context(const void *context)
{
	clv_streams_forget(context);
	clv_charges_drop(context);
}

static int end_context(int (*destroy)(void *context), void *context)
{
	int r;

	if (!context)
		return destroy(context);
	clv_cuda_spilled_leave_context(context);
	clv_streams_drain(context, true);
	clv_stream_forget_context();
	r = destroy(context);
	clv_cuda_spilled_left_context(context, r == CLV_CUDA_SUCCESS);
	if (r == CLV_CUDA_SUCCESS)
		forget_context(context);
	else
		clv_streams_undo_drain(context);
	return r;
}

int clv_own_cuCtxDestroy(clv_fn_cuCtxDestroy *real, void *context)
{
	return end_context(real, context);
}

int clv_own_cuCtxDestroy_v2(clv_fn_cuCtxDestroy_v2 *real, void *context)
{
	return end_context(real, context);
}

/* with_streams: also if streams of the gate's green context are left. */
static int end_primary(int (*end)(int device), int device, bool with_streams)
{
	void *context = clv_cuda_primary(device);
	bool is_gone;
	int r;

	/* The gate does not see every reference to the primary context, and the program
	 * may go on using these streams by one of them.  If there is none, the context
	 * ends with the last of the streams. */
	if (!with_streams && clv_cuda_green_is_used())
		return end(device);
	if (context) {
		clv_cuda_spilled_leave_context(context);
		clv_streams_drain(context, false);
	}
	/* The green context would keep the primary one alive; and does so if another
	 * thread has created a stream in it. */
	clv_cuda_green_end(with_streams);
	r = end(device);
	is_gone = r == CLV_CUDA_SUCCESS && !clv_cuda_primary_is_active(device);
	if (context)
		clv_cuda_spilled_left_context(context, is_gone);
	if (context && is_gone)
		forget_context(context);
	return r;
}

/* The program's references to the primary context, by device.  Devices with higher
 * numbers are not counted. */
#define MAX_COUNTED 64

static _Atomic int32_t n_retained[MAX_COUNTED];

int clv_own_cuDevicePrimaryCtxRetain(
	clv_fn_cuDevicePrimaryCtxRetain *real, void *pctx, int device)
{
	int r;

	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(pctx, device);
	if (r == CLV_CUDA_SUCCESS && device >= 0 && device < MAX_COUNTED)
		atomic_fetch_add(&n_retained[device], 1);
	return r;
}

/* A release that is not the last one leaves the context and its work as they are:
 * libraries retain and release the context while others compute in it.  The counter makes
 * just one of several concurrent releases the last one. */
static int release_primary(int (*release)(int device), int device)
{
	bool is_counted = device >= 0 && device < MAX_COUNTED;
	int32_t n = is_counted ? atomic_fetch_sub(&n_retained[device], 1) : 0;
	int r = n > 1 ? release(device) : end_primary(release, device, false);

	if (is_counted && (r != CLV_CUDA_SUCCESS || n <= 0))
		atomic_fetch_add(&n_retained[device], 1);
	return r;
}

static int release_nothing(int device)
{
	(void)device;
	return CLV_CUDA_SUCCESS;
}

void clv_cuda_green_stream_gone(void)
{
	if (!clv_cuda_green_stream_removed())
		return;
	if (atomic_load(&n_retained[CLV_CUDA_PART_DEVICE]) <= 0)
		end_primary(release_nothing, CLV_CUDA_PART_DEVICE, false);
}

/* A reset drops all references. */
static int reset_primary(int (*reset)(int device), int device)
{
	int r = end_primary(reset, device, true);

	if (device >= 0 && device < MAX_COUNTED && !clv_cuda_primary_is_active(device))
		atomic_store(&n_retained[device], 0);
	return r;
}

int clv_own_cuDevicePrimaryCtxReset(clv_fn_cuDevicePrimaryCtxReset *real, int device)
{
	return reset_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxReset_v2(
	clv_fn_cuDevicePrimaryCtxReset_v2 *real, int device)
{
	return reset_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxRelease(clv_fn_cuDevicePrimaryCtxRelease *real, int device)
{
	return release_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxRelease_v2(
	clv_fn_cuDevicePrimaryCtxRelease_v2 *real, int device)
{
	return release_primary(real, device);
}
