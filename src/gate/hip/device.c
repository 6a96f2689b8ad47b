/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that change the current device of a thread, and with it the thread's default
 * streams, those that create a stream of it, and those that reset it.  What a context is
 * in CUDA is a device in HIP. */
#include "gate/hip/device.h"

#include "gate/hip/library.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/legacy.h"
#include "gate/streams/stream.h"

static int after_context_change(int result)
{
	clv_stream_forget_context();
	return result;
}

int clv_own_hipSetDevice(clv_fn_hipSetDevice *real, int device)
{
	return after_context_change(real(device));
}

int clv_own_hipStreamCreate(clv_fn_hipStreamCreate *real, void *ret)
{
	return clv_legacy_note_created(real(ret), true);
}

int clv_own_hipStreamCreateWithFlags(
	clv_fn_hipStreamCreateWithFlags *real, void *ret, uint32_t flags)
{
	return clv_legacy_note_created(
		real(ret, flags), !(flags & CLV_HIP_STREAM_NON_BLOCKING));
}

int clv_own_hipStreamCreateWithPriority(
	clv_fn_hipStreamCreateWithPriority *real, void *ret, uint32_t flags, int priority)
{
	return clv_legacy_note_created(
		real(ret, flags, priority), !(flags & CLV_HIP_STREAM_NON_BLOCKING));
}

int clv_own_hipExtStreamCreateWithCUMask(clv_fn_hipExtStreamCreateWithCUMask *real,
	void *ret, uint32_t n_words, void *mask)
{
	return clv_legacy_note_created(real(ret, n_words, mask), true);
}

int clv_own_hipCtxSetCurrent(clv_fn_hipCtxSetCurrent *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_hipCtxPushCurrent(clv_fn_hipCtxPushCurrent *real, void *context)
{
	return after_context_change(real(context));
}

int clv_own_hipCtxPopCurrent(clv_fn_hipCtxPopCurrent *real, void *ret_context)
{
	return after_context_change(real(ret_context));
}

int clv_own_hipCtxCreate(
	clv_fn_hipCtxCreate *real, void *ret_context, uint32_t flags, int device)
{
	return after_context_change(real(ret_context, flags, device));
}

int clv_own_hipCtxDestroy(clv_fn_hipCtxDestroy *real, void *context)
{
	return after_context_change(real(context));
}

/* HIP frees the device's memory through HSA, whose wrappers return the charges. */
static int reset(void *context, int result)
{
	if (result == CLV_HIP_SUCCESS)
		clv_streams_forget(context);
	else
		clv_streams_undo_drain(context);
	return after_context_change(result);
}

/* The reset destroys the events that the helper waits for, so all of them are drained
 * before it. */
int clv_own_hipDeviceReset(clv_fn_hipDeviceReset *real)
{
	void *context = NULL;
	int r = clv_stream_driver->get_context(&context);

	if (r != CLV_HIP_SUCCESS)
		return r;
	clv_streams_drain(context, true);
	return reset(context, real());
}

int clv_own_hipDevicePrimaryCtxReset(clv_fn_hipDevicePrimaryCtxReset *real, int device)
{
	void *context = clv_hip_context_of_device(device);

	if (!context)
		return real(device);
	clv_streams_drain(context, true);
	return reset(context, real(device));
}
