/* SPDX-License-Identifier: Apache-2.0 */
/* The table of leases: lookups, counts, and what a failure leaves behind. */
#include "rows.h"

#include "agent/attach/lease-open.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/promises.h"
#include "agent/ledger/standing.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/share/admission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- Finding --- */

/* alice owns train and both; bob owns both and his; carol owns none. */
struct search_row {
	const char *name;
	uid_t caller; /* 0: no particular user */
	enum clv_scope scope;
	const char *wanted; /* a lease's name, or "id of NAME" by whom */
	uid_t owner;        /* of the lease that is found */
	int code;
};

static const struct search_row searches[] = {
	{"own by name", ALICE, CLV_SCOPE_TENANT, "train", ALICE, 0},
	{"own before another's of that name", BOB, CLV_SCOPE_TENANT, "both", BOB, 0},
	{"own by id", ALICE, CLV_SCOPE_TENANT, "id train", ALICE, 0},
	{"not another's by name", ALICE, CLV_SCOPE_TENANT, "his", 0, -ENOENT},
	{"not another's by id", ALICE, CLV_SCOPE_TENANT, "id his", 0, -ENOENT},
	{"a viewer sees another's by id", CAROL, CLV_SCOPE_VIEWER, "id his", BOB, 0},
	{"a viewer sees another's by name", CAROL, CLV_SCOPE_VIEWER, "his", BOB, 0},
	{"an admin's own first", ALICE, CLV_SCOPE_ADMIN, "both", ALICE, 0},
	{"of two others neither", CAROL, CLV_SCOPE_ADMIN, "both", 0, -EINVAL},
	{"any tenant, by name", 0, CLV_SCOPE_TENANT, "train", ALICE, 0},
	{"any tenant, by id", 0, CLV_SCOPE_TENANT, "id his", BOB, 0},
	{"any tenant, one of two", 0, CLV_SCOPE_TENANT, "both", 0, -EINVAL},
	{"none of that name", CAROL, CLV_SCOPE_ADMIN, "none", 0, -ENOENT},
	{"none at all for a tenant", CAROL, CLV_SCOPE_TENANT, "train", 0, -ENOENT},
};

static void make_table(void)
{
	static const struct world_lease specs[] = {
		{"train", ALICE, .percent = 1},
		{"both", ALICE, .percent = 1},
		{"both", BOB, .percent = 1},
		{"his", BOB, .percent = 1},
	};
	struct clv_agent_device *device = world_device(GIB);

	for (size_t i = 0; i < CLV_ARRAY_SIZE(specs); i++)
		world_lease(device, &specs[i]);
}

static const char *id_of(const char *name)
{
	const struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(world.agent.ledger), entry)
	{
		if (strcmp(lease->record.name, name) == 0)
			return lease->record.id;
	}
	return NULL;
}

static void test_search(void **state)
{
	const struct search_row *row = *state;
	struct clv_caller caller = world_caller(row->caller);
	const char *wanted = row->wanted;
	const struct clv_lease *found;
	struct clv_error err = {0};

	make_table();
	caller.scope = row->scope;
	if (strncmp(wanted, "id ", 3) == 0)
		wanted = id_of(wanted + 3);
	found = clv_ledger_find(
		world.agent.ledger, wanted, row->caller ? &caller : NULL, &err);
	assert_int_equal(err.code, row->code);
	assert_int_equal(found != NULL, row->code == 0);
	if (found)
		assert_int_equal(found->owner, row->owner);
}

/* Users whose uids fall into one bucket of the index have separate lists of leases. */
static void test_leases_of_one_user(void **state)
{
	const uid_t same_bucket = ALICE + 4096;
	struct world_lease spec = {"a", ALICE, .percent = 1};
	struct clv_agent_device *device = world_device(GIB);
	struct clv_ledger *ledger = world.agent.ledger;
	struct clv_lease *lease = NULL;
	size_t n = 0;

	world_lease(device, &spec);
	spec = (struct world_lease){"b", same_bucket, .percent = 1};
	world_lease(device, &spec);
	spec = (struct world_lease){"c", ALICE, .percent = 1};
	world_lease(device, &spec);
	while ((lease = clv_ledger_next_of(ledger, ALICE, lease))) {
		assert_int_equal(lease->owner, ALICE);
		n++;
	}
	assert_int_equal(n, 2);
	assert_true(clv_ledger_has_name(ledger, same_bucket, "b"));
	assert_false(clv_ledger_has_name(ledger, ALICE, "b"));
	assert_null(clv_ledger_next_of(ledger, BOB, NULL));
}

/* --- Counting --- */

static void test_counts(void **state)
{
	const struct world_lease specs[] = {
		{"a", ALICE, 10, GIB / 8},
		{"b", BOB, 10, GIB / 8, .is_queued = true},
		{"c", BOB, 10, GIB / 8, .expires_real_ns = 5},
	};
	struct clv_agent_device *device = world_device(GIB);
	struct clv_lease *leases[3];

	for (size_t i = 0; i < 3; i++) {
		world.agent.ranked_ns = 7;
		leases[i] = world_lease(device, &specs[i]);
		assert_int_equal(world.agent.ranked_ns, 0);
		world_check();
	}
	assert_true(leases[0]->sequence < leases[1]->sequence &&
		    leases[1]->sequence < leases[2]->sequence);
	assert_int_equal(world.agent.n_queued, 1);
	assert_int_equal(world.agent.n_expiring, 1);
	for (size_t i = 0; i < 3; i++) {
		world.agent.ranked_ns = 7;
		world_drop(leases[(i + 1) % 3]);
		assert_int_equal(world.agent.ranked_ns, 0);
		world_check();
	}
	assert_int_equal(world.agent.n_leases, 0);
}

/* A device lists its leases oldest first, whichever lease has ended. */
static void test_order_on_a_device(void **state)
{
	struct world_lease spec = {"a", ALICE, .percent = 1};
	struct clv_agent_device *device = world_device(GIB);
	struct clv_lease *a = world_lease(device, &spec);
	struct clv_lease *b = world_lease(device, &(struct world_lease){"b", ALICE, 1});
	struct clv_lease *c = world_lease(device, &(struct world_lease){"c", ALICE, 1});

	world_drop(b);
	assert_int_equal(device->n_leases, 2);
	assert_ptr_equal(device->leases[0], a);
	assert_ptr_equal(device->leases[1], c);
}

static struct clv_lease *make_on_three(struct clv_agent_device **devices)
{
	struct clv_lease_record record = {.id = "l1", .name = "wide"};
	struct clv_lease *lease = clv_lease_new(&world.agent, devices[0], &record);

	assert_int_equal(clv_lease_add_device(lease, devices[1]), 0);
	assert_int_equal(clv_lease_add_device(lease, devices[2]), 0);
	return lease;
}

/* If the list of the n-th device cannot grow, nothing is changed. */
static void test_no_memory_to_add(void **state)
{
	struct clv_agent_device *devices[3];
	struct clv_lease *lease;

	for (size_t i = 0; i < 3; i++)
		devices[i] = world_device(GIB);
	for (unsigned int at = 1; at <= 3; at++) {
		struct clv_error err = {0};

		lease = make_on_three(devices);
		world.allocations_left = at;
		assert_int_equal(
			clv_ledger_add(world.agent.ledger, lease, &err), -ENOMEM);
		assert_int_equal(err.code, -ENOMEM);
		assert_int_equal(world.allocations_left, 0);
		world_check();
		assert_int_equal(world.agent.n_leases, 0);
		clv_lease_free(lease);
	}
	lease = make_on_three(devices);
	assert_int_equal(clv_ledger_add(world.agent.ledger, lease, NULL), 0);
	world_check();
}

/* --- What is promised --- */

struct promise_row {
	const char *name;
	struct world_lease lease;
	bool is_left_out; /* it is the one that is asked about */
	uint32_t compute_percent;
	uint64_t memory_bytes;
};

static const struct promise_row promises[] = {
	{"an active lease counts", {"a", ALICE, 30, GIB}, false, 30, GIB},
	{"one that waits does not", {"a", ALICE, 30, GIB, .is_queued = true}, false, 0,
		0},
	{"nor the one that asks", {"a", ALICE, 30, GIB}, true, 0, 0},
	{"an overcommitted one counts", {"a", ALICE, 30, GIB, .overcommit = true}, false,
		30, GIB},
	{"of a range the least counts",
		{"a", ALICE, 30, GIB, .range = {20 * PERCENT, 60 * PERCENT}}, false, 20,
		GIB},
};

static void test_promise(void **state)
{
	const struct promise_row *row = *state;
	struct clv_agent_device *device = world_device(8 * GIB);
	struct clv_lease *lease = world_lease(device, &row->lease);
	struct clv_promised promised;

	world_lease(device, &(struct world_lease){"other", BOB, 7, 3 * GIB});
	clv_promises_add_up(
		&world.agent, device, row->is_left_out ? lease : NULL, "", &promised);
	assert_int_equal(promised.compute_ppm, (row->compute_percent + 7) * PERCENT);
	assert_int_equal(promised.memory_bytes, row->memory_bytes + 3 * GIB);
}

/* --- Standing shares --- */

static void store_share(const char *name, const struct clv_agent_device *device)
{
	struct clv_standing_share share = {
		.share = {.compute_ppm = 25 * PERCENT, .memory_bytes = GIB}};

	snprintf(share.name, sizeof(share.name), "%s", name);
	snprintf(share.device_uuid, sizeof(share.device_uuid), "%s", device->info.uuid);
	assert_int_equal(
		clv_store_put_standing(world.agent.state->store, &share, NULL), 0);
}

static void load_shares(void)
{
	struct clv_error err = {0};

	clv_standing_free(world.agent.standing);
	assert_int_equal(clv_standing_new(&world.agent, &world.agent.standing, &err), 0);
}

struct standing_row {
	const char *name;
	const char *taken_by; /* a lease that is in gpu0/a: active or queued */
	const char *asked;    /* for whom it is asked */
	uint32_t percent;     /* that is promised on gpu0 */
};

static const struct standing_row standings[] = {
	{"two are set aside", NULL, "", 50},
	{"but for the one that is asked for", NULL, "gpu0/a", 25},
	{"one that is taken counts as its lease", "active", "", 25 + 10},
	{"one that is waited for stays set aside", "queued", "", 50},
};

static void test_standing(void **state)
{
	const struct standing_row *row = *state;
	struct clv_agent_device *device = world_device(8 * GIB);
	struct world_lease spec = {"a", ALICE, 10, .standing = "gpu0/a"};
	struct clv_promised promised;

	store_share("gpu0/a", device);
	store_share("gpu0/b", device);
	store_share("gpu1/a", world_device(8 * GIB));
	load_shares();
	spec.is_queued = row->taken_by && strcmp(row->taken_by, "queued") == 0;
	if (row->taken_by)
		world_lease(device, &spec);
	clv_promises_add_up(&world.agent, device, NULL, row->asked, &promised);
	assert_int_equal(promised.compute_ppm, row->percent * PERCENT);
	assert_int_equal(clv_ledger_standing(world.agent.ledger, "gpu0/a") != NULL,
		row->taken_by && !spec.is_queued);
	assert_null(clv_ledger_standing(world.agent.ledger, "gpu0/b"));
}

static void test_name_of_a_standing_share(void **state)
{
	const struct clv_standing_share share = {.name = "gpu0/1g.10gb@4/train"};

	assert_true(clv_standing_is_called(&share, "gpu0/1g.10gb@4/train"));
	assert_true(clv_standing_is_called(&share, "train"));
	assert_false(clv_standing_is_called(&share, "1g.10gb@4/train"));
	assert_false(clv_standing_is_called(&share, "rain"));
}

/* A partition that was destroyed and made again has its name and another UUID. */
static void test_made_again(void **state)
{
	struct clv_agent_device *whole = world_device(8 * GIB), *before, *again;
	struct clv_device info;

	before = world_part(whole, "1g.1gb", 0, GIB);
	info = before->info;
	snprintf(info.uuid, sizeof(info.uuid), "PART-again");
	before->is_present = false;
	assert_ptr_equal(clv_devices_find(world.agent.devices, info.name), before);
	again = clv_devices_add(world.agent.devices, &info);
	again->parent = whole;
	again->is_present = true;
	assert_ptr_equal(clv_devices_find(world.agent.devices, info.name), again);
	assert_ptr_equal(
		clv_devices_find(world.agent.devices, before->info.uuid), before);
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, searches, test_search);
	ROWS_ADD(&rows, promises, test_promise);
	ROWS_ADD(&rows, standings, test_standing);
	ROWS_ONE(&rows, test_leases_of_one_user);
	ROWS_ONE(&rows, test_counts);
	ROWS_ONE(&rows, test_order_on_a_device);
	ROWS_ONE(&rows, test_no_memory_to_add);
	ROWS_ONE(&rows, test_name_of_a_standing_share);
	ROWS_ONE(&rows, test_made_again);
	return rows_run(&rows);
}
