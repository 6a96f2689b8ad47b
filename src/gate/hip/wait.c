/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of the program and callbacks (streams/wait.h), and the calls that make a stream
 * wait (streams/stream-wait.h). */
#include "gate/streams/wait.h"
#include "gate/hip/library.h"
#include "gate/queue/custody.h"
#include "gate/streams/blocked-stream.h"
#include "gate/streams/legacy.h"
#include "gate/streams/shared-events.h"
#include "gate/streams/stream-wait.h"
#include "gate/streams/stream.h"

int clv_own_hipStreamSynchronize(
	clv_fn_hipStreamSynchronize *real, bool is_per_thread, void *stream)
{
	struct clv_custody custody = clv_stream_wait_begin(stream, is_per_thread);

	return clv_stream_wait_end(&custody, real(stream));
}

int clv_own_hipDeviceSynchronize(clv_fn_hipDeviceSynchronize *real)
{
	struct clv_custody custody = clv_stream_wait_begin(NULL, false);

	return clv_stream_wait_end(&custody, real());
}

int clv_own_hipCtxSynchronize(clv_fn_hipCtxSynchronize *real)
{
	return clv_own_hipDeviceSynchronize(real);
}

int clv_own_hipEventSynchronize(clv_fn_hipEventSynchronize *real, void *event)
{
	struct clv_custody none = clv_stream_wait_begin_other();

	return clv_stream_wait_end(&none, real(event));
}

int clv_own_hipLaunchHostFunc(clv_fn_hipLaunchHostFunc *real, bool is_per_thread,
	void *stream, void *function, void *userdata)
{
	return clv_stream_host_function(real, is_per_thread, stream, function, userdata);
}

int clv_own_hipStreamAddCallback(clv_fn_hipStreamAddCallback *real, bool is_per_thread,
	void *stream, void *function, void *userdata, uint32_t flags)
{
	return clv_stream_callback(
		real, is_per_thread, stream, function, userdata, flags);
}

int clv_own_hipStreamWaitEvent(clv_fn_hipStreamWaitEvent *real, bool is_per_thread,
	void *stream, void *event, uint32_t flags)
{
	struct clv_blocked_waiting waiting = {0};
	bool is_outside = clv_shared_event_is(event);

	clv_legacy_before_wait(stream, is_per_thread);
	clv_stream_count_others(stream, is_per_thread, 1);
	if (is_outside || clv_may_stand())
		waiting = clv_blocked_waiting_begin(stream, is_per_thread, !is_outside);
	return clv_blocked_waiting_end(&waiting, real(stream, event, flags));
}

int clv_own_hipIpcGetEventHandle(
	clv_fn_hipIpcGetEventHandle *real, void *ret, void *event)
{
	int r = real(ret, event);

	if (r == CLV_HIP_SUCCESS)
		clv_shared_event_note(event);
	return r;
}

int clv_own_hipIpcOpenEventHandle(
	clv_fn_hipIpcOpenEventHandle *real, void *ret_event, struct clv_hip_ipc handle)
{
	int r = real(ret_event, handle);

	if (r == CLV_HIP_SUCCESS)
		clv_shared_event_note(*(void **)ret_event);
	return r;
}

int clv_own_hipEventDestroy(clv_fn_hipEventDestroy *real, void *event)
{
	clv_shared_event_forget(event);
	return real(event);
}

int clv_own_hipStreamWaitValue32(clv_fn_hipStreamWaitValue32 *real, void *stream,
	void *word, uint32_t value, uint32_t flags, uint32_t mask)
{
	struct clv_blocked_waiting waiting =
		clv_blocked_waiting_begin(stream, false, false);

	clv_stream_count_others(stream, false, 1);
	return clv_blocked_waiting_end(&waiting, real(stream, word, value, flags, mask));
}

int clv_own_hipStreamWaitValue64(clv_fn_hipStreamWaitValue64 *real, void *stream,
	void *word, uint64_t value, uint32_t flags, uint64_t mask)
{
	struct clv_blocked_waiting waiting =
		clv_blocked_waiting_begin(stream, false, false);

	clv_stream_count_others(stream, false, 1);
	return clv_blocked_waiting_end(&waiting, real(stream, word, value, flags, mask));
}

int clv_own_hipStreamBatchMemOp(clv_fn_hipStreamBatchMemOp *real, void *stream,
	uint32_t count, void *operations, uint32_t flags)
{
	struct clv_blocked_waiting waiting = {0};

	clv_stream_count_others(stream, false, 1);
	if (clv_blocked_has_wait(operations, count))
		waiting = clv_blocked_waiting_begin(stream, false, false);
	return clv_blocked_waiting_end(&waiting, real(stream, count, operations, flags));
}

/* Commands that are no work, and take places in the stream. */

int clv_own_hipEventRecord(
	clv_fn_hipEventRecord *real, bool is_per_thread, void *event, void *stream)
{
	clv_stream_count_others(stream, is_per_thread, 1);
	return real(event, stream);
}

int clv_own_hipEventRecordWithFlags(
	clv_fn_hipEventRecordWithFlags *real, void *event, void *stream, uint32_t flags)
{
	clv_stream_count_others(stream, false, 1);
	return real(event, stream, flags);
}

int clv_own_hipStreamWriteValue32(clv_fn_hipStreamWriteValue32 *real, void *stream,
	void *word, uint32_t value, uint32_t flags)
{
	clv_stream_count_others(stream, false, 1);
	return real(stream, word, value, flags);
}

int clv_own_hipStreamWriteValue64(clv_fn_hipStreamWriteValue64 *real, void *stream,
	void *word, uint64_t value, uint32_t flags)
{
	clv_stream_count_others(stream, false, 1);
	return real(stream, word, value, flags);
}
