/* SPDX-License-Identifier: Apache-2.0 */
/* A layout is applied to two GPUs while leases come and end, a program that cleave does
 * not know uses a partition, drivers fail or answer too late, a GPU is lost, the agent is
 * killed and the machine reboots: every order of these up to a depth (CLEAVE_DEPTH).  A
 * state is reached by repeating the events that led to it, in a new world; a state that
 * was reached before is not continued.
 *
 * The model is below: which partitions exist, and who uses them.  In each state it holds
 * that the agent has destroyed nothing that was in use, and that no lease was placed on a
 * partition that an operation creates or destroys.  From each state the drivers then
 * answer and time passes, until nothing happens any more: then each GPU is as the layout
 * wants it, or as it was before, or the agent says that it is not; and no lease waits
 * beside a partition that is free, and no partition of the layout goes with a lease. */
#include "../unit/plan-world.h"
#include "explore-hash.h"
#include "explore-model.h"
#include "explore-said.h"
#include "rows.h"

#include "agent/apply/apply-internal.h"
#include "agent/apply/apply.h"
#include "agent/device/partitions.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASES_MAX 2
#define DEPTH_MAX 16
#define SETTLE_ROUNDS 48
#define LONGEST_ROUNDS                                                   \
	800 /* an operation that waits looks twice a second, for minutes \
	     */
#define STATES_MAX (UINT32_C(1) << 20)
#define SEEN_SIZE (2 * STATES_MAX)

/* --- The model --- */

/* The leases that were placed on the way to a state. */
#define PLACED_MAX (2 * DEPTH_MAX)
static char placed[PLACED_MAX][CLV_LEASE_ID_MAX];
static unsigned int n_placed;

#define HEAD           \
	"version: 1\n" \
	"devices:\n"
#define RULES           \
	"version: 1\n"  \
	"on-busy: %s\n" \
	"devices:\n"    \
	"- {select: {name: gpu0}, partitions: [{profile: 1g.5gb, start: [%s]}]}\n"
#define RULE_1 "- {select: {name: gpu1}, partitions: [{profile: 1g.5gb, start: [0]}]}\n"
#define KEPT           \
	"version: 1\n" \
	"devices:\n"   \
	"- {select: {uuid: GPU-1}, partitions: [{profile: 1g.5gb, start: [0]}]}\n"

/* --- Paths, and states that were seen --- */

/* clang-format off */
enum event {
	ANSWER,    /* the driver does as it was told, or refuses what it cannot do */
	REFUSE,    /* the driver answers with an error and does nothing */
	LATE,      /* it does it, and the agent does not get the answer */
	KILL,      /* the agent is killed before the driver does anything */
	KILL_LATE, /* and after */
	LEASE,     /* a program wants any partition of the profile */
	WAIT,      /* and waits for it */
	END,       /* the oldest program ends */
	USE,       /* a program that cleave does not know begins to use a partition, or ends */
	LOSE,      /* gpu1 is lost, or comes back */
	REBOOT,    /* the machine starts again, without instances */
	TIME,      /* the next timer fires, and a second passes */
	_EVENT_MAX,
};
/* clang-format on */

static const char *const event_names[_EVENT_MAX] = {"answer", "refuse", "late", "kill",
	"kill-late", "lease", "wait", "end", "use", "lose", "reboot", "time"};

/* A state: the events that lead to it, and those that can happen in it. */
struct found {
	unsigned char path[DEPTH_MAX];
	uint32_t can_happen;
};

struct exploration {
	uint64_t *seen; /* hashes; 0: free */
	struct found *states;
	size_t n_states;
	uint64_t n_events;
};
static struct exploration exploration;

static bool is_beside; /* of the scenario */
static unsigned char path[DEPTH_MAX];
static unsigned int n_path;

static void print_path(const char *what)
{
	fprintf(stderr, "wrong: %s, after:", what);
	for (unsigned int i = 0; i < n_path; i++)
		fprintf(stderr, " %s", event_names[path[i]]);
	fputc('\n', stderr);
}

void explore_must(bool is_so, const char *what)
{
	if (is_so)
		return;
	print_path(what);
	fail();
}

/* Whether the state was reached before; records it. */
static bool was_seen(uint64_t hash)
{
	size_t at = hash % SEEN_SIZE;

	while (exploration.seen[at] != 0 && exploration.seen[at] != hash)
		at = (at + 1) % SEEN_SIZE;
	if (exploration.seen[at] == hash)
		return true;
	exploration.seen[at] = hash;
	return false;
}

/* --- The drivers --- */

static struct clv_node *view(void)
{
	return clv_hardware_node(world.agent.hardware);
}

/* What hardware.c and the subscribers do when an answer has come.  The node of a failed
 * survey is empty. */
static void read_node(bool has_failed)
{
	char text[512] = "";

	if (!has_failed)
		model_describe(text, sizeof(text));
	clv_node_clear(view());
	plan_node(text, view());
	if (has_failed)
		clv_node_add_problem(view(), "the driver says no");
	for (size_t i = 0; i < view()->n_devices; i++) {
		struct clv_node_device *device = &view()->devices[i];

		device->info.backend = "nvidia";
		device->info.executor = "gate";
		for (size_t j = 0; j < device->n_partitions; j++)
			device->partitions[j].memory_bytes = 5 * GIB;
	}
	clv_partitions_take_node(&world.agent, view());
	clv_marks_update(world.agent.apply);
	clv_reapply_compare(world.agent.reapply);
	clv_lifecycle_serve_all(world.agent.lifecycle);
}

static struct world_question take_question(void)
{
	struct world_question question = world.questions[0];

	world.n_questions--;
	memmove(world.questions, world.questions + 1,
		world.n_questions * sizeof(world.questions[0]));
	return question;
}

static void answer(enum event event)
{
	const struct clv_operation *op = explore_begun();
	struct world_question question = take_question();
	struct clv_error err = {0};
	int r = 0;

	if (question.kind == WORLD_STEP && event != REFUSE)
		r = model_do_step(&question);
	if (event == REFUSE)
		r = -EIO;
	if (event == LATE)
		r = -ETIMEDOUT;
	if (r < 0)
		clv_error_set(&err, r, "the driver says no");
	if (r == 0 || question.kind == WORLD_ASK)
		read_node(r < 0);
	if (question.done)
		question.done(question.userdata, &err);
	explore_must(!op || question.kind == WORLD_STEP || r == 0 || op->state < DONE,
		"one survey that fails ends an operation that has begun");
}

/* --- Agents --- */

static void ask(void)
{
	world.questions[world.n_questions++] = (struct world_question){.kind = WORLD_ASK};
}

static void begin_agent(void)
{
	struct clv_error err = {0};

	explore_must(
		clv_apply_new(&world.agent, &world.agent.apply, &err) >= 0 &&
			clv_reapply_new(&world.agent, &world.agent.reapply, &err) >= 0,
		err.msg);
}

/* As main/loop.c: a survey, leases, the operation under way, the kept layout. */
static void next_agent(void)
{
	world.agent.reapply = clv_reapply_free(world.agent.reapply);
	world.agent.apply = clv_apply_free(world.agent.apply);
	world.n_questions = 0;
	clv_node_clear(view());
	for (size_t i = 0; i < clv_devices_count(world.agent.devices); i++) {
		struct clv_agent_device *device = clv_devices_at(world.agent.devices, i);

		device->is_changing = device->is_present = device->is_divided = false;
	}
	world_restart();
	begin_agent();
	ask();
	clv_apply_resume(world.agent.apply);
	clv_reapply_begin(world.agent.reapply);
}

/* --- Leases --- */

static size_t n_leases(void)
{
	return world.agent.n_leases;
}

static bool is_closed(
	const struct clv_operation *op, unsigned int gpu, unsigned int start)
{
	return op && op->state != SURVEYING && op->state < DONE &&
	       clv_operation_selects(op, gpu ? "GPU-1" : "GPU-0") &&
	       !(model.before[gpu][start] && target[gpu][start]);
}

/* No lease is placed on what an operation changes, and none on what is not there. */
static void check_place(const struct clv_lease *lease)
{
	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		for (unsigned int start = 0; start < N_STARTS; start++) {
			if (lease->device != model_device(gpu, start))
				continue;
			explore_must(!is_closed(explore_last(), gpu, start) &&
					     !is_closed(explore_user_of(gpu), gpu, start),
				"a lease is placed on a partition of an operation");
		}
	}
}

/* Of the leases that have a place, those that had none when this was called last. */
static void check_new_places(void)
{
	const struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(world.agent.ledger), entry)
	{
		bool is_known = lease->record.is_queued;

		for (unsigned int i = 0; i < n_placed && !is_known; i++)
			is_known = strcmp(placed[i], lease->record.id) == 0;
		if (is_known)
			continue;
		check_place(lease);
		explore_must(n_placed < PLACED_MAX, "more leases than a path can have");
		snprintf(placed[n_placed++], sizeof(placed[0]), "%s", lease->record.id);
	}
}

static void ask_for_lease(bool waits)
{
	struct clv_lease_request request = world_request(60); /* no room for two */
	struct clv_lease *lease = NULL;
	pid_t pid = PID(++model.n_processes);

	world_process(pid, 1);
	snprintf(request.profile, sizeof(request.profile), PROFILE);
	request.wait = waits;
	world_create(&request, ALICE, pid, &lease);
}

static pid_t oldest_holder(void)
{
	for (size_t i = 0; i < world.n_processes; i++) {
		if (world.processes[i].is_alive)
			return world.processes[i].id.pid;
	}
	return 0;
}

static void end_processes(void)
{
	for (size_t i = 0; i < world.n_processes; i++)
		world.processes[i].is_alive = false;
}

static void end_oldest(void)
{
	world_kill(oldest_holder());
	world_turn();
}

/* --- Time --- */

static bool has_timer(void)
{
	for (size_t i = 0; i < WORLD_TIMERS; i++) {
		if (world.timers[i].source && world.timers[i].due_ns != UINT64_MAX)
			return true;
	}
	return false;
}

static void pass_time(void)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < WORLD_TIMERS; i++) {
		if (world.timers[i].source && world.timers[i].due_ns < due_ns)
			due_ns = world.timers[i].due_ns;
	}
	if (due_ns != UINT64_MAX && due_ns > world.now_ns)
		world.now_ns = due_ns - due_ns % CLV_NS_PER_S;
	world_pass_s(1);
	clv_ephemeral_tick(world.agent.ephemeral);
}

/* --- Events --- */

static bool can_happen(enum event event)
{
	bool is_asked = world.n_questions > 0;
	bool is_step = is_asked && world.questions[0].kind == WORLD_STEP;

	switch (event) {
	case ANSWER:
	case REFUSE:
		return is_asked;
	case LATE:
	case KILL_LATE:
		return is_step;
	case KILL:
		return true;
	case LEASE:
	case WAIT:
		return n_leases() < LEASES_MAX;
	case END:
		return oldest_holder() != 0;
	case USE:
		return model.is_used || model.is_there[0][0];
	case TIME:
		return !is_asked && (has_timer() || model.is_made);
	default:
		return true;
	}
}

/* Whether the user's operation on the GPU has begun, and has not ended. */
static bool has_begun(unsigned int gpu)
{
	const struct clv_operation *op = explore_user_of(gpu);

	return op && op->before && op->state < DONE;
}

/* An operation that had begun goes on, or back to what was before it. */
static void reboot(void)
{
	memset(model.is_there, 0, sizeof(model.is_there));
	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		if (!has_begun(gpu))
			memset(model.before[gpu], 0, sizeof(model.before[gpu]));
	}
	model.is_used = false;
	end_processes();
	next_agent();
}

static void note_end(void)
{
	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		const struct clv_operation *op = explore_user_of(gpu);

		model.is_kept[gpu] |= op && op->state == DONE;
	}
}

struct begun {
	bool is[N_GPUS];
};

static struct begun list_begun(void)
{
	struct begun begun;

	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++)
		begun.is[gpu] = has_begun(gpu);
	return begun;
}

static void note_begin(struct begun before)
{
	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		if (!before.is[gpu] && has_begun(gpu))
			memcpy(model.before[gpu], model.is_there[gpu],
				sizeof(model.before[gpu]));
	}
}

static void happen(enum event event)
{
	struct begun had_begun = list_begun();

	switch (event) {
	case KILL_LATE:
		model_do_step(&world.questions[0]);
		next_agent();
		break;
	case KILL:
		next_agent();
		break;
	case LEASE:
	case WAIT:
		ask_for_lease(event == WAIT);
		break;
	case END:
		end_oldest();
		break;
	case USE:
		model.is_used = !model.is_used;
		break;
	case LOSE:
		model.is_lost[1] = !model.is_lost[1];
		break;
	case REBOOT:
		reboot();
		break;
	case TIME:
		pass_time();
		break;
	default:
		answer(event);
	}
	note_begin(had_begun);
	note_end();
	check_new_places();
	world_check();
}

/* --- The end of each state --- */

/* Whether the agent says that this GPU is neither as before nor as the layout wants it.
 */
static bool is_said(unsigned int gpu)
{
	return model.is_lost[gpu] || explore_is_waited_for(gpu) || explore_is_left(gpu);
}

static void check_layout(void)
{
	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		const struct clv_operation *op = explore_user_of(gpu);

		if (is_said(gpu) || explore_waits(gpu))
			continue;
		explore_must(
			model_is_as(gpu, target) ||
				(!model.is_kept[gpu] && model_is_as(gpu, model.before)),
			"a GPU is half-way, and nothing says so");
		if (op && op->state == ROLLED_BACK)
			explore_must(model_is_as(gpu, model.before),
				"an operation is not rolled back");
	}
}

/* An operation that waits for one GPU keeps no other from the layout that is kept. */
static void check_beside(void)
{
	explore_must(!is_beside || model.is_lost[1] || model_is_as(1, target),
		"the kept layout is not applied beside an operation that waits");
}

/* An agent whose first survey failed knows of no partition until the next one. */
static bool is_free(unsigned int gpu, unsigned int start)
{
	const struct clv_agent_device *device = model_device(gpu, start);

	return model.is_there[gpu][start] && !model.is_lost[gpu] &&
	       !(gpu + start == 0 && model.is_used) && !model_lease_on(gpu, start) &&
	       device && device->is_present && !device->is_changing;
}

static void check_queue(void)
{
	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		for (unsigned int start = 0; start < N_STARTS; start++)
			explore_must(world.agent.n_queued == 0 || !is_free(gpu, start),
				"a lease waits beside a free partition");
	}
}

/* A partition of the layout stays, also if it was made for a lease.  One that was made
 * for a lease goes with it, if no layout has it. */
static void check_made(void)
{
	const struct clv_agent_device *device = model_device(0, 0);
	bool was_there = model.is_there[0][0];
	bool is_in_use = model.is_used || clv_apply_is_busy(world.agent.apply) ||
			 (device && device->n_leases > 0);

	for (unsigned int i = 0; i < 12; i++) {
		clv_ephemeral_tick(world.agent.ephemeral);
		while (world.n_questions > 0)
			answer(ANSWER);
	}
	explore_must(!was_there || !model.is_kept[0] || model.is_there[0][0],
		"a partition of the layout goes with a lease");
	explore_must(
		!model.is_made || model.is_kept[0] || is_in_use || !model.is_there[0][0],
		"a partition that was made for a lease stays");
}

/* The drivers answer and time passes; an operation that waits for a program goes on
 * waiting. */
static void settle(void)
{
	for (unsigned int i = 0; i < LONGEST_ROUNDS; i++) {
		struct begun had_begun = list_begun();

		if (i >= SETTLE_ROUNDS && explore_is_at_rest())
			break;
		if (world.n_questions > 0)
			answer(ANSWER);
		else if (view()->n_problems > 0)
			ask(); /* as main/resurvey.c */
		else if (has_timer())
			pass_time();
		else
			break;
		note_begin(had_begun);
		note_end();
		check_new_places();
	}
	world_check();
	explore_must(explore_user() || explore_has_past(), "an operation is lost");
	explore_must(explore_is_at_rest(), "an operation does not end");
	check_layout();
	check_beside();
	check_queue();
	check_made();
}

/* --- States --- */

static uint64_t hash_state(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	char text[512] = "";

	model_describe(text, sizeof(text));
	hash = explore_hash_text(hash, text);
	for (unsigned int i = 0; i < N_GPUS * N_STARTS; i++)
		hash = explore_hash_number(
			hash, model.before[i / N_STARTS][i % N_STARTS]);
	hash = explore_hash_number(
		hash, explore_has_failed_before() + 2 * model.is_kept[0] +
			      8 * model.is_kept[1] +
			      4 * clv_ephemeral_is_on(world.agent.ephemeral, "gpu0"));
	for (size_t i = 0; i < view()->n_devices; i++) {
		for (size_t j = 0; j < view()->devices[i].n_partitions; j++)
			hash = explore_hash_text(
				hash, view()->devices[i].partitions[j].name);
		hash = explore_hash_text(hash, view()->devices[i].info.name);
	}
	hash = explore_hash_agent(hash);
	for (size_t i = 0; i < world.n_questions; i++) {
		hash = explore_hash_number(hash,
			world.questions[i].kind * 2 + (world.questions[i].done != NULL));
		hash = explore_hash_text(hash, world.questions[i].step.partition);
	}
	for (size_t i = 0; i < world.n_processes; i++)
		hash = explore_hash_number(hash, world.processes[i].is_alive);
	return explore_hash_number(hash, has_timer());
}

/* --- Every order --- */

struct scenario {
	const char *name;
	const char *on_busy;
	bool keeps;     /* what is there, made for a lease; the layout adds another */
	bool is_beside; /* it waits, for gpu0 alone; another is kept for gpu1 */
	bool is_split;  /* one for each GPU, both at the same time */
};

static const struct scenario scenarios[] = {
	{"a layout fails where it is in the way", "fail", false, false, false},
	{"a layout waits for what is in the way", "wait", false, false, false},
	{"a layout adds a partition", "fail", true, false, false},
	{"a layout waits beside the kept one of another device", "wait", false, true,
		false},
	{"layouts of two devices", "wait", false, false, true},
};

/* The user's operation waits, and the kept layout is about to be applied. */
static void begin_beside(void)
{
	struct clv_error err = {0};

	explore_must(
		clv_store_put_layout(world.agent.state->store, KEPT, KEPT, &err) >= 0,
		err.msg);
	model.is_kept[1] = true;
	answer(ANSWER);
	explore_must(explore_user()->state == WAITING, "the operation does not wait");
	clv_reapply_begin(world.agent.reapply);
}

static void apply(const char *layout)
{
	struct clv_apply_request request = {.what = "apply l.yaml",
		.layout = layout,
		.layout_name = "l.yaml",
		.keeps_layout = true,
		.is_acknowledged = true};
	struct clv_operation *op = NULL;
	struct clv_error err = {0};

	if (clv_apply_start(world.agent.apply, &request, &op, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Begins a world in which the layout has just been requested. */
static void begin(const struct scenario *scenario)
{
	char layout[512];

	assert_int_equal(world_begin(NULL), 0);
	world_begin_lifecycle();
	begin_agent();
	world_begin_ephemeral();
	if (scenario->keeps)
		clv_ephemeral_add(world.agent.ephemeral, "gpu0/" PROFILE "@0", false);
	n_placed = 0;
	is_beside = scenario->is_beside;
	model = (struct model){.is_there = {{true, false}, {false, false}},
		.is_made = scenario->keeps,
		.is_used = is_beside};
	memcpy(model.before, model.is_there, sizeof(model.before));
	target[0][0] = scenario->keeps;
	target[0][1] = target[1][0] = true;
	read_node(false);
	snprintf(layout, sizeof(layout), RULES "%s", scenario->on_busy,
		scenario->keeps ? "0, 1" : "1",
		is_beside || scenario->is_split ? "" : RULE_1);
	apply(layout);
	if (scenario->is_split)
		apply(HEAD RULE_1);
	if (is_beside)
		begin_beside();
}

static void end(void)
{
	world.agent.reapply = clv_reapply_free(world.agent.reapply);
	world.agent.apply = clv_apply_free(world.agent.apply);
	assert_int_equal(world_end(NULL), 0);
}

static uint32_t list_events(void)
{
	uint32_t can = 0;

	for (enum event event = 0; event < _EVENT_MAX; event++)
		can |= (uint32_t)can_happen(event) << event;
	return can;
}

/* Takes the state that the world is in, at the end of `path`. */
static void take_state(void)
{
	struct found *found = &exploration.states[exploration.n_states];

	if (was_seen(hash_state()))
		return;
	assert_in_range(exploration.n_states, 0, STATES_MAX - 1);
	memcpy(found->path, path, sizeof(path));
	found->can_happen = list_events();
	exploration.n_states++;
	settle();
}

static void explore_from(
	const struct scenario *scenario, const struct found *from, enum event event)
{
	unsigned int n_before = n_path;

	begin(scenario);
	for (n_path = 0; n_path < n_before; n_path++)
		happen(from->path[n_path]);
	path[n_path++] = (unsigned char)event;
	happen(event);
	exploration.n_events++;
	take_state();
	end();
	n_path = n_before;
}

/* All states that so many events lead to, from those that one less leads to. */
static void explore_level(const struct scenario *scenario, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct found found = exploration.states[i];

		memcpy(path, found.path, sizeof(path));
		for (enum event event = 0; event < _EVENT_MAX; event++) {
			if (found.can_happen & 1u << event)
				explore_from(scenario, &found, event);
		}
	}
}

static void test_every_order(void **state)
{
	const struct scenario *scenario = *state;
	const char *depth_text = getenv("CLEAVE_DEPTH");
	unsigned long depth = depth_text ? strtoul(depth_text, NULL, 10) : 3;
	size_t from = 0, to;

	assert_in_range(depth, 2, DEPTH_MAX);
	/* They are like the first, and like the second behind its first event. */
	depth -= scenario->keeps || scenario->is_beside;
	exploration = (struct exploration){
		.seen = calloc(SEEN_SIZE, sizeof(*exploration.seen)),
		.states = calloc(STATES_MAX, sizeof(*exploration.states)),
	};
	assert_true(exploration.seen && exploration.states);
	n_path = 0;
	begin(*state);
	take_state();
	end();
	for (; n_path < depth; n_path++) {
		to = exploration.n_states;
		explore_level(*state, from, to);
		from = to;
	}
	print_message("# depth %lu: %zu states, %" PRIu64 " events\n", depth,
		exploration.n_states, exploration.n_events);
	free(exploration.seen);
	free(exploration.states);
}

int main(void)
{
	static struct rows rows;

	clv_log_set_level(LOG_EMERG);
	ROWS_ADD(&rows, scenarios, test_every_order);
	rows_set_up(&rows, NULL, NULL);
	return rows_run(&rows);
}
