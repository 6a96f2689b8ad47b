/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queues.h"
#include "gate/streams/capture.h"
#include "gate/streams/copies.h"
#include "gate/streams/stand.h"

/* Streams as the gate's queues.  A default stream has no handle of its own: a context's
 * legacy one is known by the context, a thread's by a record of that thread and context.
 */

extern const struct clv_queue_ops clv_stream_queue_ops
	__attribute__((visibility("hidden")));

/* What no queue has. */
#define CLV_STREAM_NO_QUEUE ((const void *)-1)

/* By what the gate knows a stream, as far as it is known without a call.  The special
 * handles 1 and 2 are no queue's. */
CLV_HOT const void *clv_stream_handle(const void *stream, bool is_per_thread)
{
	if (CLV_LIKELY(stream))
		return stream;
	return is_per_thread ? clv_gate_thread.own_default_handle
			     : clv_gate_thread.default_handle;
}

/* Another context is, or may be, current on this thread. */
static inline void clv_stream_forget_context(void)
{
	clv_gate_thread.default_handle = NULL;
	clv_gate_thread.own_default_handle = NULL;
}

/* By what it knows any.  An error: it cannot be known now. */
int clv_stream_queue_handle(const void *stream, bool is_per_thread, const void **ret);

/* Whether what is submitted to the stream now becomes part of a graph instead. */
bool clv_stream_is_capturing(void *stream, bool is_per_thread);

/* Around the driver's call that gives a stream a command.  True: the second is needed,
 * once the command has its marker. */
bool clv_stream_order_begin(struct clv_queue *queue);
void clv_stream_order_end(struct clv_queue *queue);

/* A copy for which nobody has to wait for a turn (copies.h).  NULL: it is none, or there
 * is no room for it. */
struct clv_copy *clv_stream_take_copy(
	struct clv_queue *queue, const struct clv_stream_copy *copy);

/* Anything else is about to be submitted.  True: how long it takes will say nothing, for
 * a copy that is not counted may be before it. */
bool clv_stream_note_counted(struct clv_queue *queue, bool is_copy);

struct clv_stand *clv_stream_stand_of(struct clv_queue *queue);

/* A kernel is launched there; queue may be NULL.  If it does not keep to the lease's
 * limit in space the driver is told, once for each stream. */
void clv_stream_note_launch(struct clv_queue *queue, void *stream);

/* A stream may soon stand still, and its context with it: what is in threads' own streams
 * and has no marker gets one before. */
void clv_streams_mark_own(void);

/* The program is about to destroy it. */
void clv_stream_end(void *stream);

/* A context is about to go: everything of it is complete and booked afterwards.  And if
 * it has not gone, as the driver refused. */
void clv_streams_drain(void *context);
void clv_streams_stay(void *context);

/* It has gone, and its streams with it. */
void clv_streams_forget(const void *context);
