/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks blocked streams.  Each wait has an event before it and one behind: the stream is
 * blocked while the first is complete and the second is not.  A function blocks its
 * stream while it runs. */
#include "gate/streams/blocked-stream.h"

#include "base/clock.h"
#include "gate/process/lock.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"

#include <stdlib.h>

/* The most waits and running functions that are tracked; further ones count as long
 * work. */
#define MAX_WAITS 1024
#define MAX_RUNNING 64

static _Atomic uint32_t n_waits;
/* The number of functions that were submitted and have not returned (low half), and
 * how often all were lost (high half): those submitted before a loss are no longer
 * counted. */
#define LOSS (UINT64_C(1) << 32)
static _Atomic uint64_t functions;
static _Atomic uint32_t n_roots;
static _Atomic uint64_t last_serial;

static struct {
	_Atomic uint64_t serial; /* 0: free */
	_Atomic uint64_t since_ns;
} running[MAX_RUNNING];

bool clv_may_stand(void)
{
	return atomic_load(&n_waits) > 0 || atomic_load(&functions) % LOSS > 0;
}

bool clv_any_is_blocked(void)
{
	return atomic_load(&n_roots) > 0;
}

void clv_blocked_begin(struct clv_blocked *stand)
{
	clv_lock_init(&stand->lock, PTHREAD_MUTEX_NORMAL);
	stand->serial = atomic_fetch_add(&last_serial, 1) + 1;
}

static void free_wait(struct clv_blocked_wait *wait, struct clv_queue *queue)
{
	clv_gate.api->queues->release_event(queue, wait->before);
	clv_gate.api->queues->release_event(queue, wait->behind);
	free(wait);
}

/* With the lock held. */
static void drop_first(struct clv_blocked *stand, struct clv_queue *queue)
{
	struct clv_blocked_wait *wait = stand->first;

	stand->first = wait->next;
	if (!stand->first)
		stand->last = NULL;
	free_wait(wait, queue);
	clv_blocked_return_place(stand);
}

static void set_root(struct clv_blocked *stand, bool is_root)
{
	if (stand->is_root == is_root)
		return;
	stand->is_root = is_root;
	if (is_root)
		atomic_fetch_add(&n_roots, 1);
	else
		atomic_fetch_sub(&n_roots, 1);
}

void clv_blocked_end(struct clv_blocked *stand, struct clv_queue *queue)
{
	pthread_mutex_lock(&stand->lock);
	while (stand->first)
		drop_first(stand, queue);
	set_root(stand, false);
	pthread_mutex_unlock(&stand->lock);
}

/* When the function that the stream runs began; 0: it runs none. */
static uint64_t function_since_ns(uint64_t serial)
{
	for (int i = 0; i < MAX_RUNNING; i++) {
		if (atomic_load(&running[i].serial) == serial)
			return atomic_load(&running[i].since_ns);
	}
	return 0;
}

bool clv_blocked_look(struct clv_blocked *stand, struct clv_queue *queue,
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
	return stand->is_root || (at_wait && clv_any_is_blocked());
}

void clv_blocked_forget_parent(void)
{
	atomic_store(&n_waits, 0);
	atomic_store(&functions, 0);
	atomic_store(&n_roots, 0);
	for (int i = 0; i < MAX_RUNNING; i++)
		atomic_store(&running[i].serial, 0);
}

/* Waits. */

bool clv_blocked_take_place(struct clv_blocked *stand, uint32_t most)
{
	bool is_room = atomic_fetch_add(&stand->n_waits, 1) < most;

	return atomic_fetch_add(&n_waits, 1) < MAX_WAITS && is_room;
}

void clv_blocked_return_place(struct clv_blocked *stand)
{
	atomic_fetch_sub(&stand->n_waits, 1);
	atomic_fetch_sub(&n_waits, 1);
}

void clv_blocked_add(struct clv_blocked *stand, struct clv_blocked_wait *wait)
{
	pthread_mutex_lock(&stand->lock);
	if (stand->last)
		stand->last->next = wait;
	else
		stand->first = wait;
	stand->last = wait;
	pthread_mutex_unlock(&stand->lock);
}

/* Functions. */

struct clv_blocked_function clv_blocked_function_expect(const struct clv_blocked *stand)
{
	return (struct clv_blocked_function){
		.serial = stand->serial,
		.n_lost = (uint32_t)(atomic_fetch_add(&functions, 1) / LOSS),
	};
}

void clv_blocked_function_begin(const struct clv_blocked_function *function)
{
	for (int i = 0; i < MAX_RUNNING && function->serial > 0; i++) {
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(
			    &running[i].serial, &none, function->serial))
			continue;
		atomic_store(&running[i].since_ns, clv_clock_ns());
		return;
	}
}

void clv_blocked_function_end(const struct clv_blocked_function *function)
{
	for (int i = 0; i < MAX_RUNNING && function->serial > 0; i++) {
		if (atomic_load(&running[i].serial) != function->serial)
			continue;
		atomic_store(&running[i].since_ns, 0);
		atomic_store(&running[i].serial, 0);
		break;
	}
	clv_blocked_function_refused(function);
	if (function->serial > 0 && clv_any_is_blocked())
		clv_helper_wake();
}

void clv_blocked_function_refused(const struct clv_blocked_function *function)
{
	uint64_t seen = atomic_load(&functions);

	while (function->serial > 0 && seen % LOSS > 0 &&
		seen / LOSS == function->n_lost &&
		!atomic_compare_exchange_weak(&functions, &seen, seen - 1))
		;
}

void clv_blocked_functions_lost(void)
{
	uint64_t seen = atomic_load(&functions);

	while (seen % LOSS > 0 && !atomic_compare_exchange_weak(
					  &functions, &seen, (seen / LOSS + 1) * LOSS))
		;
}
