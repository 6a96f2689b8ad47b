/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the queue: for each row it is written down by hand. */
#include "rows.h"

#include "agent/ledger/ledger.h"
#include "agent/ledger/queue.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASES_MAX 8

/* In the order of their creation. */
struct spec {
	char name; /* lower case: queued; upper case: active */
	uid_t uid;
	uint32_t percent;
	const char *devices; /* "0", "1", "01": the first is the lease's own */
	struct clv_share_range range;
};

struct order_row {
	const char *name;
	struct spec specs[LEASES_MAX];
	const char *first[2];  /* on gpu0 and gpu1 */
	const char *positions; /* of the queued leases, in the order of their creation */
	uint32_t most_leases;  /* of each user; 0: no limit */
};

/* clang-format off */
static const struct order_row orders[] = {
	{"no lease waits",
		{{'A', ALICE, 50, "0"}}, {"", ""}, ""},
	{"one user's in the order in which they came",
		{{'a', ALICE, 90, "0"}, {'b', ALICE, 10, "0"}}, {"a", ""}, "12"},
	{"of two users, who would have less",
		{{'a', ALICE, 60, "0"}, {'b', BOB, 40, "0"}}, {"b", ""}, "21"},
	{"of two who would have the same, who came first",
		{{'a', ALICE, 50, "0"}, {'b', BOB, 50, "0"}}, {"a", ""}, "12"},
	{"what one has already counts",
		{{'A', ALICE, 30, "0"}, {'a', ALICE, 10, "0"}, {'b', BOB, 30, "0"}},
		{"b", ""}, "21"},
	{"on other devices too",
		{{'A', ALICE, 30, "1"}, {'a', ALICE, 10, "0"}, {'b', BOB, 30, "0"}},
		{"b", ""}, "21"},
	{"what one waits for longer counts: users take turns",
		{{'a', ALICE, 20, "0"}, {'b', ALICE, 20, "0"}, {'c', ALICE, 20, "0"},
		 {'d', BOB, 30, "0"}}, {"a", ""}, "1342"},
	{"one of many does not keep one with a single request waiting",
		{{'a', ALICE, 10, "0"}, {'b', ALICE, 10, "0"}, {'c', ALICE, 10, "0"},
		 {'d', ALICE, 10, "0"}, {'e', CAROL, 15, "0"}}, {"a", ""}, "13452"},
	{"each device has its own line",
		{{'a', ALICE, 50, "0"}, {'b', BOB, 50, "1"}, {'c', CAROL, 10, "1"}},
		{"a", "c"}, "121"},
	{"a lease on two devices is in both lines",
		{{'a', ALICE, 100, "01"}, {'b', BOB, 10, "1"}}, {"a", "b"}, "11"},
	{"and counts for each of its devices",
		{{'a', ALICE, 60, "01"}, {'b', BOB, 100, "0"}}, {"b", "a"}, "21"},
	{"those behind it on its second device are behind it",
		{{'a', ALICE, 10, "01"}, {'b', BOB, 50, "1"}}, {"a", "a"}, "12"},
	{"of a range the least counts",
		{{'a', ALICE, 50, "0", {20 * PERCENT, 90 * PERCENT}}, {'b', BOB, 30, "0"}},
		{"a", ""}, "12"},
	{"one whose allowance is used up is behind all others",
		{{'A', ALICE, 10, "1"}, {'a', ALICE, 10, "0"}, {'b', BOB, 90, "0"}},
		{"b", ""}, "21", 1},
	{"and is not served, even alone",
		{{'A', ALICE, 10, "1"}, {'a', ALICE, 10, "0"}}, {"", ""}, "1", 1},
};
/* clang-format on */

static struct clv_lease *add(const struct spec *spec)
{
	char name[2] = {spec->name};
	struct world_lease wanted = {.name = name,
		.uid = spec->uid,
		.percent = spec->percent,
		.is_queued = spec->name >= 'a',
		.range = spec->range};
	struct clv_agent_device *device =
		clv_devices_at(world.agent.devices, (size_t)(spec->devices[0] - '0'));
	struct clv_lease *lease = world_lease(device, &wanted);

	if (spec->devices[1] == '\0')
		return lease;
	/* Its devices are known before it is listed. */
	clv_ledger_remove(world.agent.ledger, lease);
	assert_int_equal(
		clv_lease_add_device(lease, clv_devices_at(world.agent.devices,
						    (size_t)(spec->devices[1] - '0'))),
		0);
	assert_int_equal(clv_ledger_add(world.agent.ledger, lease, NULL), 0);
	return lease;
}

/* The first of a device's own queue. */
static const char *first_on(const struct clv_agent_device *device)
{
	size_t n;
	struct clv_lease **queued = clv_queue_list(world.agent.ledger, &n);
	const char *name = "";

	for (size_t i = 0; i < n && name[0] == '\0'; i++) {
		if (clv_lease_is_on(queued[i], device))
			name = queued[i]->record.name;
	}
	free(queued);
	return name;
}

static void check_order(const struct order_row *row)
{
	char positions[LEASES_MAX + 1] = "";
	const struct clv_lease *lease;
	size_t n = 0;

	for (size_t i = 0; i < 2; i++)
		assert_string_equal(
			first_on(clv_devices_at(world.agent.devices, i)), row->first[i]);
	TAILQ_FOREACH(lease, clv_ledger_leases(world.agent.ledger), entry)
	{
		if (lease->record.is_queued)
			positions[n++] = (char)('0' + clv_queue_position(lease));
		else
			assert_int_equal(clv_queue_position(lease), 0);
	}
	assert_string_equal(positions, row->positions);
}

static void test_order(void **state)
{
	const struct order_row *row = *state;
	struct clv_config_tenant tenant = {.allowance = {.leases = row->most_leases}};

	world_device(GIB);
	world_device(GIB);
	world.settings.tenants = &tenant;
	world.settings.n_tenants = row->most_leases > 0;
	for (size_t i = 0; i < LEASES_MAX && row->specs[i].name; i++)
		add(&row->specs[i]);
	check_order(row);
	check_order(row); /* a second query gives the same order */
}

/* The members of groups change without a notification: positions are computed again after
 * a second, and at once after a change of the ledger. */
static void test_positions_are_kept_for_a_second(void **state)
{
	struct clv_agent_device *device = world_device(GIB);
	struct clv_lease *lease;

	world_lease(device, &(struct world_lease){"a", ALICE, 60, .is_queued = true});
	lease = world_lease(
		device, &(struct world_lease){"b", BOB, 40, .is_queued = true});
	assert_int_equal(clv_queue_position(lease), 1);
	lease->record.share.compute_ppm = 90 * PERCENT; /* without a notification */
	world.now_ns += CLV_NS_PER_S - 1;
	assert_int_equal(clv_queue_position(lease), 1);
	world.now_ns += 1;
	assert_int_equal(clv_queue_position(lease), 2);
	lease->record.share.compute_ppm = 40 * PERCENT;
	world_drop(world_lease(device, &(struct world_lease){"c", BOB, 1}));
	assert_int_equal(clv_queue_position(lease), 1);
}

/* Without memory for a user's sums its lease is ranked last, but still is in the queue.
 */
static void test_no_memory(void **state)
{
	struct clv_agent_device *device = world_device(GIB);

	world_lease(device, &(struct world_lease){"a", ALICE, 10, .is_queued = true});
	world_lease(device, &(struct world_lease){"b", BOB, 40, .is_queued = true});
	world.allocations_left = 1;
	assert_string_equal(first_on(device), "b");
	assert_string_equal(first_on(device), "a");
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, orders, test_order);
	ROWS_ONE(&rows, test_positions_are_kept_for_a_second);
	ROWS_ONE(&rows, test_no_memory);
	return rows_run(&rows);
}
