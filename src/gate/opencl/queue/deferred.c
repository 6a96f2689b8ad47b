/* SPDX-License-Identifier: Apache-2.0 */
/* The line of held commands.  What a command waits for is determined once, when it joins:
 * "obstacles", one per unset user event and per held command in its wait list, and its
 * place in its queue.  An obstacle or command that ends tells those that wait for it, so
 * no thread searches the line, and commands that nothing keeps any longer are in a heap
 * by their order.  None of this is on the fast path: programs without unset user events
 * that submit nothing from callbacks never get here. */
#include "gate/opencl/queue/deferred.h"

#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/queue/queue.h"
#include "gate/opencl/queue/ready.h"
#include "gate/process/lock.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/view.h"
#include "gate/queue/booking.h"
#include "gate/queue/queues.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"
#include "gate/window/turnstile.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BITS 10
#define MAX_BITS 20
#define TRIES 16 /* attempts to set an event */

struct wait;

/* What a command may wait for.  Shared by the user event or held command that it stands
 * for and by the commands that wait. */
struct obstacle {
	uint32_t references;
	bool is_program; /* a user event, or something behind one */
	struct wait *waits;
};

/* The wait of one command for one obstacle. */
struct wait {
	struct clv_deferred *held;
	struct obstacle *obstacle;
	struct wait *next, **link; /* in the obstacle's list; link is NULL after it */
};

/* An event that keeps the commands that wait for it. */
struct keeper {
	struct keeper *next; /* in its bucket */
	cl_event event;
	struct obstacle *obstacle;
	bool is_user_event;
	/* Of a user event: the program's references. */
	uint32_t references;
	/* Threads that are setting it, and what has happened since the first of them
	 * began. */
	uint32_t n_setting;
	bool is_set, is_released;
};

struct clv_deferred {
	struct clv_ready ready;              /* first */
	struct clv_deferred *next;           /* in its batch, or among the discarded */
	struct clv_deferred *ahead, *behind; /* in its queue's line */
	struct clv_deferred_command command;
	cl_event event;       /* the command's own, owned once enqueued */
	struct keeper keeper; /* for that event */
	cl_event turnstile;
	cl_event *wait_list; /* the program's events and the turnstile */
	struct obstacle *obstacle;
	bool waits_for_all; /* for everything before it in its queue */
	bool in_call;       /* the driver's call has not returned */
	bool let_go;
	bool in_batch; /* let go, but its turnstile is not set yet */
	struct clv_beside_others beside;
	uint32_t n_keeping; /* obstacles, and 1 for its queue; 0: ready */
	uint32_t n_waits;
	struct wait waits[];
};

static struct keeper *first_buckets[1 << FIRST_BITS];

static struct {
	pthread_mutex_t lock;
	uint64_t n_joined;
	/* What only the gate keeps: work; markers and barriers. */
	struct clv_ready *work, *rest;
	struct clv_deferred *discarded;
	/* Unset user events and the events of held commands, hashed to this many bits. */
	struct keeper **keepers;
	unsigned bits;
	size_t n_keepers;
	uint64_t n_steps;
} state = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .keepers = first_buckets, .bits = FIRST_BITS};

_Atomic uint32_t clv_deferred_n;

__attribute__((constructor)) static void begin(void)
{
	clv_lock_init(&state.lock, PTHREAD_MUTEX_NORMAL);
}

static struct obstacle *new_obstacle(bool is_program)
{
	struct obstacle *obstacle = calloc(1, sizeof(*obstacle));

	if (obstacle)
		*obstacle = (struct obstacle){.references = 1, .is_program = is_program};
	return obstacle;
}

static void unref(struct obstacle *obstacle)
{
	if (--obstacle->references == 0)
		free(obstacle);
}

static struct keeper **bucket_of(cl_event event)
{
	uint64_t hash = (uintptr_t)event * UINT64_C(0x9e3779b97f4a7c15);

	return &state.keepers[hash >> (64 - state.bits)];
}

/* The latest one of this handle, which may have been another event's before. */
static struct keeper *find_keeper(cl_event event)
{
	struct keeper *keeper = *bucket_of(event);

	for (; keeper && keeper->event != event; keeper = keeper->next)
		state.n_steps++;
	return keeper;
}

/* Doubles the number of buckets.  Each is divided in two, and keeps its order. */
static void grow(void)
{
	size_t n = (size_t)1 << state.bits;
	struct keeper **old = state.keepers, **now = NULL;

	if (state.bits < MAX_BITS)
		now = calloc(2 * n, sizeof(struct keeper *));
	if (!now)
		return;
	state.keepers = now;
	state.bits++;
	for (size_t i = 0; i < n; i++) {
		struct keeper **ends[2] = {&now[2 * i], &now[2 * i + 1]};

		for (struct keeper *keeper = old[i]; keeper; keeper = keeper->next) {
			struct keeper ***end =
				&ends[bucket_of(keeper->event) != &now[2 * i]];

			**end = keeper;
			*end = &keeper->next;
			state.n_steps++;
		}
		*ends[0] = *ends[1] = NULL;
	}
	if (old != first_buckets)
		free(old);
}

static void add_keeper(struct keeper *keeper)
{
	struct keeper **bucket;

	if (++state.n_keepers > (size_t)1 << state.bits)
		grow();
	bucket = bucket_of(keeper->event);
	keeper->next = *bucket;
	*bucket = keeper;
}

static void remove_keeper(struct keeper *keeper)
{
	struct keeper **link = bucket_of(keeper->event);

	for (; *link != keeper; link = &(*link)->next)
		state.n_steps++;
	*link = keeper->next;
	state.n_keepers--;
}

/* Waits, and their ends. */

static struct clv_deferred_line *line_of(const struct clv_deferred *held)
{
	return &clv_cl_queue(held->command.queue)->line;
}

static struct clv_ready **heap_of(const struct clv_deferred *held)
{
	return CLV_FLIGHT_COUNT(held->command.packed) > 0 ? &state.work : &state.rest;
}

/* Only the gate keeps the command now, so what is submitted behind it may wait as it
 * would for a turn. */
static void become_ready(struct clv_deferred *held)
{
	struct clv_deferred_line *line = line_of(held);

	if (held->obstacle->is_program) {
		held->obstacle->is_program = false;
		line->n_by_program--;
		line->n_barriers_by_program -= held->command.is_barrier;
	}
	clv_ready_push(heap_of(held), &held->ready);
}

static void end_one_wait(struct clv_deferred *held)
{
	state.n_steps++;
	if (--held->n_keeping == 0)
		become_ready(held);
}

static void wait_for(struct clv_deferred *held, struct obstacle *obstacle)
{
	struct wait *wait = &held->waits[held->n_waits++];

	obstacle->references++;
	held->n_keeping++;
	*wait = (struct wait){
		.held = held,
		.obstacle = obstacle,
		.next = obstacle->waits,
		.link = &obstacle->waits,
	};
	if (wait->next)
		wait->next->link = &wait->next;
	obstacle->waits = wait;
}

static void stop_waiting(struct wait *wait)
{
	if (!wait->link)
		return;
	*wait->link = wait->next;
	if (wait->next)
		wait->next->link = wait->link;
	wait->link = NULL;
}

static void end_obstacle(struct obstacle *obstacle)
{
	struct wait *wait;

	while ((wait = obstacle->waits)) {
		stop_waiting(wait);
		end_one_wait(wait->held);
	}
}

void clv_deferred_user_event_created(cl_event event)
{
	struct keeper *made = calloc(1, sizeof(*made));
	struct obstacle *obstacle = new_obstacle(true);

	if (!made || !obstacle) {
		free(made);
		free(obstacle);
		return;
	}
	made->event = event;
	made->is_user_event = true;
	made->references = 1;
	made->obstacle = obstacle;
	pthread_mutex_lock(&state.lock);
	add_keeper(made);
	atomic_fetch_add(&clv_deferred_n, 1);
	pthread_mutex_unlock(&state.lock);
}

static struct keeper *find_user_event(cl_event event)
{
	struct keeper *found = find_keeper(event);

	return found && found->is_user_event ? found : NULL;
}

/* The keeper is no longer in the table. */
static void end_user_event(struct keeper *keeper)
{
	atomic_fetch_sub(&clv_deferred_n, 1);
	if (keeper->is_set)
		end_obstacle(keeper->obstacle);
	unref(keeper->obstacle);
	free(keeper);
}

static void forget_user_event(struct keeper *keeper)
{
	remove_keeper(keeper);
	end_user_event(keeper);
}

struct clv_deferred_setting clv_deferred_user_event_begin_set(cl_event event)
{
	struct keeper *found;

	pthread_mutex_lock(&state.lock);
	found = find_user_event(event);
	if (found)
		found->n_setting++;
	pthread_mutex_unlock(&state.lock);
	return (struct clv_deferred_setting){found};
}

void clv_deferred_user_event_end_set(struct clv_deferred_setting setting, bool is_set)
{
	struct keeper *keeper = setting.keeper;

	if (!keeper)
		return;
	pthread_mutex_lock(&state.lock);
	keeper->is_set |= is_set;
	if (--keeper->n_setting == 0 && (keeper->is_set || keeper->is_released))
		forget_user_event(keeper);
	pthread_mutex_unlock(&state.lock);
}

void clv_deferred_user_event_retained(cl_event event)
{
	struct keeper *found;

	pthread_mutex_lock(&state.lock);
	found = find_user_event(event);
	if (found) {
		found->references++;
		found->is_released = false;
	}
	pthread_mutex_unlock(&state.lock);
}

struct clv_deferred_releasing clv_deferred_user_event_begin_release(cl_event event)
{
	struct clv_deferred_releasing releasing = {.event = event};
	struct keeper *found;

	pthread_mutex_lock(&state.lock);
	found = find_user_event(event);
	releasing.is_counted = found && found->references > 0;
	if (releasing.is_counted && --found->references == 0) {
		if (found->n_setting > 0) {
			found->is_released = true;
		} else {
			remove_keeper(found);
			releasing.keeper = found;
		}
	}
	pthread_mutex_unlock(&state.lock);
	return releasing;
}

void clv_deferred_user_event_end_release(
	struct clv_deferred_releasing releasing, bool is_released)
{
	struct keeper *keeper = releasing.keeper;

	if (!keeper) {
		if (releasing.is_counted && !is_released)
			clv_deferred_user_event_retained(releasing.event);
		return;
	}
	pthread_mutex_lock(&state.lock);
	if (is_released) {
		end_user_event(keeper);
	} else {
		keeper->references = 1;
		add_keeper(keeper);
	}
	pthread_mutex_unlock(&state.lock);
}

static struct obstacle *obstacle_of(cl_event event)
{
	const struct keeper *keeper = find_keeper(event);

	return keeper ? keeper->obstacle : NULL;
}

/* Whether the queue itself makes a new command wait for everything before it: an in-order
 * queue does, an out-of-order queue for a marker or barrier without a wait list. */
static bool waits_for_all(const struct clv_deferred_command *command)
{
	return !command->queue->out_of_order ||
	       (CLV_FLIGHT_COUNT(command->packed) == 0 && command->n_waits == 0);
}

static enum clv_deferred_by find_keeper_kind(const struct clv_deferred_command *command)
{
	const struct clv_deferred_line *line = &clv_cl_queue(command->queue)->line;
	bool for_all = waits_for_all(command);
	enum clv_deferred_by by = CLV_HELD_BY_NOTHING;

	for (cl_uint i = 0; command->wait_list && i < command->n_waits; i++) {
		const struct obstacle *obstacle = obstacle_of(command->wait_list[i]);

		if (obstacle && obstacle->is_program)
			return CLV_HELD_BY_PROGRAM;
		if (obstacle)
			by = CLV_HELD_BY_GATE;
	}
	if ((for_all ? line->n_by_program : line->n_barriers_by_program) > 0)
		return CLV_HELD_BY_PROGRAM;
	if ((for_all ? line->n : line->n_barriers) > 0)
		by = CLV_HELD_BY_GATE;
	return by;
}

enum clv_deferred_by clv_deferred_find_keeper_kind(
	const struct clv_deferred_command *command)
{
	enum clv_deferred_by by;

	pthread_mutex_lock(&state.lock);
	by = find_keeper_kind(command);
	pthread_mutex_unlock(&state.lock);
	return by;
}

static void free_held(struct clv_deferred *held)
{
	for (uint32_t i = 0; i < held->n_waits; i++)
		unref(held->waits[i].obstacle);
	if (held->obstacle)
		unref(held->obstacle);
	free(held->wait_list);
	free(held);
}

/* The driver refuses a list without a length and a length without a list. */
static bool has_sound_list(const struct clv_deferred_command *command)
{
	return (command->n_waits > 0) == (command->wait_list != NULL);
}

/* Tries again, because a command whose turnstile is never set never runs. */
static void open_turnstile(const struct clv_deferred *held)
{
	for (int i = 0; held->turnstile && i < TRIES; i++) {
		if (clv_real.clSetUserEventStatus(held->turnstile, CL_COMPLETE) ==
			CL_SUCCESS)
			return;
	}
}

static bool give_turnstile(struct clv_deferred *held)
{
	struct clv_deferred_command *command = &held->command;
	size_t n = command->n_waits;
	cl_int r = CL_SUCCESS;

	held->wait_list = calloc(n + 1, sizeof(*held->wait_list));
	if (!held->wait_list)
		return false;
	held->turnstile = clv_real.clCreateUserEvent(command->queue->context, &r);
	if (r != CL_SUCCESS)
		held->turnstile = NULL;
	if (!held->turnstile)
		return false;
	if (n > 0)
		memcpy(held->wait_list, command->wait_list, n * sizeof(cl_event));
	held->wait_list[n] = held->turnstile;
	return true;
}

static struct clv_deferred *new_held(const struct clv_deferred_command *command)
{
	struct clv_deferred *held =
		calloc(1, sizeof(*held) + command->n_waits * sizeof(held->waits[0]));

	if (!held)
		return NULL;
	held->command = *command;
	held->waits_for_all = waits_for_all(command);
	held->in_call = true;
	held->obstacle = new_obstacle(false);
	if (!held->obstacle ||
		(CLV_FLIGHT_COUNT(command->packed) > 0 && !give_turnstile(held))) {
		free_held(held);
		return NULL;
	}
	return held;
}

/* Appends the command to its queue's line. */
static void append_to_queue(struct clv_deferred *held)
{
	struct clv_deferred_line *line = line_of(held);

	/* The queue keeps it while any command, or a barrier, is before it. */
	held->n_keeping += (held->waits_for_all ? line->n : line->n_barriers) > 0;
	held->ahead = line->last;
	*(line->last ? &line->last->behind : &line->first) = held;
	line->last = held;
	if (held->command.is_barrier && !line->first_barrier)
		line->first_barrier = held;
	line->n++;
	line->n_by_program += held->obstacle->is_program;
	line->n_barriers += held->command.is_barrier;
	line->n_barriers_by_program +=
		held->command.is_barrier && held->obstacle->is_program;
}

static void join(struct clv_deferred *held)
{
	const struct clv_deferred_command *command = &held->command;

	pthread_mutex_lock(&state.lock);
	held->obstacle->is_program = find_keeper_kind(command) == CLV_HELD_BY_PROGRAM;
	held->ready.number = ++state.n_joined;
	for (cl_uint i = 0; i < command->n_waits; i++) {
		struct obstacle *obstacle = obstacle_of(command->wait_list[i]);

		if (obstacle)
			wait_for(held, obstacle);
	}
	append_to_queue(held);
	if (held->n_keeping == 0)
		become_ready(held);
	atomic_fetch_add(&clv_deferred_n, 1);
	pthread_mutex_unlock(&state.lock);
}

struct clv_deferred *clv_deferred_add(struct clv_deferred_command *command)
{
	struct clv_deferred *held;

	if (!has_sound_list(command))
		return NULL;
	held = new_held(command);
	if (!held)
		return NULL;
	clv_queue_hold(command->queue);
	join(held);
	if (held->turnstile) {
		command->n_waits++;
		command->wait_list = held->wait_list;
	}
	if (!held->obstacle->is_program)
		clv_turnstile_wake();
	return held;
}

/* The command is in flight, or is no work: its own event is its marker. */
static void settle(struct clv_deferred *held)
{
	struct clv_queue *queue = held->command.queue;
	uint64_t packed = held->let_go ? held->command.packed : 0;

	if (held->event && CLV_FLIGHT_COUNT(packed) > 0) {
		clv_queue_mark_with_event(queue, held->event, packed, held->command.kind);
		held->event = NULL;
	} else if (CLV_FLIGHT_COUNT(packed) > 0) {
		clv_flight_leave(packed);
	}
	clv_queue_unhold(queue);
}

/* The release of an event may end the event's queue or context, and run callbacks. */
static void discard(struct clv_deferred *held)
{
	if (held->event)
		clv_real.clReleaseEvent(held->event);
	if (held->turnstile)
		clv_real.clReleaseEvent(held->turnstile);
	pthread_mutex_lock(&state.lock);
	free_held(held);
	pthread_mutex_unlock(&state.lock);
}

/* The call that held the command may be in a callback, where the driver may hold locks
 * that the release of an event takes.  Or it may have the lock of the queue's order, for
 * which such a callback may wait. */
static void discard_later(struct clv_deferred *held)
{
	pthread_mutex_lock(&state.lock);
	held->next = state.discarded;
	state.discarded = held;
	pthread_mutex_unlock(&state.lock);
	clv_turnstile_wake();
}

static void discard_all(void)
{
	struct clv_deferred *all, *next;

	pthread_mutex_lock(&state.lock);
	all = state.discarded;
	state.discarded = NULL;
	pthread_mutex_unlock(&state.lock);
	for (; all; all = next) {
		next = all->next;
		discard(all);
	}
}

/* Ends the waits of commands that it kept: of the next one, if that waits for everything
 * before it, and behind the first barrier of all up to the next barrier. */
static void leave_queue(struct clv_deferred *held)
{
	struct clv_deferred_line *line = line_of(held);
	struct clv_deferred *next = held->behind;
	bool was_first_barrier = held == line->first_barrier;

	*(held->ahead ? &held->ahead->behind : &line->first) = next;
	*(next ? &next->ahead : &line->last) = held->ahead;
	line->n--;
	line->n_by_program -= held->obstacle->is_program;
	line->n_barriers -= held->command.is_barrier;
	line->n_barriers_by_program -=
		held->command.is_barrier && held->obstacle->is_program;
	if (next && next == line->first && next->waits_for_all)
		end_one_wait(next);
	if (!was_first_barrier)
		return;
	line->first_barrier = NULL;
	for (; next && !line->first_barrier; next = next->behind) {
		if (!next->waits_for_all)
			end_one_wait(next);
		if (next->command.is_barrier)
			line->first_barrier = next;
	}
}

/* With the lock held. */
static void take_out(struct clv_deferred *held)
{
	if (held->n_keeping == 0)
		state.n_steps += clv_ready_remove(heap_of(held), &held->ready);
	for (uint32_t i = 0; i < held->n_waits; i++)
		stop_waiting(&held->waits[i]);
	leave_queue(held);
	if (held->keeper.event)
		remove_keeper(&held->keeper);
	end_obstacle(held->obstacle);
	atomic_fetch_sub(&clv_deferred_n, 1);
}

/* What is submitted behind it in its queue shows when it is complete. */
static void enter_blindly(const struct clv_deferred_command *command)
{
	struct clv_view *view = clv_gate_current_view();

	if (!view || CLV_FLIGHT_COUNT(command->packed) == 0)
		return;
	clv_flight_enter_as_debt(view, command->packed);
	clv_event_list_note_gap(&clv_cl_queue(command->queue)->events);
	clv_queue_note_kind(command->queue, CLV_COST_MIXED);
	clv_queue_count_unknown(command->queue, command->packed);
	clv_queue_submitted(command->queue, NULL, command->packed);
}

void clv_deferred_enqueued_without_event(struct clv_deferred *held)
{
	bool has_gone;

	pthread_mutex_lock(&state.lock);
	has_gone = held->let_go;
	pthread_mutex_unlock(&state.lock);
	if (!has_gone) {
		enter_blindly(&held->command);
		open_turnstile(held);
	}
	clv_deferred_enqueued(held, NULL);
}

void clv_deferred_enqueued(struct clv_deferred *held, cl_event event)
{
	bool is_over;

	pthread_mutex_lock(&state.lock);
	held->event = event;
	held->in_call = false;
	if (event && !held->let_go) {
		held->keeper =
			(struct keeper){.event = event, .obstacle = held->obstacle};
		add_keeper(&held->keeper);
	}
	if (!event && !held->let_go) {
		take_out(held);
		is_over = true;
	} else {
		is_over = held->let_go && !held->in_batch;
	}
	pthread_mutex_unlock(&state.lock);
	if (!is_over)
		return;
	settle(held);
	/* This also lets others go, which no other call does if this one failed. */
	discard_later(held);
}

/* Whether the first command of the line is in flight now.  Commands in flight may be
 * waiting for it: a kernel for what another one writes, or a submission that was under
 * way when the first command of its queue was held.  Then nothing in flight is completed,
 * so the first command enters and is charged.  So may other processes of the lease, which
 * may have work in flight without end. */
static bool try_enter(struct clv_deferred *held, bool *ret_is_stuck)
{
	const struct clv_backlog *backlog = &held->command.queue->backlog;
	uint64_t packed = held->command.packed;
	struct clv_view *view = clv_gate_current_view();

	if (clv_flight_try(backlog, packed))
		return true;
	*ret_is_stuck = true;
	if (!view || (!clv_flight_has_waited_for_others(view, backlog, &held->beside) &&
			     !clv_flight_is_stalled(view, backlog)))
		return false;
	clv_flight_note_forced();
	clv_flight_enter_as_debt(view, packed);
	return true;
}

/* The next command that may be let go.  Markers and barriers always may; once work finds
 * no room, all work behind it waits for its turn.  With the lock held. */
static struct clv_deferred *take_next(bool *is_stuck)
{
	struct clv_deferred *next = (struct clv_deferred *)state.rest;

	state.n_steps++;
	if (!next) {
		next = (struct clv_deferred *)state.work;
		if (!next || *is_stuck || !try_enter(next, is_stuck))
			return NULL;
	}
	take_out(next);
	next->let_go = next->in_batch = true;
	return next;
}

/* Takes the commands that may be let go from the line, in order.  With the lock held. */
static struct clv_deferred *take_batch(bool *ret_is_stuck)
{
	struct clv_deferred *batch = NULL, **end = &batch, *held;
	bool is_stuck = false;

	while ((held = take_next(&is_stuck))) {
		*end = held;
		end = &held->next;
	}
	*ret_is_stuck = is_stuck;
	return batch;
}

bool clv_deferred_release(void)
{
	struct clv_deferred *batch, *next;
	bool is_stuck;

	discard_all();
	pthread_mutex_lock(&state.lock);
	batch = take_batch(&is_stuck);
	pthread_mutex_unlock(&state.lock);
	for (struct clv_deferred *held = batch; held; held = next) {
		bool is_settled;

		next = held->next;
		open_turnstile(held);
		pthread_mutex_lock(&state.lock);
		held->in_batch = false;
		is_settled = !held->in_call;
		pthread_mutex_unlock(&state.lock);
		if (is_settled) {
			settle(held);
			discard(held);
		}
	}
	return is_stuck;
}

uint64_t clv_deferred_n_steps(void)
{
	uint64_t n;

	pthread_mutex_lock(&state.lock);
	n = state.n_steps;
	pthread_mutex_unlock(&state.lock);
	return n;
}

void clv_deferred_forget_parent(void)
{
	clv_lock_init(&state.lock, PTHREAD_MUTEX_NORMAL);
	state.work = state.rest = NULL;
	state.discarded = NULL;
	memset(first_buckets, 0, sizeof(first_buckets));
	state.keepers = first_buckets;
	state.bits = FIRST_BITS;
	state.n_keepers = 0;
	atomic_store(&clv_deferred_n, 0);
}
