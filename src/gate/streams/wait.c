/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/streams/wait.h"

#include "gate/streams/driver.h"
#include "gate/streams/stream.h"

#include <stdlib.h>

struct clv_custody clv_stream_wait_begin(void *stream, bool is_per_thread)
{
	struct clv_custody custody = {0};

	if (clv_gate_peek() && atomic_load(&clv_n_captures) == 0)
		custody = clv_custody_take(clv_queue_find_known(
			clv_stream_queue_handle(stream, is_per_thread)));
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

/* Callbacks.  In a graph one runs again and again: then its record stays. */

struct host_function {
	void (*function)(void *userdata);
	void *userdata;
	uint64_t serial; /* of the stream */
	bool is_once;
};

static void begin_function(uint64_t serial)
{
	clv_gate_callback_begin();
	clv_stand_function_begin(serial);
}

static void end_function(uint64_t serial)
{
	clv_stand_function_end(serial);
	clv_gate_callback_end();
}

static void run_host_function(void *userdata)
{
	struct host_function call = *(struct host_function *)userdata;

	if (call.is_once)
		free(userdata);
	begin_function(call.serial);
	call.function(call.userdata);
	end_function(call.serial);
}

/* A call that was taken may have run already, and be gone. */
static int submitted(int result, void *call, uint64_t serial)
{
	if (result == CLV_STREAM_SUCCESS)
		return result;
	clv_stand_function_refused(serial);
	free(call);
	return result;
}

int clv_stream_host_function(int (*submit)(void *stream, void *function, void *userdata),
	bool is_per_thread, void *stream, void *function, void *userdata)
{
	struct host_function *call;
	uint64_t serial;

	if (clv_gate_thread.callback_depth > 0 && clv_stream_driver.in_callback)
		return clv_stream_driver.in_callback;
	call = function ? malloc(sizeof(*call)) : NULL;
	if (!call)
		return submit(stream, function, userdata);
	call->function = (void (*)(void *))(uintptr_t)function;
	call->userdata = userdata;
	call->is_once = !clv_stream_is_capturing(stream, is_per_thread);
	serial = call->is_once ? clv_stand_function_submitted(stream, is_per_thread) : 0;
	call->serial = serial;
	return submitted(
		submit(stream, (void *)(uintptr_t)run_host_function, call), call, serial);
}

struct stream_callback {
	void (*function)(void *stream, int status, void *userdata);
	void *userdata;
	uint64_t serial;
};

static void run_stream_callback(void *stream, int status, void *userdata)
{
	struct stream_callback call = *(struct stream_callback *)userdata;

	free(userdata);
	begin_function(call.serial);
	call.function(stream, status, call.userdata);
	end_function(call.serial);
}

int clv_stream_callback(
	int (*submit)(void *stream, void *function, void *userdata, uint32_t flags),
	bool is_per_thread, void *stream, void *function, void *userdata, uint32_t flags)
{
	struct stream_callback *call;
	uint64_t serial;

	if (clv_gate_thread.callback_depth > 0 && clv_stream_driver.in_callback)
		return clv_stream_driver.in_callback;
	call = function ? malloc(sizeof(*call)) : NULL;
	if (!call)
		return submit(stream, function, userdata, flags);
	call->function = (void (*)(void *, int, void *))(uintptr_t)function;
	call->userdata = userdata;
	serial = clv_stand_function_submitted(stream, is_per_thread);
	call->serial = serial;
	return submitted(
		submit(stream, (void *)(uintptr_t)run_stream_callback, call, flags), call,
		serial);
}
