/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a lease, with every event in each: a row of the table below is a test. */
#include "rows.h"

#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/force.h"
#include "agent/lifecycle/lifecycle.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define HOLDER PID(1)
#define PROCESS PID(2) /* started by HOLDER */
#define OTHER PID(3)

enum lease_state {
	QUEUED,       /* behind another lease */
	IDLE,         /* held, without attached processes */
	RUNNING,      /* held, a process attached */
	ORPHAN,       /* its holder is dead, a process is attached */
	KEPT,         /* held by no process, until it is released */
	KEPT_RUNNING, /* the same, with an attached process */
	ENDING,       /* its process got SIGTERM */
	DORMANT,      /* adopted from an earlier agent, its socket not open yet */
	GONE,
	_STATE_MAX,
};

static const char *const state_names[_STATE_MAX] = {"queued", "idle", "running", "orphan",
	"kept", "kept running", "ending", "dormant", "gone"};

enum lease_event {
	HOLDER_DIES,
	PROCESS_DIES,
	RELEASED,
	EXPIRES,
	ROOM,     /* the lease in front of it ends */
	RESTARTS, /* a next agent starts */
	LATER,    /* ten seconds */
	_EVENT_MAX,
};

static const char *const event_names[_EVENT_MAX] = {"its holder dies", "its process dies",
	"it is released", "its time is over", "there is room", "the agent restarts",
	"ten seconds pass"};

#define NEVER (-1) /* the state has no such process */

/* clang-format off */
static const int expected[GONE][_EVENT_MAX] = {
	/*                 holder   process  released  expires   room     restarts      later */
	[QUEUED]       = { GONE,    NEVER,   GONE,     GONE,     IDLE,    QUEUED,       QUEUED },
	[IDLE]         = { GONE,    NEVER,   GONE,     GONE,     IDLE,    IDLE,         IDLE },
	[RUNNING]      = { ORPHAN,  IDLE,    ENDING,   ENDING,   RUNNING, RUNNING,      RUNNING },
	[ORPHAN]       = { NEVER,   GONE,    ENDING,   ENDING,   ORPHAN,  ORPHAN,       ORPHAN },
	[KEPT]         = { NEVER,   NEVER,   GONE,     GONE,     KEPT,    KEPT,         KEPT },
	[KEPT_RUNNING] = { NEVER,   KEPT,    ENDING,   ENDING,   KEPT_RUNNING, KEPT_RUNNING,
			   KEPT_RUNNING },
	/* A release is not stored: a next agent has to be told again. */
	[ENDING]       = { ENDING,  GONE,    ENDING,   ENDING,   ENDING,  RUNNING,      ENDING },
	[DORMANT]      = { GONE,    NEVER,   GONE,     GONE,     IDLE,    IDLE,         IDLE },
};
/* clang-format on */

struct row {
	char name[64];
	enum lease_state state;
	enum lease_event event;
	int expected;
};

/* --- Into a state --- */

static char id[CLV_LEASE_ID_MAX]; /* of the lease that the event is about */

static struct clv_lease *it(void)
{
	return clv_ledger_find_id(world.agent.ledger, id);
}

static struct clv_lease *other(void)
{
	return clv_ledger_find(world.agent.ledger, "other", NULL, NULL);
}

/* One more than fits beside it, if it is to wait. */
static void make_other(bool is_large)
{
	struct clv_lease_request request = world_request(is_large ? 60 : 20);
	struct clv_lease *lease;

	world_process(OTHER, 1);
	snprintf(request.name, sizeof(request.name), "other");
	assert_int_equal(world_create(&request, BOB, OTHER, &lease), 0);
}

static void make_it(bool is_kept)
{
	struct clv_lease_request request = world_request(50);
	struct clv_lease *lease = NULL;

	world_process(HOLDER, 1);
	request.keep = is_kept;
	request.wait = true;
	request.time_s = 3600;
	assert_int_equal(world_create(&request, ALICE, is_kept ? 0 : HOLDER, &lease), 0);
	snprintf(id, sizeof(id), "%s", lease->record.id);
}

static void attach(void)
{
	world_process(PROCESS, HOLDER);
	world_attach(it(), PROCESS);
}

static void bring_into(enum lease_state state)
{
	world_device(8 * GIB);
	world_begin_lifecycle();
	make_other(state == QUEUED);
	make_it(state == KEPT || state == KEPT_RUNNING);
	if (state == RUNNING || state == ORPHAN || state == KEPT_RUNNING ||
		state == ENDING)
		attach();
	if (state == ORPHAN)
		world_kill(HOLDER);
	if (state == ENDING)
		clv_force_end(it());
	if (state == DORMANT)
		world_restart();
	else
		world_turn();
}

static enum lease_state state_now(void)
{
	const struct clv_lease *lease = it();

	if (!lease)
		return GONE;
	if (lease->record.is_queued)
		return QUEUED;
	if (lease->is_dormant)
		return DORMANT;
	if (lease->is_ending)
		return ENDING;
	if (lease->record.is_kept)
		return lease->n_processes > 0 ? KEPT_RUNNING : KEPT;
	if (lease->n_processes > 0)
		return clv_holder_is_any(lease) ? RUNNING : ORPHAN;
	return IDLE;
}

/* --- What happens --- */

static void happens(enum lease_event event)
{
	switch (event) {
	case HOLDER_DIES:
		world_kill(HOLDER);
		break;
	case PROCESS_DIES:
		world_kill(PROCESS);
		break;
	case RELEASED:
		clv_force_end(it());
		break;
	case EXPIRES:
		world.now_ns += 3600 * CLV_NS_PER_S;
		clv_force_end_expired(&world.agent);
		break;
	case ROOM:
		clv_force_end(other());
		break;
	case RESTARTS:
		world_restart();
		break;
	default:
		world_pass_s(10);
	}
	world_turn();
}

static void check_signals(const struct row *row)
{
	const struct world_process *process = world_find_process(PROCESS);
	bool is_late = row->state == ENDING && row->event == LATER;

	if (!process)
		return;
	assert_int_equal(
		process->n_terms, row->expected == ENDING || row->state == ENDING);
	assert_int_equal(process->n_kills, is_late);
}

static void test_row(void **state)
{
	const struct row *row = *state;
	uint64_t n_ended;

	bring_into(row->state);
	assert_string_equal(state_names[state_now()], state_names[row->state]);
	world_check();
	n_ended = world_n_events(CLV_EVENT_LEASE_ENDED);
	happens(row->event);
	assert_string_equal(state_names[state_now()], state_names[row->expected]);
	world_check();
	check_signals(row);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_ENDED) - n_ended,
		(row->expected == GONE) + (row->event == ROOM));
	if (row->expected != GONE)
		return;
	/* Its share and memory are free again. */
	assert_false(world_stored(id, NULL));
	if (other())
		clv_force_end(other());
	assert_int_equal(world.n_gates, 0);
	assert_int_equal(clv_devices_at(world.agent.devices, 0)->lock_fd, -1);
}

int main(void)
{
	static struct row all[GONE * _EVENT_MAX];
	static struct rows rows;
	size_t n = 0;

	for (int state = 0; state < GONE; state++) {
		for (int event = 0; event < _EVENT_MAX; event++) {
			struct row *row = &all[n];

			if (expected[state][event] == NEVER)
				continue;
			*row = (struct row){.state = (enum lease_state)state,
				.event = (enum lease_event)event,
				.expected = expected[state][event]};
			snprintf(row->name, sizeof(row->name), "%s, %s: %s",
				state_names[state], event_names[event],
				state_names[row->expected]);
			rows_add(&rows, row->name, test_row, row);
			n++;
		}
	}
	return rows_run(&rows);
}
