/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of contexts.  What was created in a context is gone with it. */
#include "gate/cuda/stream/context-end.h"

#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"
#include "gate/cuda/context/primary.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/memory/spill.h"
#include "gate/memory/charges.h"
#include "gate/streams/handle.h"
#include "gate/streams/legacy.h"
#include "gate/streams/stream.h"
#include "gate/window/threads.h"

static void forget_context(const void *context)
{
	clv_cuda_subcontexts_drop(context);
	clv_streams_forget(context);
	clv_charges_drop(context);
}

/* Devices with higher numbers are not counted. */
#define MAX_COUNTED 64

/* By device, as the program got them; NULL: it has none. */
static _Atomic(void *) primaries[MAX_COUNTED];

static bool is_primary(const void *context)
{
	for (int device = 0; device < MAX_COUNTED; device++) {
		if (atomic_load(&primaries[device]) == context)
			return true;
	}
	return false;
}

/* The driver destroys no primary context here, so its work goes on. */
static int end_context(int (*destroy)(void *context), void *context)
{
	int r;

	if (!context)
		return destroy(context);
	if (is_primary(context)) {
		r = destroy(context);
		if (r == CLV_CUDA_SUCCESS)
			forget_context(context);
		return r;
	}
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

/* Before and after a call that may end the primary context.  with_streams: also if
 * streams of the gate's green context are left. */
static void leave_primary(void *context, bool with_streams)
{
	if (context) {
		clv_cuda_spilled_leave_context(context);
		clv_streams_drain(context, false);
	}
	/* The green context would keep the primary one alive; and does so if another
	 * thread has created a stream in it. */
	clv_cuda_green_end(with_streams);
}

static int left_primary(void *context, int device, int result)
{
	bool is_gone = result == CLV_CUDA_SUCCESS && !clv_cuda_primary_is_active(device);

	if (context)
		clv_cuda_spilled_left_context(context, is_gone);
	if (is_gone && device >= 0 && device < MAX_COUNTED)
		atomic_store(&primaries[device], NULL);
	if (context && is_gone)
		forget_context(context);
	return result;
}

static int end_primary(int (*end)(int device), int device, bool with_streams)
{
	void *context = clv_cuda_primary(device);

	/* The gate does not see every reference to the primary context, and the program
	 * may go on using these streams by one of them.  If there is none, the context
	 * ends with the last of the streams. */
	if (!with_streams && clv_cuda_green_is_used())
		return end(device);
	leave_primary(context, with_streams);
	return left_primary(context, device, end(device));
}

/* The program's references to the primary context, by device. */
static _Atomic int32_t n_retained[MAX_COUNTED];

int clv_own_cuDevicePrimaryCtxRetain(
	clv_fn_cuDevicePrimaryCtxRetain *real, void *pctx, int device)
{
	int r;

	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(pctx, device);
	if (r == CLV_CUDA_SUCCESS && device >= 0 && device < MAX_COUNTED) {
		atomic_store(&primaries[device], *(void **)pctx);
		atomic_fetch_add(&n_retained[device], 1);
	}
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

/* The program's green contexts. */

int clv_own_cuGreenCtxCreate(clv_fn_cuGreenCtxCreate *real, void *ret, void *description,
	int device, uint32_t flags)
{
	void **green = ret;
	int r;

	if (!clv_gate_helper_is_ready())
		return CLV_CUDA_OUT_OF_MEMORY;
	r = real(ret, description, device, flags);
	if (r != CLV_CUDA_SUCCESS || clv_cuda_subcontext_made(*green, device))
		return r;
	clv_cuda.cuGreenCtxDestroy(*green);
	*green = NULL;
	return CLV_CUDA_OUT_OF_MEMORY;
}

/* The last marker of the stream is an event of the primary context's. */
static void end_stream(void *stream, bool has_handle)
{
	if (has_handle)
		clv_cuda_freed_end_stream(stream);
	clv_stream_end(stream);
}

static void destroy_aside(const void *context)
{
	void *stream = clv_legacy_take_aside(context);

	if (stream)
		clv_cuda.cuStreamDestroy_v2(stream);
}

/* The primary context ends with the last of the references to it, of which the program's
 * green contexts have some. */
static bool may_end_primary(int device)
{
	return device >= 0 && device < MAX_COUNTED &&
	       atomic_load(&n_retained[device]) <= 0 && !clv_cuda_green_is_used();
}

/* The streams keep their handles, which are of no use any more but to be destroyed, so
 * their queues end here.  Whether the driver waits for their work, it does not tell: each
 * gets a last marker, and nothing is waited for.  Memory that was allocated while the
 * context was current is the primary one's. */
int clv_own_cuGreenCtxDestroy(clv_fn_cuGreenCtxDestroy *real, void *green)
{
	struct clv_cuda_subcontext ends;
	bool may_end;
	int r;

	if (!clv_cuda_subcontext_withdraw(green, &ends))
		return real(green);
	clv_streams_end_with(ends.context, end_stream);
	destroy_aside(ends.context);
	clv_stream_forget_context();
	may_end = may_end_primary(ends.device);
	if (may_end)
		leave_primary(ends.primary, false);
	r = real(green);
	if (r == CLV_CUDA_SUCCESS)
		clv_streams_forget(ends.context);
	else
		clv_cuda_subcontext_put_back(&ends);
	return may_end ? left_primary(ends.primary, ends.device, r) : r;
}
