/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks the program's own waits, and its functions that streams call. */
#include "gate/streams/wait.h"

#include "gate/process/state.h"
#include "gate/process/tickets.h"
#include "gate/process/view.h"
#include "gate/queue/custody.h"
#include "gate/queue/table.h"
#include "gate/streams/blocked-stream.h"
#include "gate/streams/capture.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/host-node.h"
#include "gate/streams/stream-wait.h"

#include <stdlib.h>

struct clv_custody clv_stream_wait_begin(void *stream, bool is_per_thread)
{
	struct clv_custody custody = {0};
	const void *handle;

	if (clv_gate_current_view() && atomic_load(&clv_n_captures) == 0 &&
		clv_stream_queue_handle(stream, is_per_thread, &handle) ==
			CLV_STREAM_SUCCESS)
		custody = clv_custody_take(clv_queue_find_known(handle));
	clv_gate_wait_begin();
	return custody;
}

struct clv_custody clv_stream_wait_begin_other(void)
{
	clv_gate_wait_begin();
	return (struct clv_custody){0};
}

/* Books what was waited for, or puts it back if the wait failed. */
int clv_stream_wait_end(const struct clv_custody *custody, int result)
{
	if (custody->queue && result == CLV_STREAM_SUCCESS)
		clv_custody_book(custody);
	else if (custody->queue)
		clv_custody_return(custody);
	clv_gate_wait_end();
	return result;
}

/* Callbacks. */

struct host_function {
	void (*function)(void *userdata);
	void *userdata;
	struct clv_blocked_function noted;
};

static void begin_function(const struct clv_blocked_function *noted)
{
	clv_gate_callback_begin();
	clv_blocked_function_begin(noted);
}

static void end_function(const struct clv_blocked_function *noted)
{
	clv_blocked_function_end(noted);
	clv_gate_callback_end();
}

static void run_once(void *ticket)
{
	struct host_function *call = clv_ticket_take(ticket);

	if (!call)
		return;
	begin_function(&call->noted);
	call->function(call->userdata);
	end_function(&call->noted);
	free(call);
}

/* Cleans up after a refused call, whose function may have run all the same. */
static int finish_submission(
	int result, void *ticket, const struct clv_blocked_function *noted)
{
	void *call;

	if (result == CLV_STREAM_SUCCESS)
		return result;
	call = clv_ticket_take(ticket);
	if (call)
		clv_blocked_function_refused(noted);
	free(call);
	return result;
}

/* In a graph the function runs repeatedly. */
static int submit_to_graph(int (*submit)(void *stream, void *function, void *userdata),
	void *stream, void *function, void *userdata)
{
	struct clv_host_node node = {(void (*)(void *))(uintptr_t)function, userdata};

	node = clv_host_node_wrap(&node);
	return submit(stream, (void *)(uintptr_t)node.function, node.userdata);
}

int clv_stream_host_function(int (*submit)(void *stream, void *function, void *userdata),
	bool is_per_thread, void *stream, void *function, void *userdata)
{
	struct host_function *call;
	struct clv_blocked_function noted;
	void *ticket;

	if (clv_gate_thread.callback_depth > 0 && clv_stream_driver->in_callback)
		return clv_stream_driver->in_callback;
	if (function && clv_stream_is_capturing(stream, is_per_thread))
		return submit_to_graph(submit, stream, function, userdata);
	call = function ? malloc(sizeof(*call)) : NULL;
	if (!call)
		return submit(stream, function, userdata);
	call->function = (void (*)(void *))(uintptr_t)function;
	call->userdata = userdata;
	ticket = clv_ticket_new(call);
	if (!ticket) {
		free(call);
		return CLV_STREAM_OUT_OF_MEMORY;
	}
	noted = call->noted = clv_blocked_function_submitted(stream, is_per_thread);
	return finish_submission(
		submit(stream, (void *)(uintptr_t)run_once, ticket), ticket, &noted);
}

struct stream_callback {
	void (*function)(void *stream, int status, void *userdata);
	void *userdata;
	struct clv_blocked_function noted;
};

static void run_stream_callback(void *stream, int status, void *ticket)
{
	struct stream_callback *call = clv_ticket_take(ticket);

	if (!call)
		return;
	begin_function(&call->noted);
	call->function(stream, status, call->userdata);
	end_function(&call->noted);
	free(call);
}

int clv_stream_callback(
	int (*submit)(void *stream, void *function, void *userdata, uint32_t flags),
	bool is_per_thread, void *stream, void *function, void *userdata, uint32_t flags)
{
	struct stream_callback *call;
	struct clv_blocked_function noted;
	void *ticket;

	if (clv_gate_thread.callback_depth > 0 && clv_stream_driver->in_callback)
		return clv_stream_driver->in_callback;
	call = function ? malloc(sizeof(*call)) : NULL;
	if (!call)
		return submit(stream, function, userdata, flags);
	call->function = (void (*)(void *, int, void *))(uintptr_t)function;
	call->userdata = userdata;
	ticket = clv_ticket_new(call);
	if (!ticket) {
		free(call);
		return CLV_STREAM_OUT_OF_MEMORY;
	}
	noted = call->noted = clv_blocked_function_submitted(stream, is_per_thread);
	return finish_submission(
		submit(stream, (void *)(uintptr_t)run_stream_callback, ticket, flags),
		ticket, &noted);
}
