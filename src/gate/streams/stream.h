/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"

/* Streams as the gate's queues. */

struct clv_copy;
struct clv_stand;
struct clv_stream_copy;

extern const struct clv_queue_ops clv_stream_queue_ops
	__attribute__((visibility("hidden")));

/* Before the driver's call that gives a stream a command. */
void clv_stream_submits(struct clv_queue *queue);

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

/* The program is about to destroy it; and that with the driver's call. */
void clv_stream_end(void *stream);
int clv_stream_destroy(int (*destroy)(void *stream), void *stream);

/* A context is about to go: everything of it is complete and booked afterwards.  And if
 * it has not gone, as the driver refused. */
void clv_streams_drain(void *context);
void clv_streams_stay(void *context);

/* It has gone, and its streams with it. */
void clv_streams_forget(const void *context);
