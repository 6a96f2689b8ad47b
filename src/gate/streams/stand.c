/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams stand still.  Each wait has an event before it and one behind: the stream
 * stands while the first is complete and the second is not.  A function stands for as
 * long as it runs. */
#include "gate/streams/stand.h"

#include "gate/streams/driver.h"
#include "gate/streams/stream.h"

#include <stdlib.h>

/* What is noted at a time.  More is taken for work that takes long. */
#define MAX_WAITS 1024
#define MAX_RUNNING 64

struct clv_stand_wait {
	struct clv_stand_wait *next;
	void *before, *behind;
	bool is_for_event;
};

static _Atomic uint32_t n_waits;
static _Atomic uint32_t n_functions; /* submitted, and not returned */
static _Atomic uint32_t n_roots;
static _Atomic uint64_t last_serial;

static struct {
	_Atomic uint64_t serial; /* 0: free */
	_Atomic uint64_t since_ns;
} running[MAX_RUNNING];

bool clv_may_stand(void)
{
	return atomic_load(&n_waits) > 0 || atomic_load(&n_functions) > 0;
}

bool clv_any_stands(void)
{
	return atomic_load(&n_roots) > 0;
}

void clv_stand_begin(struct clv_stand *stand)
{
	pthread_mutex_init(&stand->lock, NULL);
	stand->serial = atomic_fetch_add(&last_serial, 1) + 1;
}

static void free_wait(struct clv_stand_wait *wait, struct clv_queue *queue)
{
	clv_stream_queue_ops.release_event(queue, wait->before);
	clv_stream_queue_ops.release_event(queue, wait->behind);
	free(wait);
	atomic_fetch_sub(&n_waits, 1);
}

/* With the lock held. */
static void drop_first(struct clv_stand *stand, struct clv_queue *queue)
{
	struct clv_stand_wait *wait = stand->first;

	stand->first = wait->next;
	if (!stand->first)
		stand->last = NULL;
	free_wait(wait, queue);
}

static void set_root(struct clv_stand *stand, bool is_root)
{
	if (stand->is_root == is_root)
		return;
	stand->is_root = is_root;
	if (is_root)
		atomic_fetch_add(&n_roots, 1);
	else
		atomic_fetch_sub(&n_roots, 1);
}

void clv_stand_end(struct clv_stand *stand, struct clv_queue *queue)
{
	pthread_mutex_lock(&stand->lock);
	while (stand->first)
		drop_first(stand, queue);
	set_root(stand, false);
	pthread_mutex_unlock(&stand->lock);
}

/* The beginning of the function that the stream is in; 0: it is in none. */
static uint64_t function_since_ns(uint64_t serial)
{
	for (int i = 0; i < MAX_RUNNING; i++) {
		if (atomic_load(&running[i].serial) == serial)
			return atomic_load(&running[i].since_ns);
	}
	return 0;
}

bool clv_stand_look(struct clv_stand *stand, struct clv_queue *queue,
	bool (*is_complete)(struct clv_queue *queue, void *event), bool *ret_went_on)
{
	uint64_t since_ns = function_since_ns(stand->serial);
	bool at_wait, for_event = false;

	pthread_mutex_lock(&stand->lock);
	*ret_went_on = since_ns != stand->function_since_ns;
	stand->function_since_ns = since_ns;
	while (stand->first && is_complete(queue, stand->first->behind)) {
		drop_first(stand, queue);
		*ret_went_on = true;
	}
	at_wait = stand->first && is_complete(queue, stand->first->before);
	if (at_wait)
		for_event = stand->first->is_for_event;
	set_root(stand, since_ns > 0 || (at_wait && !for_event));
	pthread_mutex_unlock(&stand->lock);
	return stand->is_root || (at_wait && clv_any_stands());
}

void clv_stand_forget_parent(void)
{
	atomic_store(&n_waits, 0);
	atomic_store(&n_functions, 0);
	atomic_store(&n_roots, 0);
	for (int i = 0; i < MAX_RUNNING; i++)
		atomic_store(&running[i].serial, 0);
}

/* Waits. */

static struct clv_queue *queue_of(void *stream, bool is_per_thread)
{
	const void *handle;

	if (!clv_gate_peek() || clv_stream_is_capturing(stream, is_per_thread))
		return NULL;
	if (clv_stream_queue_handle(stream, is_per_thread, &handle) !=
			CLV_STREAM_SUCCESS ||
		handle == CLV_STREAM_NO_QUEUE)
		return NULL;
	return clv_queue_find(handle);
}

struct clv_stand_waiting clv_stand_waiting_begin(
	void *stream, bool is_per_thread, bool is_for_event)
{
	struct clv_stand_waiting waiting = {.is_for_event = is_for_event};

	waiting.queue = queue_of(stream, is_per_thread);
	if (!waiting.queue)
		return waiting;
	waiting.is_ordered = clv_stream_order_begin(waiting.queue);
	if (atomic_fetch_add(&n_waits, 1) < MAX_WAITS) {
		clv_streams_mark_own();
		clv_queue_mark(waiting.queue);
		waiting.before = clv_stream_queue_ops.mark(waiting.queue);
	}
	if (!waiting.before) {
		atomic_fetch_sub(&n_waits, 1);
		if (waiting.is_ordered)
			clv_stream_order_end(waiting.queue);
		waiting.queue = NULL;
	}
	return waiting;
}

static void append(struct clv_stand *stand, struct clv_stand_wait *wait)
{
	pthread_mutex_lock(&stand->lock);
	if (stand->last)
		stand->last->next = wait;
	else
		stand->first = wait;
	stand->last = wait;
	pthread_mutex_unlock(&stand->lock);
}

int clv_stand_waiting_end(const struct clv_stand_waiting *waiting, int result)
{
	struct clv_stand_wait *wait;
	void *behind = NULL;

	if (!waiting->queue)
		return result;
	wait = calloc(1, sizeof(*wait));
	if (wait && result == CLV_STREAM_SUCCESS)
		behind = clv_stream_queue_ops.mark(waiting->queue);
	if (waiting->is_ordered)
		clv_stream_order_end(waiting->queue);
	if (!behind) {
		clv_stream_queue_ops.release_event(waiting->queue, waiting->before);
		free(wait);
		atomic_fetch_sub(&n_waits, 1);
		return result;
	}
	*wait = (struct clv_stand_wait){
		.before = waiting->before,
		.behind = behind,
		.is_for_event = waiting->is_for_event,
	};
	append(clv_stream_stand_of(waiting->queue), wait);
	clv_helper_wake();
	return result;
}

/* Of more than that a driver refuses all, and there may not be as many. */
#define BATCH_MAX 256
#define OPERATION_WAIT_32 1
#define OPERATION_WAIT_64 4

struct operation {
	int kind;
	uint64_t rest[5];
};

bool clv_stand_has_wait(const void *operations, uint32_t n)
{
	const struct operation *all = operations;

	for (uint32_t i = 0; all && n <= BATCH_MAX && i < n; i++) {
		if (all[i].kind == OPERATION_WAIT_32 || all[i].kind == OPERATION_WAIT_64)
			return true;
	}
	return false;
}

/* Functions. */

uint64_t clv_stand_function_submitted(void *stream, bool is_per_thread)
{
	struct clv_queue *queue = queue_of(stream, is_per_thread);

	if (!queue)
		return 0;
	atomic_fetch_add(&n_functions, 1);
	clv_streams_mark_own();
	clv_queue_mark(queue);
	return clv_stream_stand_of(queue)->serial;
}

void clv_stand_function_begin(uint64_t serial)
{
	for (int i = 0; i < MAX_RUNNING && serial > 0; i++) {
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(&running[i].serial, &none, serial))
			continue;
		atomic_store(&running[i].since_ns, clv_clock_ns());
		return;
	}
}

void clv_stand_function_end(uint64_t serial)
{
	for (int i = 0; i < MAX_RUNNING && serial > 0; i++) {
		if (atomic_load(&running[i].serial) != serial)
			continue;
		atomic_store(&running[i].since_ns, 0);
		atomic_store(&running[i].serial, 0);
		break;
	}
	clv_stand_function_refused(serial);
	if (serial > 0 && clv_any_stands())
		clv_helper_wake();
}

void clv_stand_function_refused(uint64_t serial)
{
	if (serial > 0)
		atomic_fetch_sub(&n_functions, 1);
}
