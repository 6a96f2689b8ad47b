/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"

/* Streams as queues of the gate: the queue operations, and the ends of streams and
 * contexts. */

struct clv_copy;
struct clv_blocked;
struct clv_stream_copy;

extern const struct clv_queue_ops clv_stream_queue_ops
	__attribute__((visibility("hidden")));

/* Call before the driver's call that submits a command to the stream. */
void clv_stream_before_submit(struct clv_queue *queue);

/* Takes a copy that need not wait for a turn (copies.h).  NULL: it is not such a copy, or
 * the account has no room. */
struct clv_copy *clv_stream_take_copy(
	struct clv_queue *queue, const struct clv_stream_copy *copy);

/* Counted work is about to be submitted.  True: its duration must not be learned, because
 * an uncounted copy may be before it. */
bool clv_stream_note_counted(struct clv_queue *queue, bool is_copy);

/* Counts commands of the program that are no work and take places in the stream. */
void clv_stream_count_others(void *stream, bool is_per_thread, uint32_t n);

struct clv_blocked *clv_stream_stand_of(struct clv_queue *queue);

/* A kernel is launched in the stream; queue may be NULL.  If the stream does not keep
 * to the lease's limit in space the driver table's report_unlimited() is called, once per
 * stream. */
void clv_stream_note_launch(struct clv_queue *queue, void *stream);

/* A stream may soon be blocked, and its context with it: marks what threads' own streams
 * have unmarked before that. */
void clv_streams_mark_own(void);

/* end: the program is about to destroy the stream.  destroy: the same with the driver's
 * call. */
void clv_stream_end(void *stream);
int clv_stream_destroy(int (*destroy)(void *stream), void *stream);

/* drain: a context is about to be destroyed; when this returns all its work is complete
 * and booked.  is_end is false where it may live on, because there may be references that
 * the gate has not seen: then what other threads submit meanwhile stays in flight.
 * undo_drain: after is_end, it was not destroyed, because the driver refused. */
void clv_streams_drain(void *context, bool is_end);
void clv_streams_undo_drain(void *context);

/* A subcontext is about to end (driver.h): calls end for each of its streams, with the
 * key of its queue (handle.h), which is the driver's handle if it has one. */
void clv_streams_end_with(
	const void *subcontext, void (*end)(void *stream, bool has_handle));

/* The context was destroyed, and its streams with it. */
void clv_streams_forget(const void *context);
