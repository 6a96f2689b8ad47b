/* SPDX-License-Identifier: Apache-2.0 */
/* Creating, resizing, admitting and ending leases: what a failure leaves behind, and
 * which lease is admitted next.  test-lease-states.c has the states of one lease. */
#include "rows.h"

#include "agent/attach/lease-open.h"
#include "agent/event/events.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/force.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/placing/demand.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/clock.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOLDER PID(1)

static struct clv_agent_device *begin(void)
{
	struct clv_agent_device *device = world_device(8 * GIB);

	world_begin_lifecycle();
	world_process(HOLDER, 1);
	return device;
}

static struct clv_lease *create(uint32_t percent, uid_t uid, bool wait)
{
	struct clv_lease_request request = world_request(percent);
	struct clv_lease *lease = NULL;

	request.wait = wait;
	assert_int_equal(world_create(&request, uid, HOLDER, &lease), 0);
	return lease;
}

static size_t n_folders(void)
{
	char path[64];
	struct dirent *entry;
	size_t n = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/lease", world.folder);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		n += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return n;
}

/* --- Making --- */

struct fault_row {
	const char *name;
	bool no_commit, no_gate, no_watch;
	unsigned int allocations_left;
	int code;
};

static const struct fault_row faults[] = {
	{"no room in the state file", .no_commit = true, .code = -ENOSPC},
	{"no socket", .no_gate = true, .code = -EADDRINUSE},
	{"no watch of its holder", .no_watch = true, .code = -ENOMEM},
	{"no memory in the table", .allocations_left = 1, .code = -ENOMEM},
};

static void test_creation_fails(void **state)
{
	const struct fault_row *row = *state;
	struct clv_lease_request request = world_request(50);
	struct clv_agent_device *device = begin();
	struct clv_lease *lease = NULL;

	world.no_commit = row->no_commit;
	world.no_gate = row->no_gate;
	world.no_watch = row->no_watch;
	world.allocations_left = row->allocations_left;
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), row->code);
	assert_null(lease);
	world.no_commit = false;
	world_check();
	assert_int_equal(world.agent.n_leases, 0);
	assert_int_equal(world_n_stored(), 0);
	assert_int_equal(n_folders(), 0);
	assert_int_equal(device->lock_fd, -1);
	assert_true(TAILQ_EMPTY(&world.watches));
	assert_int_equal(world.n_notices[CLV_NOTICE_CHANGED], 0);
}

static void test_creation(void **state)
{
	struct clv_lease_request request = world_request(25);
	struct clv_agent_device *device = begin();
	struct clv_lease_record stored;
	struct clv_lease *lease;

	request.time_s = 60;
	snprintf(request.name, sizeof(request.name), "train");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	assert_true(world_stored(lease->record.id, &stored));
	assert_int_equal(stored.share.compute_ppm, 25 * PERCENT);
	assert_int_equal(stored.share.memory_bytes, 2 * GIB);
	assert_int_equal(stored.expires_real_ns, world.real_ns + 60 * CLV_NS_PER_S);
	assert_string_equal(stored.tenant, "alice");
	assert_string_equal(stored.name, "train");
	assert_int_equal(stored.holder.pid, HOLDER);
	assert_true(device->lock_fd >= 0);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_CREATED), 1);
	assert_int_equal(world.agent.n_changes, 1);
	world_check();
}

/* Sources and watches are freed when the loop refuses one. */
static void test_no_loop(void **state)
{
	sd_event *event = world.agent.event;
	struct clv_error err = {0};

	world.agent.event = NULL;
	assert_int_equal(
		clv_lifecycle_new(&world.agent, &world.agent.lifecycle, &err), -EINVAL);
	world.agent.event = event;
	assert_int_equal(err.code, -EINVAL);
	assert_null(world.agent.lifecycle);
	assert_null(world.agent.watches);
	assert_null(world.agent.demand);
}

struct name_row {
	const char *name;
	const char *asked, *command;
	int code;
	const char *given;
};

/* Alice has "python3" and "mine" already. */
static const struct name_row names[] = {
	{"by the command, the next number", "", "/usr/bin/python3", 0, "python3-2"},
	{"the name asked for", "new", "python3", 0, "new"},
	{"not the same twice", "mine", "python3", -EEXIST, NULL},
	{"signs in it become dashes", "", "a b", 0, "a-b"},
	{"a command that has no name", "", "---", 0, "lease"},
	{"hidden files' dots are left out", "", "/x/.hidden", 0, "hidden"},
};

static void test_name(void **state)
{
	const struct name_row *row = *state;
	struct clv_lease_request request = world_request(10);
	struct clv_lease *lease;

	begin();
	snprintf(request.command, sizeof(request.command), "python3");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	snprintf(request.name, sizeof(request.name), "mine");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	assert_int_equal(world_create(&request, BOB, HOLDER, &lease), 0);
	snprintf(request.name, sizeof(request.name), "%s", row->asked);
	snprintf(request.command, sizeof(request.command), "%s", row->command);
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), row->code);
	if (row->given)
		assert_string_equal(lease->record.name, row->given);
	world_check();
}

struct overcommit_row {
	const char *name;
	bool is_system, is_allowed, is_root;
	int code;
};

static const struct overcommit_row overcommits[] = {
	{"one's own agent", .code = 0},
	{"the system's", .is_system = true, .code = -EPERM},
	{"where it is allowed", .is_system = true, .is_allowed = true, .code = 0},
	{"root may", .is_system = true, .is_root = true, .code = 0},
};

static void test_overcommit(void **state)
{
	const struct overcommit_row *row = *state;
	struct clv_lease_request request = world_request(100);
	struct clv_lease *lease;

	begin();
	create(100, BOB, false);
	world.agent.config.is_system = row->is_system;
	world.agent.config.allow_overcommit = row->is_allowed;
	request.overcommit = true;
	assert_int_equal(world_create(&request, row->is_root ? 0 : ALICE, HOLDER, &lease),
		row->code);
	world_check();
}

/* --- Whose turn it is --- */

/* A small lease does not overtake a large one at the head of the queue. */
static void test_first_is_waited_for(void **state)
{
	struct clv_lease *running, *large, *small;

	begin();
	running = create(60, BOB, false);
	large = create(60, ALICE, true);
	small = create(10, ALICE, true);
	assert_true(large->record.is_queued && small->record.is_queued);
	world_check();
	clv_force_end(running);
	assert_false(large->record.is_queued);
	assert_false(small->record.is_queued);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_QUEUED), 2);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_CREATED), 3);
	world_check();
}

/* A lease that cannot be opened at its turn ends, and the next one is admitted. */
static void test_turn_that_fails(void **state)
{
	struct clv_lease *running;

	begin();
	running = create(60, BOB, false);
	create(60, ALICE, true);
	create(60, CAROL, true);
	world.no_gate = true;
	clv_force_end(running);
	world.no_gate = false;
	assert_int_equal(world.agent.n_leases, 0);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_ENDED), 3);
	world_check();
}

struct closed_row {
	const char *name;
	bool is_cordoned, is_numbered, is_gone, is_divided;
};

/* A device that takes no new lease does not admit queued ones either. */
static const struct closed_row closed[] = {
	{"the device is cordoned", .is_cordoned = true},
	{"the device's number is not known", .is_numbered = true},
	{"the driver does not show the device", .is_gone = true},
	{"the device is divided", .is_divided = true},
};

static void test_closed(void **state)
{
	const struct closed_row *row = *state;
	struct clv_agent_device *device = begin();
	struct clv_lease *running = create(60, BOB, false);
	struct clv_lease *waiting = create(60, ALICE, true);

	device->is_cordoned = row->is_cordoned;
	device->is_present = !row->is_gone;
	device->is_divided = row->is_divided;
	snprintf(device->info.visible, sizeof(device->info.visible), "%s",
		row->is_numbered ? "0" : "");
	clv_force_end(running);
	assert_true(waiting->record.is_queued);
	device->is_cordoned = device->is_divided = false;
	device->is_present = true;
	device->info.visible[0] = '\0';
	clv_notify_admits(world.agent.notify, device);
	assert_false(waiting->record.is_queued);
	world_check();
}

/* A lease that waits for its tenant's allowance is admitted when a lease of the tenant on
 * another device ends. */
static void test_own_allowance(void **state)
{
	struct clv_config_tenant tenant = {.allowance = {.leases = 1}};
	struct clv_lease_request request = world_request(50);
	struct clv_lease *first, *second;

	begin();
	world_device(8 * GIB);
	world.settings.tenants = &tenant;
	world.settings.n_tenants = 1;
	snprintf(request.device, sizeof(request.device), "gpu0");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &first), 0);
	snprintf(request.device, sizeof(request.device), "gpu1");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &second), -EBUSY);
	request.wait = true;
	assert_int_equal(world_create(&request, ALICE, HOLDER, &second), 0);
	assert_true(second->record.is_queued);
	clv_force_end(first);
	assert_false(second->record.is_queued);
	world_check();
}

/* Such a lease delays no other tenant's, neither in the queue nor one that may not wait.
 */
static void test_own_allowance_delays_no_other(void **state)
{
	struct clv_config_tenant tenant = {.allowance = {.leases = 1}};
	struct clv_lease_request request = world_request(50);
	struct clv_lease *first, *second, *other;

	begin();
	world_device(8 * GIB);
	world.settings.tenants = &tenant;
	world.settings.n_tenants = 1;
	snprintf(request.device, sizeof(request.device), "gpu0");
	assert_int_equal(world_create(&request, ALICE, HOLDER, &first), 0);
	snprintf(request.device, sizeof(request.device), "gpu1");
	request.wait = true;
	assert_int_equal(world_create(&request, ALICE, HOLDER, &second), 0);
	assert_true(second->record.is_queued);
	request.wait = false;
	assert_int_equal(world_create(&request, BOB, HOLDER, &other), 0);
	assert_false(other->record.is_queued);
	/* Within its allowance it is the first in the queue. */
	request.share.compute_ppm = 60 * PERCENT;
	clv_force_end(first);
	assert_false(second->record.is_queued);
	request.wait = true;
	assert_int_equal(world_create(&request, CAROL, HOLDER, &second), 0);
	assert_true(second->record.is_queued);
	clv_force_end(other);
	request.share.compute_ppm = 10 * PERCENT;
	request.wait = false;
	assert_int_equal(world_create(&request, BOB, HOLDER, &other), -EBUSY);
	world_check();
}

/* --- Resizing --- */

struct resize_row {
	const char *name;
	uint32_t others, has, wanted; /* percent */
	bool is_overcommitted;        /* the device, by the other leases */
	int code;
};

static const struct resize_row resizes[] = {
	{"larger, and it fits", 50, 20, 50, .code = 0},
	{"larger than what is left", 50, 20, 51, .code = -EBUSY},
	{"smaller", 50, 50, 20, .code = 0},
	{"smaller, on a device that is overcommitted", 100, 50, 20, true, 0},
	{"larger, on a device that is overcommitted", 100, 20, 50, true, -EBUSY},
	{"the same", 50, 50, 50, .code = 0},
};

static struct clv_lease *make_to_resize(const struct resize_row *row)
{
	struct clv_lease_request request = world_request(row->others);
	struct clv_lease *lease = create(row->has, ALICE, false), *others;

	request.overcommit = row->is_overcommitted;
	if (row->others > 0)
		assert_int_equal(world_create(&request, BOB, HOLDER, &others), 0);
	return lease;
}

static int resize(struct clv_lease *lease, uint32_t percent)
{
	struct clv_lease_request request = world_request(percent);
	struct clv_error err = {0};

	request.has_memory = true;
	request.share.memory_bytes = lease->device->info.memory_bytes / 100 * percent;
	return clv_lifecycle_resize(world.agent.lifecycle, lease, &request, &err);
}

static void test_resize(void **state)
{
	const struct resize_row *row = *state;
	struct clv_lease_record stored;
	struct clv_lease *lease;
	uint32_t has_ppm;

	begin();
	lease = make_to_resize(row);
	world_process(PID(2), HOLDER);
	world_attach(lease, PID(2));
	assert_int_equal(resize(lease, row->wanted), row->code);
	has_ppm = (row->code == 0 ? row->wanted : row->has) * PERCENT;
	assert_int_equal(lease->record.share.compute_ppm, has_ppm);
	assert_int_equal(world_enforced(lease)->compute_ppm, has_ppm);
	assert_true(world_stored(lease->record.id, &stored));
	assert_int_equal(stored.share.compute_ppm, has_ppm);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_RESIZED), row->code == 0);
	world_check();
}

/* A full disk refuses a resize, and nothing is changed. */
static void test_resize_without_disk(void **state)
{
	struct clv_lease *lease;

	begin();
	lease = create(50, ALICE, false);
	world.no_commit = true;
	assert_int_equal(resize(lease, 20), -ENOSPC);
	world.no_commit = false;
	assert_int_equal(lease->record.share.compute_ppm, 50 * PERCENT);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_RESIZED), 0);
	world_check();
}

static void test_resize_lets_others_in(void **state)
{
	struct clv_lease *lease, *waiting;

	begin();
	lease = create(80, ALICE, false);
	waiting = create(50, BOB, true);
	assert_true(waiting->record.is_queued);
	assert_int_equal(resize(lease, 60), 0);
	assert_true(waiting->record.is_queued);
	assert_int_equal(resize(lease, 50), 0);
	assert_false(waiting->record.is_queued);
	world_check();
}

/* A queued lease has no promise yet, so it may be resized to any size. */
static void test_resize_of_a_waiting_one(void **state)
{
	struct clv_lease *waiting;

	begin();
	create(80, ALICE, false);
	waiting = create(50, BOB, true);
	assert_int_equal(resize(waiting, 90), 0);
	assert_true(waiting->record.is_queued);
	assert_int_equal(resize(waiting, 20), 0);
	assert_false(waiting->record.is_queued);
	world_check();
}

static void test_several_are_whole(void **state)
{
	struct clv_lease_request request = {.command = "x", .count = 2};
	struct clv_agent_device *device = begin();
	struct clv_lease *lease;

	world_device(8 * GIB);
	request.share.compute_ppm = 100 * PERCENT;
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	assert_int_equal(lease->n_others, 1);
	assert_int_equal(resize(lease, 50), -EINVAL);
	world_check();
	assert_true(device->lock_fd >= 0);
	clv_force_end(lease);
	assert_int_equal(device->lock_fd, -1);
	assert_int_equal(clv_devices_at(world.agent.devices, 1)->lock_fd, -1);
	world_check();
}

/* --- Ending --- */

/* No failure prevents the end of a lease; what cannot be written is written later. */
static void test_end_without_disk(void **state)
{
	struct clv_lease *lease;

	begin();
	lease = create(50, ALICE, false);
	world.agent.state->is_copy = true; /* no file to write to */
	clv_force_end(lease);
	assert_int_equal(world.agent.n_leases, 0);
	assert_true(world.agent.state->is_stale);
	world.agent.state->is_copy = false;
	world_check();
}

/* A lease leaves the queue once that can be written: the next agent would queue it again,
 * beside its programs. */
static void test_queue_without_disk(void **state)
{
	struct clv_lease_record stored;
	struct clv_lease *lease, *waiting;

	begin();
	lease = create(80, ALICE, false);
	waiting = create(50, BOB, true);
	world.no_commit = true;
	clv_force_end(lease);
	assert_true(waiting->record.is_queued);
	assert_true(world.agent.state->is_stale);
	world.no_commit = false;
	clv_lifecycle_serve_all(world.agent.lifecycle);
	assert_false(waiting->record.is_queued);
	assert_true(world_stored(waiting->record.id, &stored));
	assert_false(stored.is_queued);
	world_check();
}

/* While a lease has a partition, the lock of the whole device is held. */
static void test_claim_of_parts(void **state)
{
	struct clv_agent_device *whole = begin();
	struct clv_lease_request request = world_request(100);
	struct clv_lease *leases[2];

	world_part(whole, "1g.10gb", 0, GIB);
	world_part(whole, "1g.10gb", 1, GIB);
	snprintf(request.profile, sizeof(request.profile), "1g.10gb");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(world_create(&request, ALICE, HOLDER, &leases[i]), 0);
	assert_ptr_not_equal(leases[0]->device, leases[1]->device);
	clv_force_end(leases[0]);
	assert_true(whole->lock_fd >= 0);
	clv_force_end(leases[1]);
	assert_int_equal(whole->lock_fd, -1);
}

/* --- By force --- */

static void test_force_on_a_device(void **state)
{
	struct clv_agent_device *device = begin();
	struct clv_lease *running, *ending;

	running = create(40, ALICE, false);
	ending = create(40, BOB, false);
	create(40, CAROL, true);
	world_process(PID(2), HOLDER);
	world_process(PID(3), HOLDER);
	world_attach(running, PID(2));
	world_attach(ending, PID(3));
	clv_force_end(ending);
	clv_force_end_all(&world.agent, device);
	world_turn();
	/* The queued lease is gone; two end with their processes, signalled once each. */
	assert_int_equal(world.agent.n_leases, 2);
	assert_true(running->is_ending && ending->is_ending);
	for (pid_t pid = PID(2); pid <= PID(3); pid++) {
		assert_int_equal(world_find_process(pid)->n_terms, 1);
		world_kill(pid);
	}
	world_turn();
	assert_int_equal(world.agent.n_leases, 0);
	world_check();
}

/* For a divided device its partitions are drained; other devices are not affected. */
static void test_force_on_parts(void **state)
{
	struct clv_agent_device *whole = begin();
	struct clv_agent_device *part = world_part(whole, "1g.10gb", 0, GIB);
	struct clv_agent_device *elsewhere = world_device(GIB);
	struct clv_lease_request request = world_request(100);
	struct clv_lease *lease;

	snprintf(request.device, sizeof(request.device), "%s", part->info.name);
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	snprintf(request.device, sizeof(request.device), "%s", elsewhere->info.name);
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	clv_force_end_all(&world.agent, whole);
	assert_int_equal(world.agent.n_leases, 1);
	assert_int_equal(elsewhere->n_leases, 1);
}

static void test_time_is_over(void **state)
{
	struct clv_lease_request request = world_request(10);
	struct clv_lease *leases[3];

	begin();
	for (unsigned int i = 0; i < 3; i++) {
		request.time_s = 10 * i; /* 0: never */
		assert_int_equal(world_create(&request, ALICE, HOLDER, &leases[i]), 0);
	}
	world.now_ns += 10 * CLV_NS_PER_S - 1;
	clv_force_end_expired(&world.agent);
	assert_int_equal(world.agent.n_leases, 3);
	world.now_ns += 1;
	clv_force_end_expired(&world.agent);
	assert_int_equal(world.agent.n_leases, 2);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_EXPIRED), 1);
	world.now_ns += 10 * CLV_NS_PER_S;
	clv_force_end_expired(&world.agent);
	assert_int_equal(world.agent.n_leases, 1);
	assert_ptr_equal(
		clv_ledger_find_id(world.agent.ledger, leases[0]->record.id), leases[0]);
	world_check();
}

/* A lease of a minute.  The wall clock is set, then twice half of that time passes. */
struct clock_row {
	const char *name;
	int64_t set_s;
	bool restarts; /* another agent starts after the clock was set */
	bool is_old;   /* the state file is of a version that knew the wall clock alone */
	unsigned int n_left[2];
};

#define HOUR_S INT64_C(3600)

static const struct clock_row clock_rows[] = {
	{"the clock is right", 0, false, false, {1, 0}},
	{"it is set forward", HOUR_S, false, false, {1, 0}},
	{"it is set back", -HOUR_S, false, false, {1, 0}},
	{"it is right at a restart", 0, true, false, {1, 0}},
	{"it was set forward before a restart", HOUR_S, true, false, {1, 0}},
	{"it was set back before a restart", -HOUR_S, true, false, {1, 0}},
	{"an upgrade", 0, true, true, {1, 0}},
	{"it was set forward before an upgrade", HOUR_S, true, true, {0, 0}},
	{"it was set back before an upgrade", -HOUR_S, true, true, {1, 0}},
};

static void test_clock(void **state)
{
	const struct clock_row *row = *state;
	struct clv_lease_request request = world_request(10);
	struct clv_lease_record stored;
	struct clv_lease *lease;

	begin();
	request.time_s = 60;
	assert_int_equal(world_create(&request, ALICE, HOLDER, &lease), 0);
	stored = lease->record;
	world.real_ns += (uint64_t)row->set_s * CLV_NS_PER_S;
	if (row->is_old) {
		clv_store_delete_lease(world.agent.state->store, stored.id, NULL);
		stored.ends_boot_ns = 0;
		clv_store_put_lease(world.agent.state->store, &stored, NULL);
	}
	if (row->restarts)
		world_restart();
	for (unsigned int i = 0; i < 2; i++) {
		clv_force_end_expired(&world.agent);
		lease = clv_ledger_find_id(world.agent.ledger, stored.id);
		if (lease)
			assert_int_equal(lease->record.expires_real_ns,
				world.real_ns + (60 - 30 * i) * CLV_NS_PER_S);
		world_pass_s(30);
		clv_force_end_expired(&world.agent);
		assert_int_equal(world.agent.n_leases, row->n_left[i]);
	}
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_EXPIRED), 1);
}

/* --- Processes that share the memory of one that ended --- */

struct sharer_row {
	const char *name;
	int sharer;
	size_t n_leases; /* after the end of the process of a lease without a holder */
	int n_kills;     /* of the sharer */
};

static const struct sharer_row sharers[] = {
	{"no process has its memory", WORLD_SHARER_NO, 0, 0},
	{"it cannot be found out", WORLD_SHARER_UNKNOWN, 1, 0},
	{"a child has it, and is ended too", WORLD_SHARER_YES, 1, 1},
};

static void test_sharer(void **state)
{
	const struct sharer_row *row = *state;
	struct clv_lease *lease;

	begin();
	lease = create(40, ALICE, false);
	world_process(PID(2), HOLDER);
	world_process(PID(3), PID(2));
	world_attach(lease, PID(2));
	world_kill(HOLDER);
	clv_force_end(lease);
	world.sharer = row->sharer;
	world.sharer_id = world_find_process(PID(3))->id;
	world_kill(PID(2));
	world_turn();
	assert_int_equal(world.agent.n_leases, row->n_leases);
	assert_int_equal(world_find_process(PID(3))->n_kills, row->n_kills);
	world.sharer = WORLD_SHARER_NO;
	world_kill(PID(3));
	if (row->n_leases > 0)
		clv_attached_check(lease);
	world_turn();
	assert_int_equal(world.agent.n_leases, 0);
	world_check();
}

static int note_id(void *userdata, const struct clv_event *event)
{
	*(uint64_t *)userdata = event->id;
	return 0;
}

/* Otherwise the next agent gives the number to another event, if this one is killed. */
static void test_what_was_read_is_recorded(void **state)
{
	uint64_t read = 0, recorded = 0;

	begin();
	create(40, ALICE, false);
	assert_int_equal(clv_events_read(world.agent.events, 0, 100, true, 0, note_id,
				 &read, NULL),
		0);
	assert_int_equal(
		clv_store_last_event(world.agent.state->store, &recorded, NULL), 0);
	assert_int_not_equal(read, 0);
	assert_int_equal(recorded, read);
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, faults, test_creation_fails);
	ROWS_ADD(&rows, names, test_name);
	ROWS_ADD(&rows, overcommits, test_overcommit);
	ROWS_ADD(&rows, closed, test_closed);
	ROWS_ADD(&rows, resizes, test_resize);
	ROWS_ADD(&rows, sharers, test_sharer);
	ROWS_ADD(&rows, clock_rows, test_clock);
	ROWS_ONE(&rows, test_creation);
	ROWS_ONE(&rows, test_no_loop);
	ROWS_ONE(&rows, test_first_is_waited_for);
	ROWS_ONE(&rows, test_turn_that_fails);
	ROWS_ONE(&rows, test_own_allowance);
	ROWS_ONE(&rows, test_own_allowance_delays_no_other);
	ROWS_ONE(&rows, test_resize_without_disk);
	ROWS_ONE(&rows, test_resize_lets_others_in);
	ROWS_ONE(&rows, test_resize_of_a_waiting_one);
	ROWS_ONE(&rows, test_several_are_whole);
	ROWS_ONE(&rows, test_end_without_disk);
	ROWS_ONE(&rows, test_queue_without_disk);
	ROWS_ONE(&rows, test_claim_of_parts);
	ROWS_ONE(&rows, test_force_on_a_device);
	ROWS_ONE(&rows, test_force_on_parts);
	ROWS_ONE(&rows, test_time_is_over);
	ROWS_ONE(&rows, test_what_was_read_is_recorded);
	return rows_run(&rows);
}
