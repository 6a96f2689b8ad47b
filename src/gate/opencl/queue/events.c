/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of batches, the lists of events, and markers made of them.  A marker of one
 * event is that event; a marker of several is a chain of batches.  Releasing an event may
 * run callbacks of the program, so no lock is held then. */
#include "gate/opencl/queue/events.h"

#include "gate/opencl/dispatch/real.h"
#include "gate/process/lock.h"

#include <stddef.h>

/* Together they have room for about as many events as commands may be in flight. */
#define N_BATCHES 4096
#define BATCH_ROOM 62
#define DROPPED_AT_ONCE 16

struct clv_event_batch {
	struct clv_event_batch *next;
	uint32_t begin, end;
	cl_event events[BATCH_ROOM];
};

static struct {
	pthread_mutex_t lock;
	struct clv_event_batch *free;
	uint32_t n_used; /* the number of batches that were ever used */
	struct clv_event_batch batches[N_BATCHES];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((constructor)) static void begin_pool(void)
{
	clv_lock_init(&pool.lock, PTHREAD_MUTEX_NORMAL);
}

/* NULL: all batches are in use. */
static struct clv_event_batch *new_batch(void)
{
	struct clv_event_batch *batch;

	pthread_mutex_lock(&pool.lock);
	batch = pool.free;
	if (batch)
		pool.free = batch->next;
	else if (pool.n_used < N_BATCHES)
		batch = &pool.batches[pool.n_used++];
	pthread_mutex_unlock(&pool.lock);
	if (!batch)
		return NULL;
	batch->next = NULL;
	batch->begin = batch->end = 0;
	return batch;
}

static void free_batch(struct clv_event_batch *batch)
{
	pthread_mutex_lock(&pool.lock);
	batch->next = pool.free;
	pool.free = batch;
	pthread_mutex_unlock(&pool.lock);
}

void clv_event_list_begin(struct clv_event_list *list)
{
	*list = (struct clv_event_list){0};
	clv_lock_init(&list->lock, PTHREAD_MUTEX_NORMAL);
}

/* With the list's lock held: the batch for the next event.  NULL: all are in use. */
static struct clv_event_batch *last_with_room(struct clv_event_list *list)
{
	struct clv_event_batch *last = list->last;

	if (last && last->end < BATCH_ROOM)
		return last;
	last = new_batch();
	if (!last)
		return NULL;
	*(list->last ? &list->last->next : &list->first) = last;
	list->last = last;
	return last;
}

static bool add(struct clv_event_list *list, cl_event event)
{
	struct clv_event_batch *batch = last_with_room(list);

	if (!batch)
		return false;
	batch->events[batch->end++] = event;
	list->n_added++;
	atomic_fetch_add(&list->n_kept, 1);
	return true;
}

void clv_event_list_add(struct clv_event_list *list, cl_event event)
{
	bool is_added;

	pthread_mutex_lock(&list->lock);
	is_added = add(list, event);
	pthread_mutex_unlock(&list->lock);
	if (is_added)
		return;
	clv_event_list_note_gap(list);
	clv_real.clReleaseEvent(event);
}

uint64_t clv_event_list_count(struct clv_event_list *list)
{
	uint64_t n;

	pthread_mutex_lock(&list->lock);
	n = list->n_added;
	pthread_mutex_unlock(&list->lock);
	return n;
}

static cl_event take_first(struct clv_event_list *list)
{
	struct clv_event_batch *batch = list->first;
	cl_event event = batch->events[batch->begin++];

	list->n_taken++;
	if (batch->begin < batch->end)
		return event;
	list->first = batch->next;
	if (!list->first)
		list->last = NULL;
	free_batch(batch);
	return event;
}

void clv_event_list_drop(struct clv_event_list *list, uint64_t before)
{
	cl_event events[DROPPED_AT_ONCE];
	uint32_t n;

	do {
		pthread_mutex_lock(&list->lock);
		for (n = 0; n < DROPPED_AT_ONCE && list->n_taken < before; n++)
			events[n] = take_first(list);
		pthread_mutex_unlock(&list->lock);
		for (uint32_t i = 0; i < n; i++)
			clv_real.clReleaseEvent(events[i]);
		atomic_fetch_sub(&list->n_kept, n);
	} while (n == DROPPED_AT_ONCE);
}

void *clv_event_list_take(struct clv_event_list *list)
{
	void *marker;

	pthread_mutex_lock(&list->lock);
	if (list->n_added == list->n_taken + 1) {
		marker = take_first(list);
	} else {
		marker = list->first;
		list->first = list->last = NULL;
		list->n_taken = list->n_added;
	}
	if (marker)
		atomic_fetch_sub(&list->n_kept, 1);
	pthread_mutex_unlock(&list->lock);
	return marker;
}

/* NULL: the marker is a single event. */
static struct clv_event_batch *batches_of(const void *marker)
{
	uintptr_t offset = (uintptr_t)marker - (uintptr_t)pool.batches;

	return offset < sizeof(pool.batches)
		       ? &pool.batches[offset / sizeof(pool.batches[0])]
		       : NULL;
}

/* An error ends a wait for several events, so they are awaited one by one. */
static bool wait_for_each(const struct clv_event_batch *batch)
{
	bool has_waited = true;

	for (uint32_t i = batch->begin; i < batch->end; i++)
		has_waited &=
			clv_real.clWaitForEvents(1, &batch->events[i]) == CL_SUCCESS;
	return has_waited;
}

bool clv_event_marker_wait(const void *marker)
{
	const struct clv_event_batch *batch = batches_of(marker);
	cl_event event = (cl_event)(uintptr_t)marker;
	bool has_waited = true;

	if (!batch)
		return clv_real.clWaitForEvents(1, &event) == CL_SUCCESS;
	for (; batch; batch = batch->next) {
		if (clv_real.clWaitForEvents(batch->end - batch->begin,
			    &batch->events[batch->begin]) != CL_SUCCESS)
			has_waited &= wait_for_each(batch);
	}
	return has_waited;
}

static bool is_complete(cl_event event)
{
	cl_int status = CL_COMPLETE;

	clv_real.clGetEventInfo(
		event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	return status <= CL_COMPLETE;
}

bool clv_event_marker_is_complete(const void *marker)
{
	const struct clv_event_batch *batch = batches_of(marker);

	if (!batch)
		return is_complete((cl_event)(uintptr_t)marker);
	for (; batch; batch = batch->next) {
		for (uint32_t i = batch->begin; i < batch->end; i++) {
			if (!is_complete(batch->events[i]))
				return false;
		}
	}
	return true;
}

void clv_event_marker_release(struct clv_event_list *list, void *marker)
{
	struct clv_event_batch *batch = batches_of(marker), *next;

	if (!batch) {
		clv_real.clReleaseEvent(marker);
		return;
	}
	atomic_fetch_add(&list->n_kept, 1);
	for (; batch; batch = next) {
		next = batch->next;
		for (uint32_t i = batch->begin; i < batch->end; i++)
			clv_real.clReleaseEvent(batch->events[i]);
		atomic_fetch_sub(&list->n_kept, batch->end - batch->begin);
		free_batch(batch);
	}
}

void clv_events_forget_parent(void)
{
	clv_lock_init(&pool.lock, PTHREAD_MUTEX_NORMAL);
	pool.free = NULL;
	pool.n_used = 0;
}
