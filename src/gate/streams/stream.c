/* SPDX-License-Identifier: Apache-2.0 */
/* The queue operations of streams.  Markers are events without timing; each stream keeps
 * a few spare ones, since creating one costs more than recording it. */
#include "gate/streams/stream.h"

#include "base/clock.h"
#include "gate/process/lock.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/streams/blocked-stream.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/copies.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/legacy.h"

#include <stdlib.h>
#include <time.h>

#define N_SPARE_EVENTS 8
#define DRAIN_LOOK_NS (100 * CLV_NS_PER_US)
#define DRAIN_NS (1 * CLV_NS_PER_S)

struct stream {
	struct clv_queue common; /* first */
	void *stream;            /* the driver's handle */
	pthread_t owner;         /* of a per-thread stream: its thread */
	bool is_per_thread;
	bool is_blocking; /* the stream and the legacy stream wait for each other */
	/* whole: what has the gate's events of the stream.  subcontext: what the stream
	 * ends with; the same where it is in no subcontext. */
	void *whole, *subcontext;
	struct clv_legacy *legacy; /* of the subcontext */
	struct clv_legacy *events; /* of the whole */
	_Atomic bool is_within;    /* keeps to the limit in space, or was reported */
	/* is_for_work: it has had other work than copies.  had_uncounted: some of its
	 * copies were not counted. */
	_Atomic bool is_for_work, had_uncounted;
	struct clv_blocked stand;
	pthread_mutex_t spare_lock;
	void *spare[N_SPARE_EVENTS];
	uint32_t n_spare;
};

static struct stream *stream_of(struct clv_queue *queue)
{
	return (struct stream *)queue;
}

struct clv_blocked *clv_stream_stand_of(struct clv_queue *queue)
{
	return &stream_of(queue)->stand;
}

static bool keeps_within(void *stream)
{
	return !clv_stream_driver->is_within || clv_stream_driver->is_within(stream);
}

void clv_stream_note_launch(struct clv_queue *queue, void *stream)
{
	if (queue ? atomic_load(&stream_of(queue)->is_within) : keeps_within(stream))
		return;
	clv_stream_driver->report_unlimited(stream);
	if (queue)
		atomic_store(&stream_of(queue)->is_within, true);
}

/* Events. */

static void *take_spare(struct stream *stream)
{
	void *event = NULL;

	pthread_mutex_lock(&stream->spare_lock);
	if (stream->n_spare > 0)
		event = stream->spare[--stream->n_spare];
	pthread_mutex_unlock(&stream->spare_lock);
	return event;
}

static bool keep_spare(struct stream *stream, void *event)
{
	bool is_kept = false;

	pthread_mutex_lock(&stream->spare_lock);
	if (stream->n_spare < N_SPARE_EVENTS && !atomic_load(&stream->common.released)) {
		stream->spare[stream->n_spare++] = event;
		is_kept = true;
	}
	pthread_mutex_unlock(&stream->spare_lock);
	return is_kept;
}

static void drop_spares(struct stream *stream)
{
	void *event;

	while ((event = take_spare(stream)))
		clv_stream_driver->destroy(event);
}

/* Makes the context current on the helper, and keeps it: its calls are part of no capture
 * and invalidate none.  Other threads that call this have the context current already. */
static void enter_context(void *context)
{
	static __thread struct clv_relaxation relaxation
		__attribute__((tls_model("initial-exec")));

	if (!relaxation.is_on)
		clv_relax_begin(&relaxation);
	if (clv_context() != context)
		clv_stream_driver->set_context(context);
}

/* Whether threads' own streams are in use, and the driver can record an event behind all
 * work of a context. */
static _Atomic bool contexts_have_events;

static void note_own_stream(void)
{
	static _Atomic bool is_noted;

	if (!atomic_exchange(&is_noted, true))
		atomic_store(&contexts_have_events, clv_stream_driver->record_context);
}

/* The queue's operations. */

static bool is_legacy(const struct stream *stream)
{
	return stream->stream == clv_stream_driver->legacy;
}

static void find_subcontext(struct stream *stream, void *handle)
{
	struct clv_stream_subcontext found;

	stream->whole = stream->subcontext = stream->common.context;
	if (clv_stream_driver->subcontext_of &&
		clv_stream_driver->subcontext_of(handle, stream->whole, &found)) {
		stream->whole = found.whole;
		stream->subcontext = found.context;
	}
	stream->legacy = clv_legacy_of(stream->subcontext);
	stream->events = clv_legacy_of(stream->whole);
}

static void begin_queue(struct clv_queue *queue)
{
	struct stream *stream = stream_of(queue);
	void *handle = NULL;

	clv_lock_init(&stream->spare_lock, PTHREAD_MUTEX_NORMAL);
	clv_blocked_begin(&stream->stand);
	if (clv_stream_is_of_thread(queue->handle, &queue->context)) {
		note_own_stream();
		stream->is_per_thread = true;
		stream->owner = pthread_self();
		stream->stream = CLV_STREAM_PER_THREAD;
	} else if ((uintptr_t)queue->handle & 1) {
		stream->stream = clv_stream_driver->legacy;
		queue->context = (char *)queue->handle - 1;
	} else {
		stream->stream = handle = (void *)queue->handle;
		queue->context = clv_stream_driver->context_of(handle);
		/* The most likely one. */
		if (!queue->context)
			queue->context = clv_context();
	}
	stream->is_blocking =
		stream->is_per_thread ||
		(!is_legacy(stream) && clv_stream_driver->is_blocking(stream->stream));
	find_subcontext(stream, handle);
	atomic_store(&stream->is_within, keeps_within(stream->stream));
}

void clv_stream_before_submit(struct clv_queue *queue)
{
	const struct stream *stream = stream_of(queue);

	if (stream->is_blocking)
		clv_legacy_submit_blocking(stream->legacy);
}

/* A command in a thread's own stream, which no other thread can mark, is marked at once
 * if another lease may wait for it, or if its context, which would have to stand for the
 * stream later, may be blocked then. */
static bool marks_at_once(const struct clv_queue *queue, enum clv_phase phase)
{
	const struct stream *stream = (const struct stream *)queue;

	return stream->is_per_thread && (phase != CLV_PHASE_OPEN || clv_may_stand());
}

static int record_at(struct stream *stream, void **ret,
	int (*record)(void *event, void *place), void *place)
{
	void *event = take_spare(stream);
	int r = CLV_STREAM_SUCCESS;

	if (!event)
		r = clv_stream_driver->make_event(&event,
			CLV_STREAM_EVENT_BLOCKING_SYNC | CLV_STREAM_EVENT_DISABLE_TIMING);
	if (r != CLV_STREAM_SUCCESS)
		return r;
	r = record(event, place);
	if (r == CLV_STREAM_SUCCESS)
		*ret = event;
	else
		clv_stream_driver->destroy(event);
	return r;
}

/* Another thread's default stream cannot be named: its whole context stands for it, by an
 * event of the context, or, where the driver has none, by a wait for the context at the
 * time of the wait. */
static bool is_out_of_reach(const struct stream *stream)
{
	return stream->is_per_thread && !pthread_equal(stream->owner, pthread_self());
}

static void *record_context(struct stream *stream)
{
	void *context = stream->common.context, *event = context;

	if (atomic_load(&contexts_have_events) &&
		record_at(stream, &event, clv_stream_driver->record_context, context) ==
			CLV_STREAM_NOT_SUPPORTED)
		atomic_store(&contexts_have_events, false);
	return event;
}

static int record_legacy(void *event, void *legacy)
{
	return clv_legacy_record(legacy, event);
}

static void *record(struct stream *stream)
{
	void *event = NULL;

	if (is_legacy(stream))
		record_at(stream, &event, record_legacy, stream->legacy);
	else
		record_at(stream, &event, clv_stream_driver->record, stream->stream);
	return event;
}

static void *mark(struct clv_queue *queue)
{
	struct stream *stream = stream_of(queue);
	void *event = is_out_of_reach(stream) ? queue->context : NULL;
	struct clv_visit visit;

	if (clv_visit_begin(&visit, queue->context)) {
		event = event ? record_context(stream) : record(stream);
		clv_visit_end(&visit);
	}
	if (event && stream->events)
		atomic_fetch_add(&stream->events->n_events, 1);
	return event;
}

void clv_streams_mark_own(void)
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	if (!atomic_load(&contexts_have_events))
		return;
	while ((queue = clv_table_next(&walk))) {
		if (is_out_of_reach(stream_of(queue)) &&
			CLV_FLIGHT_COUNT(atomic_load(&queue->backlog.unmarked)) > 0 &&
			!clv_queue_may_block(queue))
			clv_queue_mark_at_once(queue);
	}
}

static bool is_drained(struct clv_queue *queue)
{
	const struct clv_legacy *events = stream_of(queue)->events;

	return events && atomic_load(&events->is_drained);
}

static bool is_of_capture(int result)
{
	return result >= CLV_STREAM_CAPTURE_FIRST && result <= CLV_STREAM_CAPTURE_LAST;
}

/* Whether an event is complete, from the driver's result.  An event that reports failed
 * work is complete too. */
static bool note_result(int result)
{
	if (result != CLV_STREAM_SUCCESS && result != CLV_STREAM_NOT_READY &&
		!is_of_capture(result))
		clv_blocked_functions_lost();
	return result != CLV_STREAM_NOT_READY;
}

static void wait_for_event(struct clv_queue *queue, void *event)
{
	bool is_of_context = event == queue->context;

	if (is_drained(queue))
		return;
	enter_context(is_of_context ? queue->context : stream_of(queue)->whole);
	if (is_of_context)
		clv_stream_driver->wait_for_context();
	else
		note_result(clv_stream_driver->wait(event));
}

/* A context that stands for a stream cannot be queried, only waited for. */
static bool is_complete(struct clv_queue *queue, void *event)
{
	if (is_drained(queue))
		return true;
	if (event == queue->context) {
		if (clv_any_is_blocked())
			return false;
		wait_for_event(queue, event);
		return true;
	}
	enter_context(stream_of(queue)->whole);
	return note_result(clv_stream_driver->query(event));
}

static bool is_complete_aside(struct clv_queue *queue, void *event)
{
	struct clv_visit visit;
	bool is_it;

	if (event == queue->context || !clv_visit_begin(&visit, stream_of(queue)->whole))
		return false;
	is_it = is_drained(queue) || note_result(clv_stream_driver->query(event));
	clv_visit_end(&visit);
	return is_it;
}

static bool is_blocked(struct clv_queue *queue, bool *ret_went_on)
{
	return clv_blocked_look(
		&stream_of(queue)->stand, queue, is_complete, ret_went_on);
}

static void release_event(struct clv_queue *queue, void *event)
{
	struct stream *stream = stream_of(queue);

	if (event != queue->context && !keep_spare(stream, event))
		clv_stream_driver->destroy(event);
	if (stream->events)
		atomic_fetch_sub(&stream->events->n_events, 1);
}

/* Whether no capture forbids use of the stream: one of its own, or, for the legacy
 * stream, one of a stream that waits for it.  The query does not harm a capture.  Where
 * the driver does not tell, the marker is tried: unmarked work is in flight only until
 * the driver has refused often enough. */
static bool is_touchable(const struct stream *stream)
{
	struct clv_visit visit;
	int status, r;

	if (is_legacy(stream) && clv_captures_shut_legacy())
		return false;
	if (!clv_visit_begin(&visit, stream->common.context))
		return true;
	r = clv_stream_driver->capture_status(stream->stream, &status);
	clv_visit_end(&visit);
	if (r == CLV_STREAM_SUCCESS)
		return status == CLV_STREAM_CAPTURE_NONE;
	return !is_of_capture(r);
}

static bool can_mark(const struct clv_queue *queue)
{
	const struct stream *stream = (const struct stream *)queue;

	return atomic_load(&clv_n_captures) == 0 ||
	       (!is_out_of_reach(stream) && is_touchable(stream));
}

/* Not asked during a capture, which the question may end.  What marks a stream that is
 * out of reach takes no place in it. */
static enum clv_queue_rest ask_rest(struct clv_queue *queue)
{
	struct stream *stream = stream_of(queue);
	struct clv_relaxation relaxation = {0};
	struct clv_visit visit;
	int r;

	if (is_out_of_reach(stream))
		return CLV_QUEUE_UNASKED;
	if (!clv_stream_driver->query_stream)
		return atomic_load(&queue->n_markers) == 0 ? CLV_QUEUE_EMPTY
							   : CLV_QUEUE_BUSY;
	if (atomic_load(&clv_n_captures) > 0 || !clv_visit_begin(&visit, queue->context))
		return CLV_QUEUE_BUSY;
	clv_relax_begin(&relaxation);
	r = clv_stream_driver->query_stream(stream->stream);
	clv_relax_end(&relaxation);
	clv_visit_end(&visit);
	return r == CLV_STREAM_SUCCESS ? CLV_QUEUE_EMPTY : CLV_QUEUE_BUSY;
}

void clv_stream_count_others(void *stream, bool is_per_thread, uint32_t n)
{
	const void *handle = clv_stream_handle(stream, is_per_thread);
	struct clv_queue *queue = clv_gate_thread.last_queue;

	if (!clv_gate_current_view() || clv_gate_thread.callback_depth > 0)
		return;
	if (!handle || queue->handle != handle) {
		if (clv_stream_queue_handle(stream, is_per_thread, &handle) !=
				CLV_STREAM_SUCCESS ||
			handle == CLV_STREAM_NO_QUEUE)
			return;
		/* The first command of the stream, which may get work later. */
		queue = atomic_load(&clv_n_captures) > 0 ? clv_queue_find_known(handle)
							 : clv_queue_find(handle);
	}
	if (queue)
		clv_queue_count_others(queue, n);
}

struct clv_copy *clv_stream_take_copy(
	struct clv_queue *queue, const struct clv_stream_copy *copy)
{
	struct stream *stream = stream_of(queue);
	struct clv_copy *taken;

	if ((uintptr_t)stream->stream <= 2 || atomic_load(&stream->is_for_work) ||
		copy->n_bytes == 0 || atomic_load(&clv_n_captures) > 0 ||
		!clv_queue_has_room(queue) || !clv_stream_driver->is_host_device ||
		!clv_stream_driver->is_host_device(copy->to, copy->from))
		return NULL;
	taken = clv_copies_take(queue, copy->n_bytes);
	if (taken)
		atomic_store(&stream->had_uncounted, true);
	return taken;
}

bool clv_stream_note_counted(struct clv_queue *queue, bool is_copy)
{
	struct stream *stream = stream_of(queue);

	if (!is_copy && !atomic_load(&stream->is_for_work))
		atomic_store(&stream->is_for_work, true);
	if (!atomic_load(&stream->had_uncounted))
		return false;
	atomic_store(&stream->had_uncounted, clv_copies_are_out(queue));
	return atomic_load(&stream->had_uncounted);
}

/* The slow path must see a launch that exceeds the limit in space, and the first kernel
 * of a stream of copies. */
static bool may_be_quick(const struct clv_queue *queue)
{
	const struct stream *stream = (const struct stream *)queue;

	return atomic_load(&clv_n_captures) == 0 && atomic_load(&stream->is_within) &&
	       atomic_load(&stream->is_for_work);
}

const struct clv_queue_ops clv_stream_queue_ops = {
	.record_bytes = sizeof(struct stream),
	.depth = 1000, /* CUDA's streams hold 1,024 commands */
	.begin = begin_queue,
	.can_mark = can_mark,
	.may_be_quick = may_be_quick,
	.marks_at_once = marks_at_once,
	.mark = mark,
	.wait_for_event = wait_for_event,
	.release_event = release_event,
	.may_block = clv_may_stand,
	.is_complete = is_complete,
	.is_complete_aside = is_complete_aside,
	.ask_rest = ask_rest,
	.is_blocked = is_blocked,
};

/* The end of a stream, and of a context. */

static void forget_events(struct clv_queue *queue)
{
	clv_blocked_end(clv_stream_stand_of(queue), queue);
	drop_spares(stream_of(queue));
}

void clv_stream_end(void *handle)
{
	struct clv_queue *queue = clv_queue_find_known(handle);

	if (!queue)
		return;
	forget_events(queue);
	clv_queue_release(handle);
}

/* Streams that joined another's capture are not in the list of captures. */
int clv_stream_destroy(int (*destroy)(void *stream), void *stream)
{
	clv_stream_end(stream);
	if (stream)
		clv_capture_forget(stream);
	return destroy(stream);
}

/* Work for which the driver's wait succeeded is complete, whatever it reports of an
 * event. */
static bool await_context(void *context)
{
	struct clv_visit visit;
	int r;

	if (!clv_visit_begin(&visit, context))
		return false;
	r = clv_stream_driver->wait_for_context();
	clv_visit_end(&visit);
	return r == CLV_STREAM_SUCCESS;
}

static bool is_in(const struct clv_queue *queue, const void *context)
{
	const struct stream *stream = (const struct stream *)queue;

	return stream->subcontext == context || stream->whole == context;
}

static void for_each_of(const void *context, void (*act)(struct clv_queue *queue))
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	while ((queue = clv_table_next(&walk))) {
		if (is_in(queue, context))
			act(queue);
	}
}

static void mark_rest(struct clv_queue *queue)
{
	clv_queue_mark(queue);
}

static void end_stand(struct clv_queue *queue)
{
	clv_blocked_end(clv_stream_stand_of(queue), queue);
}

static void drop_unused(struct clv_queue *queue)
{
	drop_spares(stream_of(queue));
}

/* The helper is done with the events from before the wait for the context within a few
 * looks.  Where the context lives on there may be later events at each look. */
static void await_events(const struct clv_legacy *legacy, bool is_end)
{
	struct timespec pause = {.tv_nsec = DRAIN_LOOK_NS};
	uint64_t until_ns = clv_clock_ns() + DRAIN_NS;

	while (atomic_load(&legacy->n_events) > 0 &&
		(is_end || clv_clock_ns() < until_ns))
		nanosleep(&pause, NULL);
}

/* The helper may wait for a kernel of another context, which may wait for what this
 * thread does next.  After a wait for this context these waits return at once. */
static void drain_queues(void *context)
{
	struct clv_relaxation relaxation = {0};
	struct clv_visit visit;

	if (!clv_visit_begin(&visit, context))
		return;
	/* enter_context() keeps its mode for the helper; this is the program's thread. */
	clv_relax_begin(&relaxation);
	clv_queues_drain_context(context);
	clv_relax_end(&relaxation);
	clv_visit_end(&visit);
}

void clv_streams_drain(void *context, bool is_end)
{
	struct clv_legacy *legacy = clv_legacy_of(context);

	if (is_end)
		clv_copies_end_with(context, false);
	for_each_of(context, mark_rest);
	if (legacy && await_context(context)) {
		if (is_end) {
			for_each_of(context, end_stand);
			atomic_store(&legacy->is_drained, 1);
		}
		clv_helper_wake();
		drain_queues(context);
	} else if (legacy && is_end) {
		/* The driver refuses the wait during a capture, and after a kernel has
		 * failed.  It still tells of each event. */
		drain_queues(context);
	}
	if (legacy)
		await_events(legacy, is_end);
	for_each_of(context, is_end ? forget_events : drop_unused);
}

void clv_streams_undo_drain(void *context)
{
	struct clv_legacy *legacy = clv_legacy_of(context);

	if (legacy)
		atomic_store(&legacy->is_drained, 0);
}

void clv_streams_end_with(
	const void *subcontext, void (*end)(void *stream, bool has_handle))
{
	struct clv_table_walk walk = {0};
	struct clv_queue *queue;

	while ((queue = clv_table_next(&walk))) {
		const struct stream *stream = stream_of(queue);

		if (stream->subcontext == subcontext)
			end((void *)queue->handle, stream->stream == queue->handle);
	}
}

void clv_streams_forget(const void *context)
{
	for_each_of(context, end_stand);
	for_each_of(context, clv_queue_forget);
	clv_copies_end_with(context, true);
	clv_legacy_forget(context);
	clv_captures_end_with(context);
}
