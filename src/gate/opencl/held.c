/* SPDX-License-Identifier: Apache-2.0 */
/* The line of held commands.  What a command waits for is found once, when it joins, and
 * kept as pointers to "obstacles", one per unset user event and per held command; so a
 * look along the line costs a few loads for each.  All of this is off the hot path: a
 * program without unset user events that submits nothing from callbacks never gets here.
 */
#include "gate/opencl/held.h"

#include "gate/flight.h"
#include "gate/opencl/queue.h"
#include "gate/opencl/real.h"
#include "gate/turnstile.h"

#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 1024 /* as many bits as the hash below keeps */

/* Shared by whoever is kept and whoever waits for it. */
struct obstacle {
	uint32_t references;
	bool is_over;
	bool is_program; /* a user event, or something behind one */
};

/* An event that keeps whatever waits for it. */
struct keeper {
	struct keeper *next; /* of its bucket */
	cl_event event;
	struct obstacle *obstacle;
	bool is_user_event;
};

struct clv_held {
	struct clv_held *next;
	struct clv_held_command command;
	cl_event event;       /* its own, owned once enqueued */
	struct keeper keeper; /* by that event */
	cl_event turnstile;
	cl_event *wait_list; /* the program's and the turnstile */
	struct obstacle *obstacle;
	bool waits_for_all; /* that is before it in its queue */
	bool in_call;       /* the vendor's call has not returned */
	bool let_go;
	bool in_batch; /* let go, and its turnstile not yet set */
	uint32_t n_before;
	struct obstacle *before[];
};

static struct {
	pthread_mutex_t lock;
	struct clv_held *first, **end;
	/* Unset user events and the events of held commands. */
	struct keeper *keepers[N_BUCKETS];
	uint32_t n_looks; /* along the line; see clv_queue.line */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = &state.first};

_Atomic uint32_t clv_held_n;

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
	return &state.keepers[(uintptr_t)event * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

/* The latest of the event's: a handle may have been another's before. */
static struct keeper *find_keeper(cl_event event)
{
	struct keeper *keeper = *bucket_of(event);

	while (keeper && keeper->event != event)
		keeper = keeper->next;
	return keeper;
}

static void add_keeper(struct keeper *keeper)
{
	struct keeper **bucket = bucket_of(keeper->event);

	keeper->next = *bucket;
	*bucket = keeper;
}

static void remove_keeper(struct keeper *keeper)
{
	struct keeper **link = bucket_of(keeper->event);

	while (*link != keeper)
		link = &(*link)->next;
	*link = keeper->next;
}

void clv_held_user_event_made(cl_event event)
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
	made->obstacle = obstacle;
	pthread_mutex_lock(&state.lock);
	add_keeper(made);
	atomic_fetch_add(&clv_held_n, 1);
	pthread_mutex_unlock(&state.lock);
}

static void forget_user_event(cl_event event, bool was_set)
{
	struct keeper *found;

	pthread_mutex_lock(&state.lock);
	found = find_keeper(event);
	if (found && found->is_user_event) {
		remove_keeper(found);
		found->obstacle->is_over = was_set;
		unref(found->obstacle);
		free(found);
		atomic_fetch_sub(&clv_held_n, 1);
	}
	pthread_mutex_unlock(&state.lock);
}

void clv_held_user_event_set(cl_event event)
{
	forget_user_event(event, true);
}

void clv_held_user_event_gone(cl_event event)
{
	forget_user_event(event, false);
}

static struct obstacle *obstacle_of(cl_event event)
{
	const struct keeper *keeper = find_keeper(event);

	return keeper ? keeper->obstacle : NULL;
}

/* Whether the queue itself makes a new command wait for all that is before it: an
 * in-order queue does; an out-of-order one for a marker or barrier with no list of its
 * own. */
static bool waits_for_all(const struct clv_held_command *command)
{
	return !command->queue->out_of_order ||
	       (CLV_FLIGHT_COUNT(command->packed) == 0 && command->n_waits == 0);
}

static bool waits_in_queue_for(const struct clv_held_command *command, bool for_all,
	const struct clv_held *other)
{
	return other->command.queue == command->queue &&
	       (for_all || other->command.is_barrier);
}

static enum clv_held_by look(const struct clv_held_command *command)
{
	bool for_all = waits_for_all(command);
	enum clv_held_by by = CLV_HELD_BY_NOTHING;

	for (cl_uint i = 0; command->wait_list && i < command->n_waits; i++) {
		const struct obstacle *obstacle = obstacle_of(command->wait_list[i]);

		if (obstacle && obstacle->is_program)
			return CLV_HELD_BY_PROGRAM;
		if (obstacle)
			by = CLV_HELD_BY_GATE;
	}
	for (const struct clv_held *h = state.first; h; h = h->next) {
		if (!waits_in_queue_for(command, for_all, h))
			continue;
		if (h->obstacle->is_program)
			return CLV_HELD_BY_PROGRAM;
		by = CLV_HELD_BY_GATE;
	}
	return by;
}

enum clv_held_by clv_held_look(const struct clv_held_command *command)
{
	enum clv_held_by by;

	pthread_mutex_lock(&state.lock);
	by = look(command);
	pthread_mutex_unlock(&state.lock);
	return by;
}

static void free_held(struct clv_held *held)
{
	for (uint32_t i = 0; i < held->n_before; i++)
		unref(held->before[i]);
	if (held->obstacle)
		unref(held->obstacle);
	free(held->wait_list);
	free(held);
}

/* The vendor refuses a list without a length and a length without a list. */
static bool has_sound_list(const struct clv_held_command *command)
{
	return (command->n_waits > 0) == (command->wait_list != NULL);
}

static bool give_turnstile(struct clv_held *held)
{
	struct clv_held_command *command = &held->command;
	size_t n = command->n_waits;
	cl_int r;

	held->wait_list = calloc(n + 1, sizeof(*held->wait_list));
	if (!held->wait_list)
		return false;
	held->turnstile = clv_real.clCreateUserEvent(command->queue->context, &r);
	if (r != CL_SUCCESS)
		return false;
	if (n > 0)
		memcpy(held->wait_list, command->wait_list, n * sizeof(cl_event));
	held->wait_list[n] = held->turnstile;
	return true;
}

static struct clv_held *new_held(const struct clv_held_command *command)
{
	struct clv_held *held =
		calloc(1, sizeof(*held) + command->n_waits * sizeof(held->before[0]));

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

static void join(struct clv_held *held)
{
	const struct clv_held_command *command = &held->command;

	pthread_mutex_lock(&state.lock);
	held->obstacle->is_program = look(command) == CLV_HELD_BY_PROGRAM;
	for (cl_uint i = 0; i < command->n_waits; i++) {
		struct obstacle *obstacle = obstacle_of(command->wait_list[i]);

		if (!obstacle)
			continue;
		obstacle->references++;
		held->before[held->n_before++] = obstacle;
	}
	*state.end = held;
	state.end = &held->next;
	atomic_fetch_add(&clv_held_n, 1);
	pthread_mutex_unlock(&state.lock);
}

struct clv_held *clv_held_add(struct clv_held_command *command)
{
	struct clv_held *held;

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

/* The command is in flight, or was no work: its own event is its marker. */
static void settle(struct clv_held *held)
{
	struct clv_queue *queue = held->command.queue;
	uint64_t packed = held->let_go ? held->command.packed : 0;

	if (held->event && CLV_FLIGHT_COUNT(packed) > 0)
		clv_queue_mark_with_event(queue, held->event, packed, held->command.kind);
	else if (held->event)
		clv_real.clReleaseEvent(held->event);
	else if (CLV_FLIGHT_COUNT(packed) > 0)
		clv_flight_leave(packed);
	if (held->turnstile)
		clv_real.clReleaseEvent(held->turnstile);
	pthread_mutex_lock(&state.lock);
	free_held(held);
	pthread_mutex_unlock(&state.lock);
	if (atomic_fetch_sub(&queue->n_held, 1) == 1)
		clv_queue_mark(queue);
}

/* With the lock held. */
static void take_out(struct clv_held **link)
{
	struct clv_held *held = *link;

	*link = held->next;
	if (state.end == &held->next)
		state.end = link;
	held->next = NULL;
	if (held->keeper.event)
		remove_keeper(&held->keeper);
	held->obstacle->is_over = true;
	atomic_fetch_sub(&clv_held_n, 1);
}

static void take_out_failed(struct clv_held *held)
{
	struct clv_held **link = &state.first;

	while (*link != held)
		link = &(*link)->next;
	take_out(link);
}

void clv_held_enqueued(struct clv_held *held, cl_event event)
{
	bool is_settled;

	pthread_mutex_lock(&state.lock);
	held->event = event;
	held->in_call = false;
	if (event && !held->let_go) {
		held->keeper =
			(struct keeper){.event = event, .obstacle = held->obstacle};
		add_keeper(&held->keeper);
	}
	if (!event && !held->let_go) {
		take_out_failed(held);
		is_settled = true;
	} else {
		is_settled = held->let_go && !held->in_batch;
	}
	pthread_mutex_unlock(&state.lock);
	if (is_settled)
		settle(held);
}

/* What a look along the line has seen of a queue so far. */
static struct clv_held_line *line_of(struct clv_queue *queue)
{
	if (clv_cl_queue(queue)->line.look != state.n_looks)
		clv_cl_queue(queue)->line = (struct clv_held_line){.look = state.n_looks};
	return &clv_cl_queue(queue)->line;
}

static bool is_free(const struct clv_held *held)
{
	const struct clv_held_line *line = line_of(held->command.queue);

	if (held->waits_for_all ? line->any_before : line->barrier_before)
		return false;
	for (uint32_t i = 0; i < held->n_before; i++) {
		if (!held->before[i]->is_over)
			return false;
	}
	return true;
}

static void note_kept(const struct clv_held *held)
{
	struct clv_held_line *line = line_of(held->command.queue);

	line->any_before = true;
	line->barrier_before |= held->command.is_barrier;
}

/* Whether it is in flight now.  Once one had no room, those behind it wait their turn.
 * What is in flight may wait for the first in line: a kernel for what another writes, or
 * a submission that was on its way when the first command of its queue was held.  Nothing
 * that is in flight then gets done, and so the first goes in and is paid for. */
static bool go_in(struct clv_held *held, bool *is_stuck)
{
	uint64_t packed = held->command.packed;
	struct clv_view *view = clv_gate_peek();
	bool is_first = !*is_stuck;

	if (is_first && clv_flight_try(&held->command.queue->backlog, packed))
		return true;
	*is_stuck = true;
	held->obstacle->is_program = false;
	if (!view || !is_first ||
		!clv_flight_is_stalled(view, &held->command.queue->backlog))
		return false;
	clv_flight_note_forced();
	clv_flight_enter_as_debt(view, packed);
	return true;
}

/* Takes from the line, in order, what may go.  With the lock held. */
static struct clv_held *take_batch(bool *ret_is_stuck)
{
	struct clv_held *batch = NULL, **end = &batch, **link = &state.first;
	bool is_stuck = false;

	state.n_looks++;
	while (*link) {
		struct clv_held *held = *link;
		bool is_work = CLV_FLIGHT_COUNT(held->command.packed) > 0;

		if (!is_free(held) || (is_work && !go_in(held, &is_stuck))) {
			note_kept(held);
			link = &held->next;
			continue;
		}
		take_out(link);
		held->let_go = held->in_batch = true;
		*end = held;
		end = &held->next;
	}
	*ret_is_stuck = is_stuck;
	return batch;
}

bool clv_held_let_go(void)
{
	struct clv_held *batch, *next;
	bool is_stuck;

	pthread_mutex_lock(&state.lock);
	batch = take_batch(&is_stuck);
	pthread_mutex_unlock(&state.lock);
	for (struct clv_held *held = batch; held; held = next) {
		bool is_settled;

		next = held->next;
		if (held->turnstile)
			clv_real.clSetUserEventStatus(held->turnstile, CL_COMPLETE);
		pthread_mutex_lock(&state.lock);
		held->in_batch = false;
		is_settled = !held->in_call;
		pthread_mutex_unlock(&state.lock);
		if (is_settled)
			settle(held);
	}
	return is_stuck;
}

void clv_held_forget_parent(void)
{
	pthread_mutex_init(&state.lock, NULL);
	state.first = NULL;
	state.end = &state.first;
	memset(state.keepers, 0, sizeof(state.keepers));
	atomic_store(&clv_held_n, 0);
}
