/* SPDX-License-Identifier: Apache-2.0 */
/* The calls by which a stream waits for a word in memory or for an event. */
#include "gate/streams/stand.h"
#include "gate/cuda/library.h"

#define WAIT(symbol, type)                                                            \
	int clv_own_##symbol(clv_fn_##symbol *real, bool is_per_thread, void *stream, \
		uint64_t addr, type value, uint32_t flags)                            \
	{                                                                             \
		struct clv_stand_waiting waiting =                                    \
			clv_stand_waiting_begin(stream, is_per_thread, false);        \
                                                                                      \
		return clv_stand_waiting_end(                                         \
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
		struct clv_stand_waiting waiting = {0};                                  \
                                                                                         \
		if (clv_stand_has_wait(operations, count))                               \
			waiting = clv_stand_waiting_begin(stream, is_per_thread, false); \
		return clv_stand_waiting_end(                                            \
			&waiting, real(stream, count, operations, flags));               \
	}

BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_v2)

int clv_own_cuStreamWaitEvent(clv_fn_cuStreamWaitEvent *real, bool is_per_thread,
	void *stream, void *event, uint32_t flags)
{
	struct clv_stand_waiting waiting = {0};

	if (clv_may_stand())
		waiting = clv_stand_waiting_begin(stream, is_per_thread, true);
	return clv_stand_waiting_end(&waiting, real(stream, event, flags));
}
