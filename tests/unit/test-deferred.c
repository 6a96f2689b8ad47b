/* SPDX-License-Identifier: Apache-2.0 */
/* The line of held commands, compared with a simple model that scans it from end to end,
 * and the number of steps that the line takes. */
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/queue/deferred.h"
#include "gate/opencl/queue/queue.h"
#include "gate/queue/queues.h"
#include "gate/window/flight.h"
#include "gate/window/turnstile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_QUEUES 5
#define MAX_COMMANDS 600
#define MAX_EVENTS 200
#define MAX_WAITS 4

/* --- The environment of the line --- */

cl_icd_dispatch clv_real;
static struct clv_view view;
static struct clv_wiped_on_fork forkless;
struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;

static struct clv_cl_queue queues[N_QUEUES];
static uintptr_t last_event;
static uint64_t room; /* for this many commands */
static bool is_stalled, has_waited;
static unsigned n_forced, n_wakes;
static cl_event last_turnstile, let_go[MAX_COMMANDS * 40];
static size_t n_let_go;

static cl_event new_event(void)
{
	return (cl_event)(++last_event * 64);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *ret_error)
{
	*ret_error = CL_SUCCESS;
	last_turnstile = new_event();
	return last_turnstile;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
	let_go[n_let_go++] = event;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
	return CL_SUCCESS;
}

void clv_turnstile_wake(void)
{
	n_wakes++;
}

void clv_queue_hold(struct clv_queue *queue)
{
	atomic_fetch_add(&queue->n_held, 1);
}

void clv_queue_unhold(struct clv_queue *queue)
{
	atomic_fetch_sub(&queue->n_held, 1);
}

bool clv_queue_mark(struct clv_queue *queue)
{
	return false;
}

void clv_queue_mark_with_event(
	struct clv_queue *queue, void *event, uint64_t packed, uint64_t kind)
{
}

void clv_flight_leave(uint64_t packed)
{
}

bool clv_flight_try(const struct clv_backlog *backlog, uint64_t packed)
{
	if (room == 0)
		return false;
	room--;
	return true;
}

bool clv_flight_has_waited_for_others(const struct clv_view *of,
	const struct clv_backlog *backlog, struct clv_beside_others *beside)
{
	return has_waited;
}

bool clv_flight_is_stalled(const struct clv_view *of, const struct clv_backlog *backlog)
{
	return is_stalled;
}

void clv_flight_note_forced(void)
{
	n_forced++;
}

void clv_flight_enter_as_debt(struct clv_view *of, uint64_t packed)
{
}

static int set_up(void **state)
{
	clv_real.clCreateUserEvent = create_user_event;
	clv_real.clSetUserEventStatus = set_user_event;
	clv_real.clReleaseEvent = release_event;
	atomic_store(&forkless.view, &view);
	memset(queues, 0, sizeof(queues));
	for (size_t i = 0; i < N_QUEUES; i++)
		queues[i].common.out_of_order = i % 2;
	room = 0;
	n_let_go = n_forced = n_wakes = 0;
	is_stalled = has_waited = false;
	return 0;
}

static void set_gate(cl_event event)
{
	clv_deferred_user_event_end_set(clv_deferred_user_event_begin_set(event), true);
}

/* --- The model --- */

static uint64_t random_state = 88172645463325252;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

struct user_event {
	cl_event event;
	bool is_set, is_gone;
};

struct command {
	struct clv_deferred *held;
	struct clv_deferred_command as;
	cl_event event, turnstile;
	bool in_line, is_program, is_enqueued;
	/* Indices of user events, and of commands behind MAX_EVENTS. */
	size_t before[MAX_WAITS], n_before;
};

static struct {
	struct user_event events[MAX_EVENTS];
	struct command commands[MAX_COMMANDS];
	size_t n_events, n_commands, n_in_line;
	cl_event expected[MAX_COMMANDS];
	size_t n_expected;
} model;

static bool is_work(const struct command *command)
{
	return command->as.packed > 0;
}

static bool waits_for_all(const struct clv_deferred_command *as)
{
	return !as->queue->out_of_order || (as->packed == 0 && as->n_waits == 0);
}

static bool is_over(size_t index)
{
	return index < MAX_EVENTS ? model.events[index].is_set
				  : !model.commands[index - MAX_EVENTS].in_line;
}

static bool is_program(size_t index)
{
	return index < MAX_EVENTS || model.commands[index - MAX_EVENTS].is_program;
}

static bool keeps_in_queue(
	const struct command *other, const struct clv_deferred_command *as, bool for_all)
{
	return other->in_line && other->as.queue == as->queue &&
	       (for_all || other->as.is_barrier);
}

static bool is_free(const struct command *command)
{
	for (size_t i = 0; i < command->n_before; i++) {
		if (!is_over(command->before[i]))
			return false;
	}
	for (const struct command *c = model.commands; c < command; c++) {
		if (keeps_in_queue(c, &command->as, waits_for_all(&command->as)))
			return false;
	}
	return true;
}

static enum clv_deferred_by expect_look(
	const struct clv_deferred_command *as, const size_t *before, size_t n_before)
{
	enum clv_deferred_by by = CLV_HELD_BY_NOTHING;

	for (size_t i = 0; i < n_before; i++) {
		if (is_over(before[i]))
			continue;
		if (is_program(before[i]))
			return CLV_HELD_BY_PROGRAM;
		by = CLV_HELD_BY_GATE;
	}
	for (size_t i = 0; i < model.n_commands; i++) {
		if (!keeps_in_queue(&model.commands[i], as, waits_for_all(as)))
			continue;
		if (model.commands[i].is_program)
			return CLV_HELD_BY_PROGRAM;
		by = CLV_HELD_BY_GATE;
	}
	return by;
}

/* Whether a command is released; after the first without room none is. */
static bool expect_go_in(struct command *command, uint64_t *left, bool *is_stuck)
{
	bool is_first = !*is_stuck;

	if (is_first && *left > 0) {
		(*left)--;
		return true;
	}
	*is_stuck = true;
	command->is_program = false;
	return is_first && (is_stalled || has_waited);
}

static bool expect_let_go(void)
{
	uint64_t left = room;
	bool is_stuck = false;

	model.n_expected = 0;
	for (size_t i = 0; i < model.n_commands; i++) {
		struct command *command = &model.commands[i];

		if (!command->in_line || !is_free(command) ||
			(is_work(command) && !expect_go_in(command, &left, &is_stuck)))
			continue;
		command->in_line = false;
		model.n_in_line--;
		if (is_work(command))
			model.expected[model.n_expected++] = command->turnstile;
	}
	return is_stuck;
}

/* --- Operations --- */

static void check_let_go(void)
{
	bool is_stuck = expect_let_go();

	n_let_go = 0;
	assert_int_equal(clv_deferred_release(), is_stuck);
	assert_int_equal(n_let_go, model.n_expected);
	for (size_t i = 0; i < n_let_go; i++)
		assert_ptr_equal(let_go[i], model.expected[i]);
}

static void make_event(void)
{
	struct user_event *made = &model.events[model.n_events];

	if (model.n_events == MAX_EVENTS)
		return;
	model.n_events++;
	*made = (struct user_event){.event = new_event()};
	clv_deferred_user_event_created(made->event);
}

static void set_event(size_t index)
{
	struct user_event *event = &model.events[index];

	if (event->is_set || event->is_gone)
		return;
	event->is_set = true;
	set_gate(event->event);
	check_let_go();
}

/* Chooses among all events ever created; an unknown handle holds nothing back. */
static size_t pick_before(size_t before[MAX_WAITS], cl_event waits[MAX_WAITS])
{
	size_t n = random_below(MAX_WAITS + 1), n_before = 0;

	for (size_t i = 0; i < n; i++) {
		size_t index =
			random_below(2) && model.n_commands > 0
				? MAX_EVENTS + random_below((uint32_t)model.n_commands)
				: random_below((uint32_t)model.n_events);

		if (index >= MAX_EVENTS &&
			!model.commands[index - MAX_EVENTS].is_enqueued)
			continue;
		if (index < MAX_EVENTS && model.events[index].is_gone)
			continue;
		waits[n_before] = index < MAX_EVENTS
					  ? model.events[index].event
					  : model.commands[index - MAX_EVENTS].event;
		before[n_before++] = index;
	}
	return n_before;
}

static void add_command(void)
{
	struct command *command = &model.commands[model.n_commands];
	unsigned what = random_below(8); /* 0: a marker, 1: a barrier */
	cl_event waits[MAX_WAITS];

	if (model.n_commands == MAX_COMMANDS || model.n_events == 0)
		return;
	*command =
		(struct command){.as = {
					 .queue = &queues[random_below(N_QUEUES)].common,
					 .packed = what > 1,
					 .is_barrier = what == 1,
				 }};
	command->n_before = pick_before(command->before, waits);
	command->as.n_waits = (cl_uint)command->n_before;
	command->as.wait_list = command->n_before > 0 ? waits : NULL;
	command->is_program = expect_look(&command->as, command->before,
				      command->n_before) == CLV_HELD_BY_PROGRAM;
	assert_int_equal(
		clv_deferred_find_keeper_kind(&command->as) == CLV_HELD_BY_PROGRAM,
		command->is_program);
	command->held = clv_deferred_add(&command->as);
	assert_non_null(command->held);
	command->turnstile = is_work(command) ? last_turnstile : NULL;
	command->as.wait_list = NULL;
	command->as.n_waits = (cl_uint)command->n_before;
	command->in_line = true;
	model.n_commands++;
	model.n_in_line++;
}

/* The vendor's call returns; a command whose call failed is gone. */
static void enqueue(size_t index)
{
	struct command *command = &model.commands[index];

	if (!command->held)
		return;
	if (random_below(8) == 0 && command->in_line) {
		command->in_line = false;
		model.n_in_line--;
	} else {
		command->event = new_event();
		command->is_enqueued = true;
	}
	clv_deferred_enqueued(command->held, command->event);
	command->held = NULL;
	/* No notification is needed: the next scan finds it. */
	check_let_go();
}

static void check_look(void)
{
	size_t before[MAX_WAITS];
	cl_event waits[MAX_WAITS];
	unsigned what = random_below(4);
	struct clv_deferred_command as = {
		.queue = &queues[random_below(N_QUEUES)].common, .packed = what > 0};
	size_t n = model.n_events > 0 ? pick_before(before, waits) : 0;

	as.n_waits = (cl_uint)n;
	as.wait_list = n > 0 ? waits : NULL;
	assert_int_equal(clv_deferred_find_keeper_kind(&as), expect_look(&as, before, n));
}

static void step(void)
{
	switch (random_below(8)) {
	case 0:
		make_event();
		break;
	case 1:
		if (model.n_events > 0)
			set_event(random_below((uint32_t)model.n_events));
		break;
	case 2:
	case 3:
		add_command();
		break;
	case 4:
	case 5:
		if (model.n_commands > 0)
			enqueue(random_below((uint32_t)model.n_commands));
		break;
	case 6:
		room = random_below(4);
		is_stalled = random_below(16) == 0;
		has_waited = random_below(32) == 0;
		check_let_go();
		room = 0;
		is_stalled = has_waited = false;
		break;
	default:
		check_look();
	}
}

/* In rounds, each of which ends with everything released. */
static void test_model(void **state)
{
	for (int round = 0; round < 60; round++) {
		uint32_t n_steps = 200 + random_below(2000);

		memset(&model, 0, sizeof(model));
		for (uint32_t i = 0; i < n_steps; i++)
			step();
		for (size_t i = 0; i < model.n_commands; i++)
			enqueue(i);
		for (size_t i = 0; i < model.n_events; i++)
			set_event(i);
		room = UINT64_MAX;
		check_let_go();
		assert_int_equal(model.n_in_line, 0);
		assert_false(clv_deferred_any());
		room = 0;
	}
}

static void release(cl_event event)
{
	clv_deferred_user_event_end_release(
		clv_deferred_user_event_begin_release(event), true);
}

/* An event that is never set holds its commands for ever, so a thread that waits for one
 * must wait too. */
static void test_event_that_is_gone(void **state)
{
	cl_event gate = new_event();
	struct clv_deferred_command command = {.queue = &queues[1].common,
		.packed = 1,
		.n_waits = 1,
		.wait_list = &gate};
	static struct clv_deferred *volatile held; /* never freed */

	clv_deferred_user_event_created(gate);
	held = clv_deferred_add(&command);
	clv_deferred_enqueued(held, new_event());
	release(gate);
	/* The same handle, reused for another event. */
	clv_deferred_user_event_created(gate);
	set_gate(gate);
	room = UINT64_MAX;
	assert_false(clv_deferred_release());
	assert_int_equal(n_let_go, 0);
	assert_true(clv_deferred_any());
	clv_deferred_forget_parent();
	assert_false(clv_deferred_any());
}

/* Each reference of the program's counts once, in whichever order threads release them.
 */
static void test_references(void **state)
{
	cl_event gate = new_event();

	clv_deferred_user_event_created(gate);
	clv_deferred_user_event_retained(gate);
	release(gate);
	assert_true(clv_deferred_any());
	release(gate);
	assert_false(clv_deferred_any());
	/* The driver refuses: the program still has the reference. */
	clv_deferred_user_event_created(gate);
	clv_deferred_user_event_end_release(
		clv_deferred_user_event_begin_release(gate), false);
	assert_true(clv_deferred_any());
	set_gate(gate);
	assert_false(clv_deferred_any());
	/* Of an event that is no unset user event. */
	clv_deferred_user_event_retained(gate);
	release(gate);
	release(gate);
	assert_false(clv_deferred_any());
}

/* The program releases the event as soon as it is set, which another thread or a callback
 * sees before the driver's call has returned, and the next event gets its handle. */
static void test_handle_reused_while_it_is_set(void **state)
{
	cl_event gate = new_event();
	struct clv_deferred_command behind = {.queue = &queues[0].common,
		.packed = 1,
		.n_waits = 1,
		.wait_list = &gate};
	struct clv_deferred_command next = {.queue = &queues[2].common,
		.packed = 1,
		.n_waits = 1,
		.wait_list = &gate};
	struct clv_deferred_setting setting;
	struct clv_deferred *held;

	clv_deferred_user_event_created(gate);
	held = clv_deferred_add(&behind);
	clv_deferred_enqueued(held, new_event());
	setting = clv_deferred_user_event_begin_set(gate);
	release(gate);
	clv_deferred_user_event_created(gate);
	clv_deferred_user_event_end_set(setting, true);
	room = 2;
	clv_deferred_release();
	assert_int_equal(n_let_go, 1);
	assert_int_equal(clv_deferred_find_keeper_kind(&next), CLV_HELD_BY_PROGRAM);
	set_gate(gate);
	assert_int_equal(clv_deferred_find_keeper_kind(&next), CLV_HELD_BY_NOTHING);
	assert_false(clv_deferred_any());
}

static void test_not_set(void **state)
{
	cl_event gate = new_event();
	struct clv_deferred_command behind = {.queue = &queues[0].common,
		.packed = 1,
		.n_waits = 1,
		.wait_list = &gate};
	struct clv_deferred_setting first, second;

	clv_deferred_user_event_created(gate);
	first = clv_deferred_user_event_begin_set(gate);
	second = clv_deferred_user_event_begin_set(gate);
	clv_deferred_user_event_end_set(first, false);
	assert_int_equal(clv_deferred_find_keeper_kind(&behind), CLV_HELD_BY_PROGRAM);
	clv_deferred_user_event_end_set(second, true);
	assert_int_equal(clv_deferred_find_keeper_kind(&behind), CLV_HELD_BY_NOTHING);
	assert_false(clv_deferred_any());
}

/* A command that the vendor refuses may have been the only obstacle of another. */
static void test_refused_command(void **state)
{
	cl_event gate = new_event();
	struct clv_deferred_command first = {.queue = &queues[0].common,
					    .packed = 1,
					    .n_waits = 1,
					    .wait_list = &gate},
				    second = {.queue = &queues[0].common, .packed = 1};
	struct clv_deferred *held[2];

	clv_deferred_user_event_created(gate);
	held[0] = clv_deferred_add(&first);
	held[1] = clv_deferred_add(&second);
	clv_deferred_enqueued(held[1], new_event());
	assert_int_equal(n_wakes, 0);
	clv_deferred_enqueued(held[0], NULL);
	assert_int_equal(n_wakes, 1);
	room = 1;
	assert_false(clv_deferred_release());
	assert_int_equal(n_let_go, 1);
	set_gate(gate);
	assert_false(clv_deferred_any());
}

/* --- The amount of work --- */

static cl_event *hold(struct clv_queue *queue, size_t n, size_t n_events)
{
	cl_event *gates = calloc(n_events, sizeof(cl_event));
	struct clv_deferred *held;

	for (size_t i = 0; i < n_events; i++) {
		gates[i] = new_event();
		clv_deferred_user_event_created(gates[i]);
	}
	for (size_t i = 0; i < n; i++) {
		struct clv_deferred_command command = {.queue = queue,
			.packed = 1,
			.n_waits = 1,
			.wait_list = &gates[i % n_events]};

		assert_int_equal(
			clv_deferred_find_keeper_kind(&command), CLV_HELD_BY_PROGRAM);
		held = clv_deferred_add(&command);
		clv_deferred_enqueued(held, new_event());
	}
	return gates;
}

static void set_one(cl_event gate, uint64_t new_room)
{
	room = new_room;
	set_gate(gate);
	clv_deferred_release();
}

static void each_its_own(size_t n)
{
	cl_event *gates = hold(&queues[1].common, n, n);

	for (size_t i = 0; i < n; i++)
		set_one(gates[i], 1);
	free(gates);
}

static void each_its_own_from_the_end(size_t n)
{
	cl_event *gates = hold(&queues[1].common, n, n);

	for (size_t i = n; i > 0; i--)
		set_one(gates[i - 1], 1);
	free(gates);
}

static void each_its_own_in_order(size_t n)
{
	cl_event *gates = hold(&queues[0].common, n, n);

	for (size_t i = n; i > 0; i--)
		set_one(gates[i - 1], i == 1 ? n : 0);
	free(gates);
}

/* Releases one command for each place, again and again. */
static void one_for_all(size_t n)
{
	cl_event *gates = hold(&queues[1].common, n, 1);

	set_one(gates[0], 0);
	for (size_t i = 0; i < n; i++) {
		room = 1;
		clv_deferred_release();
	}
	free(gates);
}

static void one_for_all_in_order(size_t n)
{
	cl_event *gates = hold(&queues[0].common, n, 1);

	set_one(gates[0], 0);
	for (size_t i = 0; i < n; i++) {
		room = 1;
		clv_deferred_release();
	}
	free(gates);
}

/* All held commands are compared with new ones. */
static void looks_beside(size_t n)
{
	cl_event *gates = hold(&queues[0].common, n, 1);
	struct clv_deferred_command other = {.queue = &queues[2].common, .packed = 1};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			clv_deferred_find_keeper_kind(&other), CLV_HELD_BY_NOTHING);
	set_one(gates[0], n);
	free(gates);
}

static uint64_t steps_of(void (*way)(size_t n), size_t n)
{
	uint64_t before = clv_deferred_n_steps();

	n_let_go = 0;
	way(n);
	assert_int_equal(n_let_go, n);
	assert_false(clv_deferred_any());
	return clv_deferred_n_steps() - before;
}

/* Eight times as many commands take eight times as many steps, and somewhat more for
 * sorting: not sixty-four times. */
static void test_work(void **state)
{
	static const struct {
		const char *name;
		void (*way)(size_t n);
	} ways[] = {
		{"each its own event", each_its_own},
		{"from the end", each_its_own_from_the_end},
		{"in order", each_its_own_in_order},
		{"one event", one_for_all},
		{"one event, in order", one_for_all_in_order},
		{"looks beside", looks_beside},
	};
	bool is_good = true;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t few = steps_of(ways[i].way, 1000);
		uint64_t many = steps_of(ways[i].way, 8000);

		print_message("# %s: %.1f and %.1f steps a command\n", ways[i].name,
			(double)few / 1000, (double)many / 8000);
		is_good &= many <= 16 * few;
	}
	assert_true(is_good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_model, set_up),
		cmocka_unit_test_setup(test_event_that_is_gone, set_up),
		cmocka_unit_test_setup(test_references, set_up),
		cmocka_unit_test_setup(test_handle_reused_while_it_is_set, set_up),
		cmocka_unit_test_setup(test_not_set, set_up),
		cmocka_unit_test_setup(test_refused_command, set_up),
		cmocka_unit_test_setup(test_work, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
