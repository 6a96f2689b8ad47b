/* SPDX-License-Identifier: Apache-2.0 */
/* Which device is current on a thread: its default streams are other ones then; and the
 * end of all that a process has on one.  HIP's contexts are its devices. */
#include "gate/hip/device.h"

#include "gate/hip/library.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream.h"

static int changed(int result)
{
	clv_stream_forget_context();
	return result;
}

int clv_own_hipSetDevice(clv_fn_hipSetDevice *real, int device)
{
	return changed(real(device));
}

int clv_own_hipCtxSetCurrent(clv_fn_hipCtxSetCurrent *real, void *context)
{
	return changed(real(context));
}

int clv_own_hipCtxPushCurrent(clv_fn_hipCtxPushCurrent *real, void *context)
{
	return changed(real(context));
}

int clv_own_hipCtxPopCurrent(clv_fn_hipCtxPopCurrent *real, void *ret_context)
{
	return changed(real(ret_context));
}

int clv_own_hipCtxCreate(
	clv_fn_hipCtxCreate *real, void *ret_context, uint32_t flags, int device)
{
	return changed(real(ret_context, flags, device));
}

int clv_own_hipCtxDestroy(clv_fn_hipCtxDestroy *real, void *context)
{
	return changed(real(context));
}

/* What was allocated HIP frees by itself, and that is seen. */
static int reset(void *context, int result)
{
	if (result == CLV_HIP_SUCCESS)
		clv_streams_forget(context);
	else
		clv_streams_stay(context);
	return changed(result);
}

/* With the device go the events that the helper waits for. */
int clv_own_hipDeviceReset(clv_fn_hipDeviceReset *real)
{
	void *context = NULL;
	int r = clv_stream_driver->get_context(&context);

	if (r != CLV_HIP_SUCCESS)
		return r;
	clv_streams_drain(context);
	return reset(context, real());
}

int clv_own_hipDevicePrimaryCtxReset(clv_fn_hipDevicePrimaryCtxReset *real, int device)
{
	void *context = clv_hip_context_of_device(device);

	if (!context)
		return real(device);
	clv_streams_drain(context);
	return reset(context, real(device));
}
