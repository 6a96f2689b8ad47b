/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants have, and whether one more lease is within their allowance. */
#include "rows.h"

#include "agent/api/show/item-list.h"
#include "agent/http/http.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/tenants.h"
#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Alice has two leases on devices of 8 GiB: one of 50 % and 2 GiB, and one of 30 % and 1
 * GiB on each of two devices; and a queued one. */
static struct clv_lease *make_leases(void)
{
	struct clv_agent_device *device = world_device(8 * GIB);
	struct clv_lease *single, *wide;

	single = world_lease(device, &(struct world_lease){"a", ALICE, 50, 2 * GIB});
	wide = world_lease(device, &(struct world_lease){"b", ALICE, 30, GIB});
	clv_ledger_remove(world.agent.ledger, wide);
	clv_lease_add_device(wide, world_device(8 * GIB));
	clv_ledger_add(world.agent.ledger, wide, NULL);
	world_lease(device,
		&(struct world_lease){"c", ALICE, 90, 8 * GIB, .is_queued = true});
	world_lease(device, &(struct world_lease){"d", BOB, 10, GIB});
	return single;
}

struct check_row {
	const char *name;
	uid_t owner;
	struct clv_allowance allowance; /* of all users */
	bool without_single;
	uint32_t percent;
	uint64_t memory_bytes;
	enum clv_class class;
	const char *profile;
	int code;
};

#define MOST(percent_)                            \
	{                                         \
		.compute_ppm = (percent_)*PERCENT \
	}

/* clang-format off */
static const struct check_row checks[] = {
	{"compute of all devices, just enough", ALICE, MOST(120), false, 10, 0, 0, "", 0},
	{"compute, too much beside the others", ALICE, MOST(119), false, 10, 0, 0, "", -EBUSY},
	{"compute, more than all of it", ALICE, MOST(9), false, 10, 0, 0, "", -EPERM},
	{"one that is resized does not count", ALICE, MOST(70), true, 10, 0, 0, "", 0},
	{"but for it all do", ALICE, MOST(69), true, 10, 0, 0, "", -EBUSY},
	{"memory, just enough", ALICE, {.memory_bytes = 5 * GIB}, false, 1, GIB, 0, "", 0},
	{"memory, a byte too much", ALICE, {.memory_bytes = 5 * GIB}, false, 1, GIB + 1, 0, "",
		-EBUSY},
	{"one that waits is no lease yet", ALICE, {.leases = 3}, false, 1, 0, 0, "", 0},
	{"as many leases as allowed", ALICE, {.leases = 2}, false, 1, 0, 0, "", -EBUSY},
	{"another's leases do not count", BOB, MOST(20), false, 10, 0, 0, "", 0},
	{"a user who has nothing", CAROL, MOST(10), false, 10, 0, 0, "", 0},
	{"a class", CAROL, {.classes = 1u << CLV_CLASS_BATCH}, false, 1, 0, CLV_CLASS_BATCH, "",
		0},
	{"a class that is not allowed", CAROL, {.classes = 1u << CLV_CLASS_BATCH}, false, 1, 0,
		CLV_CLASS_LATENCY, "", -EPERM},
	{"a profile", CAROL, {.profiles = {"1g.10gb"}, .n_profiles = 1}, false, 1, 0, 0,
		"1g.10gb", 0},
	{"a profile that is not allowed", CAROL, {.profiles = {"1g.10gb"}, .n_profiles = 1}, false,
		1, 0, 0, "7g.80gb", -EPERM},
	{"a whole device has no profile", CAROL, {.profiles = {"1g.10gb"}, .n_profiles = 1}, false,
		1, 0, 0, "", 0},
	{"root may have anything", 0, MOST(1), false, 90, 0, 0, "", 0},
};
/* clang-format on */

static void test_check(void **state)
{
	const struct check_row *row = *state;
	struct clv_config_tenant tenant = {.allowance = row->allowance};
	struct clv_share wanted = {.compute_ppm = row->percent * PERCENT,
		.memory_bytes = row->memory_bytes,
		.class = row->class};
	struct clv_tenant who = {row->owner, row->owner, "a user"};
	struct clv_lease *single = make_leases();
	struct clv_error err = {0};

	world.settings.tenants = &tenant;
	world.settings.n_tenants = 1;
	assert_int_equal(
		clv_tenants_check(&world.agent, who, row->without_single ? single : NULL,
			&wanted, row->profile, &err),
		row->code);
	assert_int_equal(err.code, row->code);
}

/* No allowance applies to the agent's own user, and without settings to no user. */
static void test_who_is_free(void **state)
{
	struct clv_config_tenant tenant = {.allowance = {.compute_ppm = 1}};
	struct clv_share wanted = {.compute_ppm = 50 * PERCENT};
	struct clv_tenant own = {geteuid(), 0, "own"}, alice = {ALICE, 0, "alice"};
	struct clv_allowance allowance;

	assert_int_equal(
		clv_tenants_check(&world.agent, alice, NULL, &wanted, "", NULL), 0);
	world.settings.tenants = &tenant;
	world.settings.n_tenants = 1;
	assert_int_equal(
		clv_tenants_check(&world.agent, own, NULL, &wanted, "", NULL), 0);
	assert_int_equal(
		clv_tenants_check(&world.agent, alice, NULL, &wanted, "", NULL), -EPERM);
	clv_tenants_get_allowance(&world.agent, own, &allowance);
	assert_int_equal(allowance.compute_ppm, 0);
	clv_tenants_get_allowance(&world.agent, alice, &allowance);
	assert_int_equal(allowance.compute_ppm, 1);
}

/* The first entry that matches the tenant is its allowance. */
static void test_whose_allowance(void **state)
{
	struct clv_config_tenant tenants[] = {
		{{.name = "alice"}, {.leases = 7}},
		{{.name = ""}, {.leases = 3}},
	};
	struct clv_allowance allowance;

	world.settings.tenants = tenants;
	world.settings.n_tenants = 2;
	clv_tenants_get_allowance(
		&world.agent, (struct clv_tenant){ALICE, 0, "alice"}, &allowance);
	assert_int_equal(allowance.leases, 7);
	clv_tenants_get_allowance(
		&world.agent, (struct clv_tenant){BOB, 0, "bob"}, &allowance);
	assert_int_equal(allowance.leases, 3);
}

static void test_use_of_several_devices(void **state)
{
	struct clv_lease *single = make_leases();
	struct clv_lease *wide = TAILQ_NEXT(single, entry);
	struct clv_allowance_use use = {0};

	/* The lease with several devices was added last. */
	while (wide->n_others == 0)
		wide = TAILQ_NEXT(wide, entry);
	clv_tenants_add_use(single, &use);
	assert_int_equal(use.compute_ppm, 50 * PERCENT);
	clv_tenants_add_use(wide, &use);
	assert_int_equal(use.leases, 2);
	assert_int_equal(use.compute_ppm, (50 + 2 * 30) * PERCENT);
	assert_int_equal(use.memory_bytes, 4 * GIB);
	/* A range counts with its upper bound. */
	single->record.share.range = (struct clv_share_range){PERCENT, 70 * PERCENT};
	use = (struct clv_allowance_use){0};
	clv_tenants_add_use(single, &use);
	assert_int_equal(use.compute_ppm, 70 * PERCENT);
}

static int count_of(uid_t uid)
{
	return clv_tenants_check_count(
		&world.agent, (struct clv_tenant){uid, uid, "a user"}, NULL);
}

/* Independently of the settings the number of leases of a user is limited, queued ones
 * included. */
static void test_count(void **state)
{
	struct clv_agent_device *device = world_device(8 * GIB);
	struct world_lease spec = {"x", ALICE, .is_queued = true};

	for (unsigned int i = 0; i < CLV_TENANT_LEASES_MAX - 1; i++)
		world_lease(device, &spec);
	assert_int_equal(count_of(ALICE), 0);
	world_lease(device, &(struct world_lease){"last", ALICE});
	assert_int_equal(count_of(ALICE), -EBUSY);
	assert_int_equal(count_of(BOB), 0);
	assert_int_equal(count_of(0), 0);
	assert_int_equal(count_of(geteuid()), 0);
}

/* --- As people see them --- */

static const json_t *entry_of(const json_t *items, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach (items, i, item) {
		if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
			return item;
	}
	return NULL;
}

struct seen_row {
	const char *name;
	uid_t uid;
	enum clv_scope scope;
	const char *sees;
};

/* The settings name zoe, who is no user of this machine; bob and alice have leases. */
static const struct seen_row seen[] = {
	{"a tenant sees himself", BOB, CLV_SCOPE_TENANT, "bob"},
	{"also one who has nothing", CAROL, CLV_SCOPE_TENANT, "carol"},
	{"a viewer sees all", CAROL, CLV_SCOPE_VIEWER, "alice bob zoe"},
	{"an admin sees all", BOB, CLV_SCOPE_ADMIN, "alice bob zoe"},
};

static void test_seen(void **state)
{
	static const char *const everybody[] = {"alice", "bob", "carol", "zoe"};
	struct clv_config_tenant tenant = {{.name = "zoe"}, {.leases = 7}};
	const struct seen_row *row = *state;
	struct clv_caller caller = world_caller(row->uid);
	json_t *items;

	make_leases();
	world.settings.tenants = &tenant;
	world.settings.n_tenants = 1;
	caller.scope = row->scope;
	assert_int_equal(clv_tenants_to_json(&world.agent, &caller, &items), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(entry_of(items, everybody[i]) != NULL,
			strstr(row->sees, everybody[i]) != NULL);
	json_decref(items);
}

static void test_figures(void **state)
{
	struct clv_caller caller = world_caller(CAROL);
	const json_t *alice;
	json_t *items;

	make_leases()->record.held_ns = UINT64_C(2500000000);
	caller.scope = CLV_SCOPE_ADMIN;
	assert_int_equal(clv_tenants_to_json(&world.agent, &caller, &items), 0);
	alice = entry_of(items, "alice");
	assert_int_equal(json_integer_value(json_object_get(alice, "leases")), 2);
	assert_int_equal(json_integer_value(json_object_get(alice, "queued")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(alice, "memory_bytes")), 4 * GIB);
	assert_true(json_real_value(json_object_get(alice, "share")) == 1.1);
	assert_true(json_real_value(json_object_get(alice, "gpu_seconds")) == 2.5);
	json_decref(items);
}

/* Of a list that is made text item by item, as of an answer. */
static void test_holders_in_lists(void **state)
{
	static const enum clv_scope scopes[] = {CLV_SCOPE_TENANT, CLV_SCOPE_ADMIN};
	const char *id = make_leases()->record.id;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(scopes); i++) {
		struct clv_request request = {
			.agent = &world.agent, .caller = world_caller(BOB)};
		struct clv_item_list list = {0};
		json_t *item = json_pack("{s:[{s:s,s:i,s:s}]}", "holders", "lease", id,
			"pid", 1, "text", "lease a of alice");

		request.caller.scope = scopes[i];
		clv_item_list_add(&list, &request, item);
		assert_int_equal(clv_item_list_answer(&list, json_pack("{s:n}", "next"),
					 &request, NULL),
			0);
		assert_int_equal(
			memmem(request.text, request.n_bytes, "alice", 5) != NULL,
			scopes[i] == CLV_SCOPE_ADMIN);
		free(request.text);
	}
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, checks, test_check);
	ROWS_ADD(&rows, seen, test_seen);
	ROWS_ONE(&rows, test_who_is_free);
	ROWS_ONE(&rows, test_whose_allowance);
	ROWS_ONE(&rows, test_use_of_several_devices);
	ROWS_ONE(&rows, test_count);
	ROWS_ONE(&rows, test_figures);
	ROWS_ONE(&rows, test_holders_in_lists);
	return rows_run(&rows);
}
