/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands wait for user events.  Every unset user event has a bit; a command
 * carries the bits of all that it waits for, directly, through the events of other
 * commands, or through its queue.  When its last bit is cleared it counts as submitted.
 * All of this is off the hot path: a program without unset user events never gets here.
 */
#include "gate/opencl/blocked.h"

#include "gate/opencl/queues.h"
#include "gate/opencl/real.h"

#include <stdlib.h>

#define N_BITS 64
#define SHARED_BIT (N_BITS - 1) /* for all user events beyond 63 at a time */

struct clv_blocked {
	struct clv_blocked *next;
	struct clv_cl_queue *queue;
	cl_event event; /* owned once enqueued; NULL before */
	uint64_t bits;
	uint64_t packed;
	uint64_t kind;
	bool is_barrier;
	bool in_call;  /* the vendor's call has not returned */
	bool released; /* in flight now; what remains is to place its marker */
};

struct user_event {
	struct user_event *next;
	cl_event event;
	uint32_t bit;
};

static struct {
	pthread_mutex_t lock;
	struct clv_blocked *commands;
	struct user_event *user_events;
	uint32_t n_on_bit[N_BITS];
	struct clv_blocked *to_mark; /* released, to be marked after the vendor's call */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Atomic uint32_t clv_blocked_n_unset;

void clv_blocked_user_event_made(cl_event event)
{
	struct user_event *made = calloc(1, sizeof(*made));

	if (!made)
		return;
	made->event = event;
	pthread_mutex_lock(&state.lock);
	while (made->bit < SHARED_BIT && state.n_on_bit[made->bit] > 0)
		made->bit++;
	state.n_on_bit[made->bit]++;
	made->next = state.user_events;
	state.user_events = made;
	atomic_fetch_add(&clv_blocked_n_unset, 1);
	pthread_mutex_unlock(&state.lock);
}

static uint64_t bits_of_event(cl_event event)
{
	for (const struct user_event *u = state.user_events; u; u = u->next) {
		if (u->event == event)
			return UINT64_C(1) << u->bit;
	}
	for (const struct clv_blocked *b = state.commands; b; b = b->next) {
		if (b->event == event)
			return b->bits;
	}
	return 0;
}

/* What the queue itself makes a new command wait for: everything before it in an in-order
 * queue; in an out-of-order one only barriers, unless the command is a marker or barrier
 * with no list of its own, which waits for all. */
static uint64_t bits_of_queue(const struct clv_cl_queue *queue, bool waits_for_all)
{
	uint64_t bits = 0;

	for (const struct clv_blocked *b = state.commands; b; b = b->next) {
		if (b->queue == queue && (waits_for_all || b->is_barrier))
			bits |= b->bits;
	}
	return bits;
}

struct clv_blocked *clv_blocked_classify(struct clv_cl_queue *queue, cl_uint n_waits,
	const cl_event *wait_list, uint64_t packed, uint64_t kind, bool is_barrier)
{
	bool waits_for_all =
		!queue->out_of_order || (CLV_FLIGHT_COUNT(packed) == 0 && n_waits == 0);
	struct clv_blocked *blocked = NULL;
	uint64_t bits;

	pthread_mutex_lock(&state.lock);
	bits = bits_of_queue(queue, waits_for_all);
	for (cl_uint i = 0; wait_list && i < n_waits; i++)
		bits |= bits_of_event(wait_list[i]);
	if (bits)
		blocked = calloc(1, sizeof(*blocked));
	if (blocked) {
		*blocked = (struct clv_blocked){
			.next = state.commands,
			.queue = queue,
			.bits = bits,
			.packed = packed,
			.kind = kind,
			.is_barrier = is_barrier,
			.in_call = true,
		};
		state.commands = blocked;
	}
	pthread_mutex_unlock(&state.lock);
	if (!blocked)
		return NULL;

	/* From here on no marker is put into this queue; what is before gets its own. */
	clv_queue_mark(queue);
	atomic_fetch_add(&queue->n_blocked, 1);
	return blocked;
}

static void unlink_command(struct clv_blocked *blocked)
{
	struct clv_blocked **link = &state.commands;

	while (*link && *link != blocked)
		link = &(*link)->next;
	if (*link)
		*link = blocked->next;
}

/* The command is in flight: its own event is its marker. */
static void settle(struct clv_blocked *blocked)
{
	struct clv_cl_queue *queue = blocked->queue;

	if (blocked->event && CLV_FLIGHT_COUNT(blocked->packed) > 0)
		clv_queue_mark_with_event(
			queue, blocked->event, blocked->packed, blocked->kind);
	else if (blocked->event)
		clv_real.clReleaseEvent(blocked->event);
	else if (CLV_FLIGHT_COUNT(blocked->packed) > 0)
		clv_flight_leave(blocked->packed);
	free(blocked);
	if (atomic_fetch_sub(&queue->n_blocked, 1) == 1)
		clv_queue_mark(queue);
}

void clv_blocked_enqueued(struct clv_blocked *blocked, cl_event event)
{
	bool released;

	pthread_mutex_lock(&state.lock);
	blocked->event = event;
	blocked->in_call = false;
	released = blocked->released;
	/* Without an event it failed, or was complete on return: nothing waits any more.
	 */
	if (!event && !released) {
		unlink_command(blocked);
		blocked->packed = 0;
		released = true;
	}
	pthread_mutex_unlock(&state.lock);
	if (released)
		settle(blocked);
}

static uint64_t take_user_event(cl_event event)
{
	for (struct user_event **link = &state.user_events; *link;
		link = &(*link)->next) {
		struct user_event *found = *link;
		uint32_t bit = found->bit;

		if (found->event != event)
			continue;
		*link = found->next;
		free(found);
		atomic_fetch_sub(&clv_blocked_n_unset, 1);
		return --state.n_on_bit[bit] == 0 ? UINT64_C(1) << bit : 0;
	}
	return 0;
}

void clv_blocked_release(cl_event user_event)
{
	uint64_t in_flight = 0, bit;

	pthread_mutex_lock(&state.lock);
	bit = take_user_event(user_event);
	for (struct clv_blocked **link = &state.commands; bit && *link;) {
		struct clv_blocked *blocked = *link;

		blocked->bits &= ~bit;
		if (blocked->bits) {
			link = &blocked->next;
			continue;
		}
		*link = blocked->next;
		blocked->released = true;
		in_flight += blocked->packed;
		if (blocked->in_call)
			continue;
		blocked->next = state.to_mark;
		state.to_mark = blocked;
	}
	pthread_mutex_unlock(&state.lock);
	if (CLV_FLIGHT_COUNT(in_flight) > 0)
		clv_flight_released(in_flight);
}

void clv_blocked_released(void)
{
	struct clv_blocked *list;

	pthread_mutex_lock(&state.lock);
	list = state.to_mark;
	state.to_mark = NULL;
	pthread_mutex_unlock(&state.lock);
	while (list) {
		struct clv_blocked *blocked = list;

		list = blocked->next;
		settle(blocked);
	}
}

void clv_blocked_forget_parent(void)
{
	pthread_mutex_init(&state.lock, NULL);
	state.commands = NULL;
	state.user_events = NULL;
	state.to_mark = NULL;
	for (uint32_t i = 0; i < N_BITS; i++)
		state.n_on_bit[i] = 0;
	atomic_store(&clv_blocked_n_unset, 0);
}
