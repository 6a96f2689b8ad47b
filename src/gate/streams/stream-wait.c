/* SPDX-License-Identifier: Apache-2.0 */
/* Records where a stream may become blocked: an event before the wait and one behind
 * it. */
#include "gate/streams/stream-wait.h"

#include "gate/process/queue-record.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/streams/blocked-stream.h"
#include "gate/streams/capture.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream.h"

#include <stdlib.h>

#define N_EVENTS 2 /* of a wait, which take places in the stream as well */

static struct clv_queue *queue_of(void *stream, bool is_per_thread)
{
	const void *handle;

	if (!clv_gate_current_view() || clv_stream_is_capturing(stream, is_per_thread))
		return NULL;
	if (clv_stream_queue_handle(stream, is_per_thread, &handle) !=
			CLV_STREAM_SUCCESS ||
		handle == CLV_STREAM_NO_QUEUE)
		return NULL;
	return clv_queue_find(handle);
}

struct clv_blocked_waiting clv_blocked_waiting_begin(
	void *stream, bool is_per_thread, bool is_for_event)
{
	struct clv_blocked_waiting waiting = {.is_for_event = is_for_event};
	struct clv_blocked *stand;

	waiting.queue = queue_of(stream, is_per_thread);
	if (!waiting.queue)
		return waiting;
	clv_stream_before_submit(waiting.queue);
	if (!clv_queue_has_room(waiting.queue)) {
		waiting.queue = NULL;
		return waiting;
	}
	stand = clv_stream_stand_of(waiting.queue);
	if (clv_blocked_take_place(stand, clv_queue_waits_max())) {
		clv_streams_mark_own();
		clv_queue_mark_own(waiting.queue);
		waiting.before = clv_stream_queue_ops.mark(waiting.queue);
	}
	if (!waiting.before) {
		clv_blocked_return_place(stand);
		waiting.queue = NULL;
	}
	return waiting;
}

int clv_blocked_waiting_end(const struct clv_blocked_waiting *waiting, int result)
{
	struct clv_blocked_wait *wait;
	struct clv_blocked *stand;
	void *behind = NULL;

	if (!waiting->queue)
		return result;
	stand = clv_stream_stand_of(waiting->queue);
	wait = calloc(1, sizeof(*wait));
	if (wait && result == CLV_STREAM_SUCCESS)
		behind = clv_stream_queue_ops.mark(waiting->queue);
	if (!behind) {
		clv_stream_queue_ops.release_event(waiting->queue, waiting->before);
		free(wait);
		clv_blocked_return_place(stand);
		return result;
	}
	clv_queue_count_others(waiting->queue, N_EVENTS);
	*wait = (struct clv_blocked_wait){
		.before = waiting->before,
		.behind = behind,
		.is_for_event = waiting->is_for_event,
	};
	clv_blocked_add(stand, wait);
	clv_helper_wake();
	return result;
}

/* A driver refuses longer batches, and the array may be shorter than its length says. */
#define BATCH_MAX 256
#define OPERATION_WAIT_32 1
#define OPERATION_WAIT_64 4

struct operation {
	int kind;
	uint64_t rest[5];
};

bool clv_blocked_has_wait(const void *operations, uint32_t n)
{
	const struct operation *all = operations;

	for (uint32_t i = 0; all && n <= BATCH_MAX && i < n; i++) {
		if (all[i].kind == OPERATION_WAIT_32 || all[i].kind == OPERATION_WAIT_64)
			return true;
	}
	return false;
}

struct clv_blocked_function clv_blocked_function_submitted(
	void *stream, bool is_per_thread)
{
	struct clv_queue *queue = queue_of(stream, is_per_thread);
	struct clv_blocked_function function = {0};

	if (!queue)
		return function;
	clv_stream_before_submit(queue);
	function = clv_blocked_function_expect(clv_stream_stand_of(queue));
	clv_queue_count_others(queue, 1);
	clv_streams_mark_own();
	clv_queue_mark_own(queue);
	return function;
}
