/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make a stream wait for a word in memory, for an event, or for something
 * outside the process.  The gate cannot know what has to happen first. */
#include "gate/streams/blocked-stream.h"
#include "gate/cuda/context/library.h"
#include "gate/streams/legacy.h"
#include "gate/streams/shared-events.h"
#include "gate/streams/stream-wait.h"
#include "gate/streams/stream.h"

#define WAIT(symbol, type)                                                            \
	int clv_own_##symbol(clv_fn_##symbol *real, bool is_per_thread, void *stream, \
		uint64_t addr, type value, uint32_t flags)                            \
	{                                                                             \
		struct clv_blocked_waiting waiting =                                  \
			clv_blocked_waiting_begin(stream, is_per_thread, false);      \
                                                                                      \
		clv_stream_count_others(stream, is_per_thread, 1);                    \
		return clv_blocked_waiting_end(                                       \
			&waiting, real(stream, addr, value, flags));                  \
	}

WAIT(cuStreamWaitValue32, uint32_t)
WAIT(cuStreamWaitValue32_v2, uint32_t)
WAIT(cuStreamWaitValue64, uint64_t)
WAIT(cuStreamWaitValue64_v2, uint64_t)

#define BATCH(symbol)                                                                    \
	int clv_own_##symbol(clv_fn_##symbol *real, bool is_per_thread, void *stream,    \
		uint32_t count, const void *operations, uint32_t flags)                  \
	{                                                                                \
		struct clv_blocked_waiting waiting = {0};                                \
                                                                                         \
		clv_stream_count_others(stream, is_per_thread, 1);                       \
		if (clv_blocked_has_wait(operations, count))                             \
			waiting =                                                        \
				clv_blocked_waiting_begin(stream, is_per_thread, false); \
		return clv_blocked_waiting_end(                                          \
			&waiting, real(stream, count, operations, flags));               \
	}

BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_v2)

int clv_own_cuWaitExternalSemaphoresAsync(clv_fn_cuWaitExternalSemaphoresAsync *real,
	bool is_per_thread, void *semaphores, void *values, uint32_t count, void *stream)
{
	struct clv_blocked_waiting waiting =
		clv_blocked_waiting_begin(stream, is_per_thread, false);

	clv_stream_count_others(stream, is_per_thread, 1);
	return clv_blocked_waiting_end(&waiting, real(semaphores, values, count, stream));
}

int clv_own_cuIpcGetEventHandle(
	clv_fn_cuIpcGetEventHandle *real, void *p_handle, void *event)
{
	int r = real(p_handle, event);

	if (r == CLV_CUDA_SUCCESS)
		clv_shared_event_note(event);
	return r;
}

int clv_own_cuIpcOpenEventHandle(
	clv_fn_cuIpcOpenEventHandle *real, void *ph_event, struct clv_cuda_ipc handle)
{
	int r = real(ph_event, handle);

	if (r == CLV_CUDA_SUCCESS)
		clv_shared_event_note(*(void **)ph_event);
	return r;
}

int clv_own_cuEventDestroy(clv_fn_cuEventDestroy *real, void *event)
{
	clv_shared_event_forget(event);
	return real(event);
}

int clv_own_cuEventDestroy_v2(clv_fn_cuEventDestroy_v2 *real, void *event)
{
	clv_shared_event_forget(event);
	return real(event);
}

int clv_own_cuStreamWaitEvent(clv_fn_cuStreamWaitEvent *real, bool is_per_thread,
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

/* Commands that are no work, and take places in the stream. */

int clv_own_cuEventRecord(
	clv_fn_cuEventRecord *real, bool is_per_thread, void *event, void *stream)
{
	clv_stream_count_others(stream, is_per_thread, 1);
	return real(event, stream);
}

int clv_own_cuEventRecordWithFlags(clv_fn_cuEventRecordWithFlags *real,
	bool is_per_thread, void *event, void *stream, uint32_t flags)
{
	clv_stream_count_others(stream, is_per_thread, 1);
	return real(event, stream, flags);
}

#define WRITE(symbol, type)                                                           \
	int clv_own_##symbol(clv_fn_##symbol *real, bool is_per_thread, void *stream, \
		uint64_t addr, type value, uint32_t flags)                            \
	{                                                                             \
		clv_stream_count_others(stream, is_per_thread, 1);                    \
		return real(stream, addr, value, flags);                              \
	}

WRITE(cuStreamWriteValue32, uint32_t)
WRITE(cuStreamWriteValue32_v2, uint32_t)
WRITE(cuStreamWriteValue64, uint64_t)
WRITE(cuStreamWriteValue64_v2, uint64_t)
