/* SPDX-License-Identifier: Apache-2.0 */
/* Queued leases that go to whichever device has room first: which may, to which device,
 * and whom they may pass. */
#include "rows.h"

#include "agent/ledger/ledger.h"
#include "agent/ledger/queue.h"
#include "agent/ledger/standing.h"
#include "agent/lifecycle/force.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOLDER PID(1)
#define N_PARTS 3

/* gpu0 and gpu1, each with partitions of two profiles. */
static void begin(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct clv_agent_device *whole = world_device(32 * GIB);

		for (unsigned int at = 0; at < N_PARTS; at++)
			world_part(whole, "1g.8gb", at, 8 * GIB);
		world_part(whole, "3g.16gb", 4, 16 * GIB);
		whole->is_divided = true;
	}
	world_begin_lifecycle();
	world_process(HOLDER, 1);
}

static struct clv_lease *create(
	const char *device, const char *profile, uint32_t percent, uid_t uid, bool wait)
{
	struct clv_lease_request request = world_request(percent);
	struct clv_lease *lease = NULL;

	snprintf(request.device, sizeof(request.device), "%s", device);
	snprintf(request.profile, sizeof(request.profile), "%s", profile);
	request.wait = wait;
	assert_int_equal(world_create(&request, uid, HOLDER, &lease), 0);
	assert_int_equal(lease->record.is_queued, wait);
	return lease;
}

/* Leases of BOB's that have all partitions whole, in the order of the devices. */
static void fill(struct clv_lease *leases[2 * (N_PARTS + 1)])
{
	size_t n = 0;

	for (size_t i = 0; i < clv_devices_count(world.agent.devices); i++) {
		struct clv_agent_device *device = clv_devices_at(world.agent.devices, i);

		if (device->parent)
			leases[n++] = create(device->info.name, "", 100, BOB, false);
	}
	assert_int_equal(n, 2 * (N_PARTS + 1));
}

struct move_row {
	const char *name;
	const char *device, *profile; /* of the request */
	size_t freed;                 /* which lease of fill() ends */
	const char *to;               /* where the queued lease is then; "": it waits */
	uint64_t memory_bytes;
};

static const struct move_row moves[] = {
	{"any partition of its profile", "", "1g.8gb", 2, "gpu0/1g.8gb@2", 4 * GIB},
	{"also one of another GPU", "", "1g.8gb", 5, "gpu1/1g.8gb@1", 4 * GIB},
	{"no partition of another profile", "", "1g.8gb", 3, ""},
	{"of the GPU that it names", "gpu1", "1g.8gb", 6, "gpu1/1g.8gb@2", 4 * GIB},
	{"not of another one", "gpu1", "1g.8gb", 2, ""},
	{"the partition that it names", "gpu1/1g.8gb@1", "", 5, "gpu1/1g.8gb@1", 4 * GIB},
	{"not another one", "gpu1/1g.8gb@1", "", 4, ""},
	{"any, with its part of the memory there", "", "", 7, "gpu1/3g.16gb@4", 8 * GIB},
};

static void test_move(void **state)
{
	const struct move_row *row = *state;
	struct clv_lease *leases[2 * (N_PARTS + 1)], *waiting;
	struct clv_lease_record stored;

	begin();
	fill(leases);
	waiting = create(row->device, row->profile, 50, ALICE, true);
	clv_force_end(leases[row->freed]);
	assert_int_equal(waiting->record.is_queued, row->to[0] == '\0');
	world_check();
	if (row->to[0] == '\0')
		return;
	assert_string_equal(waiting->device->info.name, row->to);
	assert_int_equal(waiting->record.share.memory_bytes, row->memory_bytes);
	assert_true(world_stored(waiting->record.id, &stored));
	assert_false(stored.is_queued);
	assert_string_equal(stored.device_uuid, waiting->device->info.uuid);
	assert_int_equal(stored.share.memory_bytes, row->memory_bytes);
}

/* The first partition of gpu0 has a lease of so many percent, which is returned, and all
 * other partitions are taken. */
static struct clv_lease *crowd(uint32_t percent)
{
	struct clv_lease *leases[2 * (N_PARTS + 1)];

	begin();
	fill(leases);
	clv_force_end(leases[0]);
	return create("gpu0/1g.8gb@0", "", percent, BOB, false);
}

/* What its request named is in the state file, so it may move under the next agent too.
 */
static void test_restart(void **state)
{
	struct clv_lease *taken = crowd(60), *waiting;
	char first[CLV_LEASE_ID_MAX], second[CLV_LEASE_ID_MAX];

	create("gpu0/1g.8gb@0", "", 50, CAROL, true); /* the longer queue */
	waiting = create("", "1g.8gb", 50, ALICE, true);
	assert_string_equal(waiting->device->info.name, "gpu0/1g.8gb@1");
	snprintf(first, sizeof(first), "%s", taken->record.id);
	snprintf(second, sizeof(second), "%s", waiting->record.id);
	waiting = create("gpu1", "1g.8gb", 50, CAROL, true);
	assert_string_equal(waiting->device->parent->info.name, "gpu1");
	world_restart();
	taken = clv_ledger_find_id(world.agent.ledger, first);
	clv_force_end(taken);
	waiting = clv_ledger_find_id(world.agent.ledger, second);
	assert_false(waiting->record.is_queued);
	assert_string_equal(waiting->device->info.name, "gpu0/1g.8gb@0");
	assert_int_equal(world.agent.n_queued, 1); /* it had named gpu1 */
	world_check();
}

/* No lease passes one that waits for the device itself and comes first. */
static void test_first_is_not_passed(void **state)
{
	struct clv_lease *taken = crowd(60), *beside, *large, *small;

	beside = create("gpu0/1g.8gb@0", "", 30, BOB, false);
	large = create("gpu0/1g.8gb@0", "", 90, ALICE, true);
	small = create("gpu1/1g.8gb@0", "", 30, BOB, true);
	small->record.asked.device[0] = '\0';
	clv_force_end(beside);
	assert_true(small->record.is_queued);
	clv_force_end(taken);
	assert_false(large->record.is_queued);
	assert_true(small->record.is_queued);
	clv_force_end(large);
	assert_false(small->record.is_queued);
	assert_string_equal(small->device->info.name, "gpu0/1g.8gb@0");
	world_check();
}

/* One that comes first and does not fit here waits for its own device, and delays no
 * lease elsewhere. */
static void test_too_large_here(void **state)
{
	struct clv_lease *taken = crowd(60), *large, *small;

	create("gpu0/1g.8gb@0", "", 30, BOB, false);
	large = create("gpu1", "", 80, ALICE, true);
	large->record.asked.device[0] = '\0';
	small = create("gpu1", "", 20, ALICE, true);
	small->record.asked.device[0] = '\0';
	clv_force_end(taken);
	assert_true(large->record.is_queued);
	assert_false(small->record.is_queued);
	assert_string_equal(small->device->info.name, "gpu0/1g.8gb@0");
	world_check();
}

/* A partition that an operation has made, and changes no more. */
static void test_made(void **state)
{
	struct clv_lease *leases[2 * (N_PARTS + 1)], *first, *second;
	struct clv_agent_device *part;

	begin();
	fill(leases);
	first = create("", "1g.8gb", 50, ALICE, true);
	second = create("gpu0", "1g.8gb", 100, CAROL, true);
	part = world_part(leases[0]->device->parent, "1g.8gb", 3, 8 * GIB);
	clv_notify_admits(world.agent.notify, part);
	assert_string_equal(first->device->info.name, part->info.name);
	assert_false(first->record.is_queued);
	assert_true(second->record.is_queued);
	world_check();
}

/* A device that another agent has is passed over. */
static void test_locked(void **state)
{
	struct clv_lease *leases[2 * (N_PARTS + 1)], *waiting;
	struct clv_agent_device *other;

	begin();
	fill(leases);
	waiting = create("", "1g.8gb", 50, ALICE, true);
	other = clv_devices_root(leases[4]->device);
	for (size_t i = 4; i < 8; i++)
		clv_force_end(leases[i]);
	assert_string_equal(waiting->device->info.name, "gpu1/1g.8gb@0");
	clv_force_end(waiting);
	waiting = create("gpu0", "1g.8gb", 50, ALICE, true);
	waiting->record.asked.device[0] = '\0';
	world.locked_uuid = other->info.uuid;
	clv_lifecycle_serve_all(world.agent.lifecycle);
	assert_true(waiting->record.is_queued);
	world.locked_uuid = NULL;
	clv_lifecycle_serve_all(world.agent.lifecycle);
	assert_string_equal(waiting->device->info.name, "gpu1/1g.8gb@0");
	world_check();
}

/* One that is made smaller while it waits may fit elsewhere at once. */
static void test_resized(void **state)
{
	struct clv_lease_request smaller = world_request(20);
	struct clv_lease *waiting;

	crowd(70);
	waiting = create("gpu1", "1g.8gb", 50, ALICE, true);
	waiting->record.asked.device[0] = '\0';
	smaller.has_share = true;
	smaller.share.memory_bytes = GIB;
	smaller.has_memory = true;
	assert_int_equal(
		clv_lifecycle_resize(world.agent.lifecycle, waiting, &smaller, NULL), 0);
	assert_false(waiting->record.is_queued);
	assert_string_equal(waiting->device->info.name, "gpu0/1g.8gb@0");
	assert_int_equal(waiting->record.share.memory_bytes, GIB);
	world_check();
}

/* One that cannot be opened at its turn ends, and is not reported as created. */
static void test_cannot_be_opened(void **state)
{
	struct clv_lease *waiting;
	struct clv_lease_request smaller = world_request(20);

	crowd(70);
	waiting = create("gpu1", "1g.8gb", 50, ALICE, true);
	waiting->record.asked.device[0] = '\0';
	smaller.has_share = true;
	smaller.share.memory_bytes = GIB;
	smaller.has_memory = true;
	world.no_gate = true;
	assert_int_equal(
		clv_lifecycle_resize(world.agent.lifecycle, waiting, &smaller, NULL),
		-EIO);
	world.no_gate = false;
	assert_int_equal(world.agent.n_queued, 0);
	world_check();
}

/* A lease of an earlier version's state file stays in its queue. */
static void test_earlier_version(void **state)
{
	struct clv_lease *leases[2 * (N_PARTS + 1)], *waiting;

	begin();
	fill(leases);
	waiting = create("", "1g.8gb", 50, ALICE, true);
	waiting->record.asked = (struct clv_lease_asked){0};
	for (size_t i = 1; i < 8; i++)
		clv_force_end(leases[i]);
	assert_true(waiting->record.is_queued);
	clv_force_end(leases[0]);
	assert_string_equal(waiting->device->info.name, "gpu0/1g.8gb@0");
	world_check();
}

/* A partition with more memory than its tenant may have. */
static void test_allowance(void **state)
{
	struct clv_config_tenant tenant = {.allowance = {.memory_bytes = 4 * GIB}};
	struct clv_lease *leases[2 * (N_PARTS + 1)], *waiting;

	begin();
	fill(leases);
	world.settings.tenants = &tenant;
	world.settings.n_tenants = 1;
	waiting = create("", "", 50, ALICE, true);
	clv_force_end(leases[3]); /* half of it is 8 GiB */
	assert_true(waiting->record.is_queued);
	clv_force_end(leases[6]);
	assert_string_equal(waiting->device->info.name, "gpu1/1g.8gb@2");
	world_check();
}

/* --- Standing shares --- */

static void set_aside(struct clv_agent_device *device, uint32_t percent)
{
	struct clv_standing_share share = {
		.share = {.compute_ppm = percent * PERCENT, .memory_bytes = GIB}};

	snprintf(share.name, sizeof(share.name), "%s/train", device->info.name);
	snprintf(share.device_uuid, sizeof(share.device_uuid), "%s", device->info.uuid);
	clv_store_put_standing(world.agent.state->store, &share, NULL);
	clv_standing_read(world.agent.standing);
}

/* gpu0 and gpu1 with a share of the same name, of 20 and of 30 percent. */
static void begin_standing(void)
{
	set_aside(world_device(8 * GIB), 20);
	set_aside(world_device(8 * GIB), 30);
	world_begin_lifecycle();
	world_process(HOLDER, 1);
}

static struct clv_lease *create_in(const char *name, uid_t uid, bool wait)
{
	struct clv_lease_request request = {.wait = wait};
	struct clv_lease *lease = NULL;

	snprintf(request.in, sizeof(request.in), "%s", name);
	assert_int_equal(world_create(&request, uid, HOLDER, &lease), 0);
	assert_int_equal(lease->record.is_queued, wait);
	return lease;
}

/* Whichever share of the name is free first; by its whole name that one only. */
static void test_standing(void **state)
{
	struct clv_lease *first, *second, *any, *one;

	begin_standing();
	first = create_in("train", BOB, false);
	second = create_in("train", BOB, false);
	one = create_in("gpu0/train", CAROL, true);
	any = create_in("train", ALICE, true);
	clv_force_end(second);
	assert_true(one->record.is_queued);
	assert_false(any->record.is_queued);
	assert_string_equal(any->record.standing, "gpu1/train");
	assert_string_equal(any->device->info.name, "gpu1");
	assert_int_equal(any->record.share.compute_ppm, 30 * PERCENT);
	clv_force_end(first);
	assert_string_equal(one->record.standing, "gpu0/train");
	assert_false(one->record.is_queued);
	world_check();
}

/* What a lease that waits for a share would get is set aside in any case. */
static void test_standing_delays_no_other(void **state)
{
	struct clv_lease *taken, *waiting;

	begin_standing();
	taken = create_in("gpu0/train", BOB, false);
	waiting = create_in("gpu0/train", ALICE, true);
	create("gpu0", "", 50, CAROL, false);
	create("gpu0", "", 40, BOB, true); /* 10 are missing */
	assert_int_equal(clv_queue_position(waiting), 1);
	clv_force_end(taken);
	assert_false(waiting->record.is_queued);
	world_check();
}

/* The next free share is on a device that takes no lease. */
static void test_standing_on_a_cordoned_device(void **state)
{
	struct clv_lease *lease;

	begin_standing();
	clv_devices_at(world.agent.devices, 0)->is_cordoned = true;
	lease = create_in("train", ALICE, false);
	assert_string_equal(lease->record.standing, "gpu1/train");
	clv_devices_at(world.agent.devices, 0)->is_cordoned = false;
	world_check();
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, moves, test_move);
	ROWS_ONE(&rows, test_restart);
	ROWS_ONE(&rows, test_first_is_not_passed);
	ROWS_ONE(&rows, test_too_large_here);
	ROWS_ONE(&rows, test_made);
	ROWS_ONE(&rows, test_locked);
	ROWS_ONE(&rows, test_resized);
	ROWS_ONE(&rows, test_cannot_be_opened);
	ROWS_ONE(&rows, test_earlier_version);
	ROWS_ONE(&rows, test_allowance);
	ROWS_ONE(&rows, test_standing);
	ROWS_ONE(&rows, test_standing_delays_no_other);
	ROWS_ONE(&rows, test_standing_on_a_cordoned_device);
	return rows_run(&rows);
}
