/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing readings with the ledger: owners of processes, quotas, work that bypasses a
 * gate, work that hangs.  Each state machine has a table of timelines, with a letter for
 * each second. */
#include "rows.h"

#include "agent/device/condition.h"
#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/force.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/watch/driver-processes.h"
#include "agent/watch/enforce.h"
#include "agent/watch/watchdog.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "core/device/closed.h"
#include "core/device/reading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOLDER PID(1)
#define PROCESS PID(2) /* of the lease */
#define STRANGER PID(3)
#define GRACE_S 2u
#define STEPS_MAX 16
#define MIB (UINT64_C(1) << 20)

static struct clv_driver_processes processes;

static int begin(void **state)
{
	int r = world_begin(state);

	processes = (struct clv_driver_processes){0};
	world.settings.grace_ns = GRACE_S * CLV_NS_PER_S;
	world.settings.tolerance_bytes = 100 * MIB;
	world.settings.hang_ns = 3 * CLV_NS_PER_S;
	world.settings.watch_every_s = 1;
	return r;
}

static int end(void **state)
{
	free(processes.items);
	clv_readings_clear(&world.readings);
	return world_end(state);
}

/* gpu0 with a lease of half of it, 4 GiB, whose process is attached; gpu1. */
static struct clv_lease *make_lease(bool is_attached)
{
	struct clv_lease_request request = world_request(50);
	struct clv_lease *lease;

	world_device(8 * GIB);
	world_device(8 * GIB);
	world_begin_lifecycle();
	world_process(HOLDER, 1);
	world_process(PROCESS, HOLDER);
	world_process(STRANGER, 1);
	snprintf(request.name, sizeof(request.name), "train");
	snprintf(request.device, sizeof(request.device), "gpu0");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	if (is_attached)
		world_attach(lease, PROCESS);
	return lease;
}

static struct clv_agent_device *gpu(size_t i)
{
	return clv_devices_at(world.agent.devices, i);
}

static void take(size_t device, pid_t pid, uint64_t memory_bytes, double utilization)
{
	struct clv_reading reading;

	clv_reading_begin(&reading, gpu(device)->info.uuid);
	if (pid > 0) {
		clv_reading_add_process(&reading, (uint32_t)pid, memory_bytes, "");
		clv_reading_set_utilization(&reading, (uint32_t)pid, "", utilization);
	}
	clv_driver_processes_take(&processes, &world.agent, gpu(device), &reading);
	clv_enforce(&world.agent, gpu(device), &processes, !isnan(utilization));
	clv_reading_clear(&reading);
}

/* The events of this type in this second: the letter, or ".". */
static char seen_of(enum clv_event_type type, uint64_t *before, char letter)
{
	uint64_t now = world_n_events(type);
	bool is_new = now > *before;

	*before = now;
	return is_new ? letter : '\0';
}

static char first_of(char one, char other)
{
	return one ? one : other ? other : '.';
}

/* --- Whose a process is --- */

struct whose_row {
	const char *name;
	size_t device;
	pid_t pid;
	bool is_queued;      /* the lease is queued */
	bool has_left;       /* it is not a descendant of the holder any more */
	bool is_seen_before; /* seen as a descendant of the holder of an active lease */
	bool has_ended;      /* the lease has ended */
	bool is_attached;
	enum clv_driver_process_kind kind;
};

static const struct whose_row whose[] = {
	{"of a lease on the device", 0, PROCESS, .kind = CLV_DRIVER_PROCESS_LEASED},
	{"of a lease on another device", 1, PROCESS,
		.kind = CLV_DRIVER_PROCESS_MISPLACED},
	{"of a lease that waits", 0, PROCESS, .is_queued = true,
		.kind = CLV_DRIVER_PROCESS_MISPLACED},
	{"the holder itself", 0, HOLDER, .kind = CLV_DRIVER_PROCESS_LEASED},
	{"of no lease", 0, STRANGER, .kind = CLV_DRIVER_PROCESS_UNLEASED},
	{"it left its holder, and was seen before", 0, PROCESS, .has_left = true,
		.is_seen_before = true, .kind = CLV_DRIVER_PROCESS_LEASED},
	{"it left its holder, and was not", 0, PROCESS, .has_left = true,
		.kind = CLV_DRIVER_PROCESS_UNLEASED},
	{"it left its holder, and is attached", 0, PROCESS, .has_left = true,
		.is_attached = true, .kind = CLV_DRIVER_PROCESS_LEASED},
	{"its lease has ended", 0, PROCESS, .is_seen_before = true, .has_ended = true,
		.kind = CLV_DRIVER_PROCESS_LEFT_OVER},
	{"its lease had ended when it was seen", 0, PROCESS, .has_ended = true,
		.kind = CLV_DRIVER_PROCESS_UNLEASED},
};

static void test_whose(void **state)
{
	const struct whose_row *row = *state;
	struct clv_lease *lease = make_lease(row->is_attached);

	if (row->is_seen_before)
		take(row->device, row->pid, GIB, NAN);
	lease->record.is_queued = row->is_queued;
	if (row->has_left)
		world_find_process(row->pid)->parent = 1;
	if (row->has_ended)
		clv_force_end(lease);
	take(row->device, row->pid, GIB, NAN);
	if (!row->has_ended)
		lease->record.is_queued = false;
	assert_int_equal(processes.n, 1);
	assert_int_equal(processes.items[0].kind, row->kind);
	assert_int_equal(processes.items[0].lease[0] != '\0',
		row->kind != CLV_DRIVER_PROCESS_UNLEASED);
	take(row->device, 0, 0, NAN);
	assert_int_equal(processes.n, 0);
}

/* A reading of one device does not change the processes of another. */
static void test_other_device_stays(void **state)
{
	make_lease(false);
	take(0, PROCESS, GIB, NAN);
	take(1, STRANGER, GIB, NAN);
	assert_int_equal(processes.n, 2);
	take(1, 0, 0, NAN);
	assert_int_equal(processes.n, 1);
	assert_int_equal(processes.items[0].id.pid, PROCESS);
}

/* --- Over a quota --- */

/* o: 1 GiB over the quota; t: over it within the tolerance; w: within; u: not reported.
 */
struct quota_row {
	const char *name;
	enum clv_watch_policy policy;
	const char *seconds;
	const char *events; /* O: over the quota; W: within it again */
	bool is_throttled;  /* in the end */
	int n_terms, n_kills;
	bool is_detached; /* it has no gate */
};

static const struct quota_row quotas[] = {
	{"within", CLV_WATCH_REPORT, "www", "..."},
	{"over it by what is tolerated", CLV_WATCH_END, "ttttt", "....."},
	{"over it for less than the grace", CLV_WATCH_REPORT, "oowww", "....."},
	{"over it for the grace", CLV_WATCH_REPORT, "ooooo", "..O.."},
	{"the grace begins anew", CLV_WATCH_REPORT, "oowooo", ".....O"},
	{"within again for the grace", CLV_WATCH_REPORT, "ooowwww", "..O..W."},
	{"within for less than the grace", CLV_WATCH_REPORT, "ooowwowww", "..O.....W"},
	{"what is not known is within", CLV_WATCH_REPORT, "ooouuu", "..O..W"},
	{"it is throttled", CLV_WATCH_THROTTLE, "ooo", "..O", true},
	{"and let go", CLV_WATCH_THROTTLE, "ooowww", "..O..W"},
	{"without a gate no lease is throttled", CLV_WATCH_THROTTLE, "ooo", "..O",
		.is_detached = true},
	{"its process is told to end", CLV_WATCH_END, "ooo", "..O", .n_terms = 1},
	{"and ended", CLV_WATCH_END, "oooooooo", "..O.....", .n_terms = 1, .n_kills = 1},
	{"but not when it is within", CLV_WATCH_END, "ooowwwww", "..O..W..",
		.n_terms = 1},
};

static void take_memory(char letter)
{
	static const struct {
		char letter;
		uint64_t bytes;
	} figures[] = {{'o', 5 * GIB}, {'t', 4 * GIB + 100 * MIB}, {'w', 4 * GIB},
		{'u', CLV_READING_UNKNOWN}};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(figures); i++) {
		if (figures[i].letter == letter)
			take(0, PROCESS, figures[i].bytes, NAN);
	}
}

static void test_quota(void **state)
{
	const struct quota_row *row = *state;
	struct clv_lease *lease = make_lease(!row->is_detached);
	char events[STEPS_MAX] = "";
	uint64_t over = 0, within = 0;

	world.settings.over_quota = row->policy;
	for (size_t i = 0; row->seconds[i]; i++) {
		take_memory(row->seconds[i]);
		events[i] = first_of(seen_of(CLV_EVENT_LEASE_OVER_QUOTA, &over, 'O'),
			seen_of(CLV_EVENT_LEASE_WITHIN_QUOTA, &within, 'W'));
		world.now_ns += CLV_NS_PER_S;
	}
	assert_string_equal(events, row->events);
	assert_int_equal(lease->observed.is_throttled, row->is_throttled);
	if (!row->is_detached)
		assert_int_equal(world_enforced(lease)->cap_ppm,
			row->is_throttled ? 5 * PERCENT : 0);
	assert_int_equal(world_find_process(PROCESS)->n_terms, row->n_terms);
	assert_int_equal(world_find_process(PROCESS)->n_kills, row->n_kills);
	assert_int_equal(world_find_process(HOLDER)->n_terms, 0);
}

/* A queued lease and one that has whole devices have no quota to exceed. */
static void test_without_quota(void **state)
{
	struct clv_lease *lease = make_lease(true);

	lease->record.is_queued = true;
	for (size_t i = 0; i < 5; i++) {
		take(0, PROCESS, 5 * GIB, NAN);
		world.now_ns += CLV_NS_PER_S;
	}
	lease->record.is_queued = false;
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_OVER_QUOTA), 0);
}

/* --- What no call shows --- */

struct overhead_row {
	const char *name;
	uint64_t driver_mib[4], ledger_mib[4]; /* UINT64_MAX: not reported */
	uint64_t overhead_mib;
};

static const struct overhead_row overheads[] = {
	{"of three readings the least", {300, 200, 250}, {100, 100, 100}, 100},
	{"not before there are three", {300, 300}, {100, 100}, 0},
	{"an older one does not count", {110, 300, 300, 300}, {100, 100, 100, 100}, 200},
	{"the driver says less", {50, 50, 50}, {100, 100, 100}, 0},
	{"the driver does not say", {UINT64_MAX, 300, 300}, {100, 100, 100}, 0},
};

static void test_overhead(void **state)
{
	const struct overhead_row *row = *state;
	struct clv_lease *lease = make_lease(true);

	for (size_t i = 0; i < 4 && row->driver_mib[i]; i++) {
		uint64_t driver = row->driver_mib[i];

		world_sample(lease)->memory_used_bytes = row->ledger_mib[i] * MIB;
		take(0, PROCESS,
			driver == UINT64_MAX ? CLV_READING_UNKNOWN : driver * MIB, NAN);
	}
	assert_int_equal(world_overhead(lease), row->overhead_mib * MIB);
}

/* The ledger's sums before and after the reading may differ: the larger one counts. */
static void test_overhead_of_one_that_frees(void **state)
{
	struct clv_lease *lease = make_lease(true);
	struct clv_arbiter_sample noted = {.memory_used_bytes = 300 * MIB};

	clv_watchdog_add_sample(lease, &noted);
	for (size_t i = 0; i < 3; i++) {
		world_sample(lease)->memory_used_bytes = 10 * MIB;
		take(0, PROCESS, 320 * MIB, NAN);
	}
	assert_int_equal(world_overhead(lease), 20 * MIB);
}

/* --- Work that passes by a gate --- */

/* 1: the driver reports computing all the time, and the lease had no turn; h: the same,
 * and it had all the turns; 0: no computing; u: not reported. */
struct gate_row {
	const char *name;
	enum clv_watch_policy policy;
	const char *seconds;
	const char *events; /* P: it bypasses its gate; G: not any more */
	int n_terms;
	const char *backend, *executor;
};

static const struct gate_row gates[] = {
	{"it computes in its turns", CLV_WATCH_END, "hhhhhhhh", "........"},
	{"it does not compute", CLV_WATCH_END, "00000", "....."},
	/* The first reading has nothing to compare with, the second exceeds the
	 * tolerance. */
	{"past its gate for the grace", CLV_WATCH_REPORT, "111111", "...P.."},
	{"and not any more", CLV_WATCH_REPORT, "11110000", "...P...G"},
	{"for less than the grace", CLV_WATCH_REPORT, "11000000", "........"},
	{"the grace begins anew", CLV_WATCH_REPORT, "110111", ".....P"},
	{"its processes are told to end", CLV_WATCH_END, "1111", "...P", 1},
	{"where no driver says how much", CLV_WATCH_END, "uuuuuu", "......"},
	{"a figure of a moment is no sign", CLV_WATCH_END, "111111", "......", 0, "amd"},
	{"there is no gate to pass", CLV_WATCH_END, "111111", "......", 0, "nvidia",
		"none"},
};

static void test_past_gate(void **state)
{
	const struct gate_row *row = *state;
	struct clv_lease *lease = make_lease(true);
	char events[STEPS_MAX] = "";
	uint64_t past = 0, within = 0;

	world.settings.past_gate = row->policy;
	gpu(0)->info.backend = row->backend ? row->backend : "nvidia";
	gpu(0)->info.executor = row->executor ? row->executor : "gate";
	for (size_t i = 0; row->seconds[i]; i++) {
		char letter = row->seconds[i];

		if (letter == 'h')
			world_sample(lease)->held_ns += CLV_NS_PER_S;
		take(0, PROCESS, GIB, letter == 'u' ? NAN : letter != '0');
		events[i] = first_of(seen_of(CLV_EVENT_LEASE_PAST_GATE, &past, 'P'),
			seen_of(CLV_EVENT_LEASE_WITHIN_GATE, &within, 'G'));
		world.now_ns += CLV_NS_PER_S;
	}
	assert_string_equal(events, row->events);
	assert_int_equal(world_find_process(PROCESS)->n_terms, row->n_terms);
}

/* --- Processes without a lease --- */

struct stranger_row {
	const char *name;
	enum clv_watch_policy policy;
	bool is_misplaced; /* of a lease on another device; else of no lease */
	bool is_ours;      /* the agent started it */
	unsigned int seconds;
	unsigned int n_events;
	int n_terms;
};

static const struct stranger_row strangers[] = {
	{"within the grace", CLV_WATCH_END, false, false, 2, 0, 0},
	{"told of once", CLV_WATCH_REPORT, false, false, 5, 1, 0},
	{"a stranger is never ended", CLV_WATCH_END, false, false, 5, 1, 0},
	{"a lease's on another device is told of", CLV_WATCH_REPORT, true, false, 5, 1,
		0},
	{"and ended", CLV_WATCH_END, true, false, 5, 1, 1},
	{"what the agent started is its own", CLV_WATCH_END, false, true, 5, 0, 0},
};

static void test_stranger(void **state)
{
	const struct stranger_row *row = *state;
	pid_t pid = row->is_misplaced ? PROCESS : STRANGER;

	make_lease(false);
	world_process(getpid(), 1);
	if (row->is_ours)
		world_find_process(STRANGER)->parent = getpid();
	world.settings.no_lease = row->policy;
	for (unsigned int i = 0; i < row->seconds; i++) {
		take(1, pid, GIB, NAN);
		world.now_ns += CLV_NS_PER_S;
	}
	assert_int_equal(world_n_events(CLV_EVENT_PROCESS_WITHOUT_LEASE), row->n_events);
	assert_int_equal(world_find_process(pid)->n_terms, row->n_terms);
}

/* --- Work that does not come back --- */

/* f: work is in flight; o: and other leases wait in vain; p: some work completes; i:
 * idle. */
struct hang_row {
	const char *name;
	const char *seconds;
	const char *stuck; /* 1: the work is stuck */
};

static const struct hang_row hangs[] = {
	{"idle", "iiiiii", "000000"},
	{"it computes alone for as long as it likes", "ffffff", "000000"},
	{"others wait in vain", "fooooo", "000111"},
	{"something completes in between", "fopoooo", "0000011"},
	{"it comes back", "foooop", "000110"},
	{"it comes to an end", "fooooi", "000110"},
	{"they waited before it began", "offfff", "000000"},
};

static void note(struct clv_lease *lease, char letter)
{
	struct clv_arbiter_sample *sample = world_sample(lease);

	sample->in_flight = letter != 'i';
	sample->overdue += letter == 'o';
	sample->done += letter == 'p';
	clv_watchdog_add_sample(lease, sample);
}

static void test_hang(void **state)
{
	const struct hang_row *row = *state;
	struct clv_lease *lease = make_lease(true);
	char stuck[STEPS_MAX] = "";

	for (size_t i = 0; row->seconds[i]; i++) {
		note(lease, row->seconds[i]);
		stuck[i] = lease->observed.is_stuck ? '1' : '0';
		world.now_ns += CLV_NS_PER_S;
	}
	assert_string_equal(stuck, row->stuck);
}

/* --- The tick --- */

static struct clv_watchdog *begin_watchdog(void)
{
	struct clv_watchdog *watchdog = NULL;
	struct clv_error err = {0};

	assert_int_equal(clv_watchdog_new(&world.agent, &watchdog, &err), 0);
	world.agent.watchdog = watchdog;
	return watchdog;
}

/* Answers the open question.  False: there is none. */
static bool answer(int code)
{
	struct clv_error err = {.code = code};
	struct world_question question = world.questions[0];

	if (world.n_questions == 0)
		return false;
	world.n_questions = 0;
	question.done(question.userdata, &err);
	return true;
}

static void show_device(void)
{
	struct clv_reading *items = calloc(1, sizeof(*items));

	clv_reading_begin(items, gpu(0)->info.uuid);
	clv_readings_clear(&world.readings);
	world.readings = (struct clv_readings){.items = items, .n = 1};
}

struct tick_row {
	const char *name;
	uint32_t every_s;
	bool is_unsurveyed, has_readings;
	unsigned int
		hurried_at; /* clv_watchdog_sample_soon() before this tick; 0: never */
	const char *asked;  /* 1: a sample is requested at this tick */
};

static const struct tick_row ticks[] = {
	{"every second", 1, false, true, 0, "111111"},
	{"every third", 3, false, true, 0, "001001"},
	{"never", 0, false, true, 0, "000000"},
	{"not before a survey", 1, true, true, 0, "000000"},
	/* Three more readings, and one for work that began between two. */
	{"sooner for one that has just begun", 10, false, true, 2, "011110"},
	{"no driver says anything", 1, false, false, 0, "100000"},
};

static void test_tick(void **state)
{
	const struct tick_row *row = *state;
	struct clv_watchdog *watchdog;
	char asked[STEPS_MAX] = "";

	make_lease(false);
	watchdog = begin_watchdog();
	world.settings.watch_every_s = row->every_s;
	world.n_surveys = row->is_unsurveyed ? 0 : 1;
	if (row->has_readings)
		show_device();
	for (unsigned int i = 0; i < strlen(row->asked); i++) {
		if (row->hurried_at == i + 1)
			clv_watchdog_sample_soon(watchdog);
		clv_watchdog_tick(watchdog);
		asked[i] = answer(0) ? '1' : '0';
	}
	assert_string_equal(asked, row->asked);
	clv_watchdog_surveyed(watchdog);
	world.n_surveys = 1;
	clv_watchdog_tick(watchdog);
	if (!row->has_readings)
		assert_int_equal(
			world.n_questions, 1); /* it samples again after a survey */
	clv_watchdog_free(watchdog);
}

/* A lease that hangs degrades its device as long as it hangs. */
static void test_hang_of_a_device(void **state)
{
	struct clv_lease *lease = make_lease(true);
	struct clv_watchdog *watchdog = begin_watchdog();

	lease->observed.is_stuck = true;
	clv_watchdog_tick(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_DEGRADED);
	clv_watchdog_tick(watchdog);
	assert_int_equal(world_n_events(CLV_EVENT_DEVICE_DEGRADED), 1);
	lease->observed.is_stuck = false;
	clv_watchdog_tick(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	assert_int_equal(world_n_events(CLV_EVENT_DEVICE_RECOVERED), 1);
	clv_watchdog_free(watchdog);
}

/* A driver that does not answer affects the devices that it has shown before. */
static void test_silence(void **state)
{
	struct clv_watchdog *watchdog;

	make_lease(false);
	watchdog = begin_watchdog();
	show_device();
	clv_watchdog_tick(watchdog);
	answer(0);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	clv_watchdog_tick(watchdog);
	answer(-EIO);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	clv_watchdog_tick(watchdog);
	answer(-ETIMEDOUT);
	assert_int_not_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	assert_int_equal(clv_condition_state(gpu(1)), CLV_HEALTH_OK);
	clv_watchdog_free(watchdog);
}

/* A device that a survey does not show is lost, and is searched for now and then. */
static void test_lost(void **state)
{
	struct clv_watchdog *watchdog;
	uint64_t n_before;

	make_lease(false);
	watchdog = begin_watchdog();
	show_device();
	clv_watchdog_tick(watchdog);
	answer(0);
	gpu(0)->is_present = false;
	clv_watchdog_surveyed(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_LOST);
	n_before = world.n_surveys;
	for (unsigned int i = 1; i < 60; i++) {
		clv_watchdog_tick(watchdog);
		answer(-EIO);
	}
	assert_int_equal(world.n_surveys, n_before + 1);
	gpu(0)->is_present = true;
	clv_watchdog_surveyed(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	clv_watchdog_free(watchdog);
}

/* A device that its driver still lists, but reports as lost, is not found by a survey. */
static void test_lost_by_its_readings(void **state)
{
	struct clv_watchdog *watchdog;

	make_lease(false);
	watchdog = begin_watchdog();
	for (unsigned int i = 0; i < 3; i++) {
		show_device();
		world.readings.items[0].signs[CLV_SIGN_LOST] = 1;
		clv_watchdog_tick(watchdog);
		answer(0);
		clv_watchdog_surveyed(watchdog);
		assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_LOST);
	}
	assert_int_equal(world_n_events(CLV_EVENT_DEVICE_RECOVERED), 0);
	show_device();
	clv_watchdog_tick(watchdog);
	answer(0);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	clv_watchdog_free(watchdog);
}

/* A machine that has the device by its lease takes it from its driver, and gives it back:
 * it is not lost, and is searched for when VFIO's driver leaves it. */
struct passed_row {
	const char *name;
	bool is_kept, is_vm;
	uint32_t compute_ppm;
	bool is_passed;
	enum clv_health_state state;
};

static const struct passed_row passed_rows[] = {
	{"by a virtual machine", true, true, CLV_PPM, true, CLV_HEALTH_OK},
	{"by a member of a pool", true, false, CLV_PPM, true, CLV_HEALTH_OK},
	{"by a program", false, false, CLV_PPM, true, CLV_HEALTH_LOST},
	{"with others", true, false, CLV_PPM / 2, true, CLV_HEALTH_LOST},
	{"without VFIO", true, true, CLV_PPM, false, CLV_HEALTH_LOST},
};

static struct clv_watchdog *begin_passed(const struct passed_row *row)
{
	struct clv_lease *lease = make_lease(false);
	struct clv_watchdog *watchdog = begin_watchdog();

	lease->record.is_kept = row->is_kept;
	snprintf(lease->record.vm, sizeof(lease->record.vm), "%s",
		row->is_vm ? "vm:11111111-2222-4333-8444-555555555555" : "");
	lease->record.share.compute_ppm = row->compute_ppm;
	snprintf(gpu(0)->info.pci_address, sizeof(gpu(0)->info.pci_address),
		"0000:3b:00.0");
	world.passed_address = row->is_passed ? "0000:3b:00.0" : NULL;
	show_device();
	clv_watchdog_tick(watchdog);
	answer(0);
	return watchdog;
}

static void test_passed(void **state)
{
	const struct passed_row *row = *state;
	struct clv_watchdog *watchdog = begin_passed(row);

	world.readings.items[0].signs[CLV_SIGN_LOST] = 1;
	clv_watchdog_tick(watchdog);
	answer(0);
	assert_int_equal(clv_condition_state(gpu(0)), row->state);
	gpu(0)->is_present = false;
	clv_watchdog_surveyed(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), row->state);
	assert_int_equal(world_n_events(CLV_EVENT_DEVICE_LOST),
		row->state == CLV_HEALTH_LOST ? 1 : 0);
	clv_watchdog_free(watchdog);
}

static void test_passed_and_back(void **state)
{
	struct clv_watchdog *watchdog = begin_passed(&passed_rows[0]);
	uint64_t n_before;

	/* The survey came between the loss and VFIO's driver. */
	world.passed_address = NULL;
	gpu(0)->is_present = false;
	clv_watchdog_surveyed(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_LOST);
	world.passed_address = "0000:3b:00.0";
	clv_watchdog_tick(watchdog);
	answer(-EIO);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	n_before = world.n_surveys;
	clv_watchdog_tick(watchdog);
	answer(-EIO);
	assert_int_equal(world.n_surveys, n_before);
	world.passed_address = NULL;
	clv_watchdog_tick(watchdog);
	answer(-EIO);
	assert_int_equal(world.n_surveys, n_before + 1);
	gpu(0)->is_present = true;
	clv_watchdog_surveyed(watchdog);
	clv_watchdog_tick(watchdog);
	answer(-EIO);
	assert_int_equal(world.n_surveys, n_before + 1);
	clv_watchdog_free(watchdog);
}

/* Ends the wait that is due after that time, without a turn of the loop, in which the
 * worker would be started. */
static void pass_at_once(unsigned int seconds)
{
	world.now_ns += seconds * CLV_NS_PER_S;
	for (size_t i = 0; i < WORLD_TIMERS; i++) {
		struct world_timer timer = world.timers[i];

		if (timer.source && timer.due_ns == world.now_ns)
			timer.function(timer.source, 0, timer.userdata);
	}
}

/* A GPU that its driver has closed for VFIO's is neither lost nor searched for, for two
 * minutes from the last time on. */
static void test_closed(void **state)
{
	struct clv_watchdog *watchdog = begin_passed(&passed_rows[4]);
	struct clv_hardware *hardware = world.agent.hardware;
	const char *address = gpu(0)->info.pci_address;
	uint64_t survey = 0, n_before;
	struct clv_error err = {0};

	assert_int_equal(clv_hardware_close(hardware, address, &survey, &err), 0);
	assert_true(survey > 0);
	pass_at_once(60);
	assert_int_equal(clv_hardware_close(hardware, address, &survey, &err), 0);
	pass_at_once(60);
	assert_true(clv_hardware_is_closed(hardware, address));
	gpu(0)->is_present = false;
	clv_watchdog_surveyed(watchdog);
	n_before = world.n_surveys;
	clv_watchdog_tick(watchdog);
	answer(-EIO);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_OK);
	assert_int_equal(world.n_surveys, n_before);
	pass_at_once(60);
	assert_false(clv_hardware_is_closed(hardware, address));
	clv_watchdog_surveyed(watchdog);
	assert_int_equal(clv_condition_state(gpu(0)), CLV_HEALTH_LOST);
	clv_watchdog_free(watchdog);
}

/* The time of one does not prolong that of another. */
static void test_two_closed(void **state)
{
	struct clv_hardware *hardware = world.agent.hardware;
	const char *first = "0000:07:00.0", *second = "0000:0f:00.0";
	struct clv_error err = {0};
	uint64_t survey;

	assert_int_equal(clv_hardware_close(hardware, first, &survey, &err), 0);
	pass_at_once(60);
	assert_int_equal(clv_hardware_close(hardware, second, &survey, &err), 0);
	pass_at_once(60);
	assert_false(clv_hardware_is_closed(hardware, first));
	assert_true(clv_hardware_is_closed(hardware, second));
	pass_at_once(60);
	assert_false(clv_hardware_is_closed(hardware, second));
}

static void test_too_many_closed(void **state)
{
	struct clv_hardware *hardware = world.agent.hardware;
	struct clv_error err = {0};
	char address[16];
	uint64_t survey;

	for (unsigned int i = 0; i < CLV_CLOSED_MAX; i++) {
		snprintf(address, sizeof(address), "0000:%02x:00.0", i);
		assert_int_equal(clv_hardware_close(hardware, address, &survey, &err), 0);
	}
	assert_int_equal(clv_hardware_close(hardware, address, &survey, &err), 0);
	assert_int_equal(
		clv_hardware_close(hardware, "0001:00:00.0", &survey, &err), -ENOSPC);
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, whose, test_whose);
	ROWS_ADD(&rows, quotas, test_quota);
	ROWS_ADD(&rows, overheads, test_overhead);
	ROWS_ADD(&rows, gates, test_past_gate);
	ROWS_ADD(&rows, strangers, test_stranger);
	ROWS_ADD(&rows, hangs, test_hang);
	ROWS_ADD(&rows, ticks, test_tick);
	ROWS_ONE(&rows, test_other_device_stays);
	ROWS_ONE(&rows, test_without_quota);
	ROWS_ONE(&rows, test_overhead_of_one_that_frees);
	ROWS_ONE(&rows, test_hang_of_a_device);
	ROWS_ONE(&rows, test_silence);
	ROWS_ONE(&rows, test_lost);
	ROWS_ONE(&rows, test_lost_by_its_readings);
	ROWS_ADD(&rows, passed_rows, test_passed);
	ROWS_ONE(&rows, test_passed_and_back);
	ROWS_ONE(&rows, test_closed);
	ROWS_ONE(&rows, test_two_closed);
	ROWS_ONE(&rows, test_too_many_closed);
	rows_set_up(&rows, begin, end);
	return rows_run(&rows);
}
