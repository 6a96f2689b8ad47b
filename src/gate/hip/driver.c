/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's streams, as streams/ knows them.  What streams belong to is a device, of which a
 * thread has one at a time. */
#include "gate/streams/driver.h"

#include "gate/hip/library.h"

#include <stddef.h>

#define DEVICES_MAX 64

/* A device by an address that nothing else has. */
static struct {
	_Alignas(16) char place;
} devices[DEVICES_MAX];

static void *context_of_device(int device)
{
	return device >= 0 && device < DEVICES_MAX ? &devices[device] : NULL;
}

static void *get_context(void)
{
	int device = -1;

	if (clv_hip.hipGetDevice)
		clv_hip.hipGetDevice(&device);
	return context_of_device(device);
}

static void set_context(void *context)
{
	const char *place = context;

	if (place)
		clv_hip.hipSetDevice(
			(int)((size_t)(place - &devices[0].place) / sizeof(devices[0])));
}

static void wait_for_context(void)
{
	clv_hip.hipDeviceSynchronize();
}

static void *context_of(void *stream)
{
	void *context = context_of_device(clv_hip.hipGetStreamDeviceId(stream));

	return context ? context : get_context();
}

static int capture_status(void *stream, int *ret)
{
	return clv_hip.hipStreamIsCapturing(stream, ret);
}

static bool is_blocking(void *stream)
{
	uint32_t flags = 0;

	return clv_hip.hipStreamGetFlags(stream, &flags) != CLV_HIP_SUCCESS ||
	       !(flags & CLV_HIP_STREAM_NON_BLOCKING);
}

static void exchange_capture_mode(int *mode)
{
	clv_hip.hipThreadExchangeStreamCaptureMode(mode);
}

static int make_event(void **ret, unsigned int flags)
{
	return clv_hip.hipEventCreateWithFlags(ret, flags);
}

static int record(void *event, void *stream)
{
	return clv_hip.hipEventRecord(event, stream);
}

static int query(void *event)
{
	return clv_hip.hipEventQuery(event);
}

static void wait_for(void *event)
{
	clv_hip.hipEventSynchronize(event);
}

static void destroy(void *event)
{
	clv_hip.hipEventDestroy(event);
}

const struct clv_stream_driver clv_stream_driver = {
	.legacy = NULL, /* ROCm 5 has no other name for it */
	.in_callback = CLV_HIP_SUCCESS,
	.load = clv_hip_load,
	.get_context = get_context,
	.set_context = set_context,
	.wait_for_context = wait_for_context,
	.context_of = context_of,
	.capture_status = capture_status,
	.is_blocking = is_blocking,
	.exchange_capture_mode = exchange_capture_mode,
	.make_event = make_event,
	.record = record,
	.query = query,
	.wait = wait_for,
	.destroy = destroy,
};
