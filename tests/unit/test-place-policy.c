/* SPDX-License-Identifier: Apache-2.0 */
/* Policies: every row of their table, and the rules of groups. */
#include "place-world.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct clv_fleet_node_spec four_devices = {
	.model = "A", .cpu_milli = 32000, .memory_mib = 64000, .n_devices = 4};

static struct clv_placer *placer_of(struct clv_fleet *fleet, const char *policy)
{
	struct clv_place_request half = {.cpu_milli = 4000, .milli = 500, .n_devices = 1};
	struct clv_place_request whole = {
		.cpu_milli = 8000, .milli = 1000, .n_devices = 1};
	struct clv_workload workload = {0};
	struct clv_placer *placer = NULL;

	assert_int_equal(clv_workload_add(&workload, &half, 10), 0);
	assert_int_equal(clv_workload_add(&workload, &whole, 10), 0);
	clv_workload_cut(&workload, 95);
	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find(policy), &workload,
				 NULL, &placer, NULL),
		0);
	clv_workload_done(&workload);
	return placer;
}

/* Places one request and returns the place. */
static struct clv_place_at place(struct clv_fleet *fleet, struct clv_placer *placer,
	const struct clv_place_request *request)
{
	struct clv_place_at at = {.node = CLV_FLEET_NONE};
	uint32_t lease;

	if (clv_placer_find(placer, request, &at) == 0)
		assert_int_equal(clv_fleet_take(fleet, request, &at, &lease), 0);
	return at;
}

static void test_every_policy_fills_a_fleet(void **state)
{
	struct clv_place_request request = {
		.cpu_milli = 2000, .milli = 500, .n_devices = 1};

	for (size_t i = 0; i < clv_place_n_policies; i++) {
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_placer *placer;

		place_add_nodes(fleet, 3, four_devices);
		placer = placer_of(fleet, clv_place_policies[i].name);
		assert_true(clv_place_policies[i].help[0] != '\0');
		for (unsigned n = 0; n < 24; n++)
			assert_int_not_equal(
				place(fleet, placer, &request).node, CLV_FLEET_NONE);
		assert_int_equal(place(fleet, placer, &request).node, CLV_FLEET_NONE);
		assert_int_equal(fleet->held_milli, fleet->milli);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

static void test_where_the_second_goes(void **state)
{
	/* After one half on node 1: the other half goes beside it on the same device, or
	 * elsewhere. */
	/* clang-format off */
	static const struct { const char *policy; uint32_t node; uint64_t devices; } rows[] = {
		{"first-fit", 0, 1}, {"best-fit", 1, 2}, {"worst-fit", 0, 1},
		{"packing", 1, 2}, {"clustering", 1, 2}, {"fgd", 1, 2}, {"balance", 1, 2},
	};
	/* clang-format on */
	struct clv_place_request half = {.cpu_milli = 4000, .milli = 500, .n_devices = 1};
	struct clv_place_at first = {.node = 1, .devices = 2};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_placer *placer;
		struct clv_place_at at;
		uint32_t lease;

		place_add_nodes(fleet, 2, four_devices);
		placer = placer_of(fleet, rows[i].policy);
		assert_int_equal(clv_fleet_take(fleet, &half, &first, &lease), 0);
		at = place(fleet, placer, &half);
		if (at.node != rows[i].node || at.devices != rows[i].devices)
			fail_msg("%s: node %u, devices %x", rows[i].policy, at.node,
				(unsigned)at.devices);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

/* A request for any model leaves the model that others require. */
static void test_scarce_models_are_kept(void **state)
{
	struct clv_fleet_node_spec other = four_devices;
	struct clv_place_request any = {.cpu_milli = 8000, .milli = 1000, .n_devices = 1};
	struct clv_place_request only_a = any;
	struct clv_workload workload = {0};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;

	other.model = "B";
	place_add_nodes(fleet, 1, four_devices);
	place_add_nodes(fleet, 1, other);
	only_a.models = 1;
	assert_int_equal(clv_workload_add(&workload, &any, 1), 0);
	assert_int_equal(clv_workload_add(&workload, &only_a, 1), 0);
	clv_workload_cut(&workload, 100);
	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find("balance"),
				 &workload, NULL, &placer, NULL),
		0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(place(fleet, placer, &any).node, 1);
	assert_int_equal(place(fleet, placer, &only_a).node, 0);
	clv_placer_free(placer);
	clv_workload_done(&workload);
	clv_fleet_free(fleet);
}

static void test_rules_of_groups(void **state)
{
	/* The places of a gang of four on three nodes of four devices. */
	/* clang-format off */
	static const struct { enum clv_place_rule rule; uint32_t nodes[4]; } rows[] = {
		{CLV_PLACE_FREE, {0, 0, 0, 0}},
		{CLV_PLACE_TOGETHER, {0, 0, 0, 0}},
		{CLV_PLACE_APART, {0, 1, 2, CLV_FLEET_NONE}},
		{CLV_PLACE_SPREAD, {0, 1, 2, 0}},
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_place_request request = {
			.milli = 1000, .n_devices = 1, .rule = rows[i].rule, .group = 7};
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_placer *placer;

		place_add_nodes(fleet, 3, four_devices);
		placer = placer_of(fleet, "first-fit");
		for (unsigned n = 0; n < 4; n++)
			assert_int_equal(
				place(fleet, placer, &request).node, rows[i].nodes[n]);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

/* Leases of a group that come one by one stay in the rack of the first; a node without a
 * rack is in none. */
static void test_one_rack(void **state)
{
	static const char *const racks[] = {"", "r1", "r2", "r1"};
	struct clv_place_request request = {
		.milli = 1000, .n_devices = 3, .rule = CLV_PLACE_ONE_RACK, .group = 7};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;

	for (unsigned i = 0; i < 4; i++) {
		struct clv_fleet_node_spec spec = four_devices;

		spec.rack = racks[i];
		place_add_nodes(fleet, 1, spec);
	}
	assert_int_equal(fleet->n_racks, 2);
	assert_int_equal(fleet->nodes[0].rack, 0);
	assert_int_equal(clv_fleet_find_rack(fleet, "r2"), 2);
	assert_int_equal(clv_fleet_find_rack(fleet, "r3"), 0);
	placer = placer_of(fleet, "first-fit");
	assert_int_equal(place(fleet, placer, &request).node, 1);
	assert_int_equal(place(fleet, placer, &request).node, 3);
	assert_int_equal(place(fleet, placer, &request).node, CLV_FLEET_NONE);
	request.group = 8;
	assert_int_equal(place(fleet, placer, &request).node, 2);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* The devices of a request are joined by NVLink, in the smallest set that suffices, and
 * on one NUMA node too if both are wanted. */
static void test_joined_by_nvlink(void **state)
{
	/* Of the free devices of one node with eight. */
	/* clang-format off */
	static const struct {
		uint8_t n_linked, n_numa, n_devices;
		bool same_numa;
		uint64_t used, devices; /* devices 0: it does not fit */
	} rows[] = {
		{0, 1, 2, false, 0,    0},
		{1, 1, 2, false, 0,    0},
		{0, 1, 1, false, 0,    0x01},
		{2, 1, 2, false, 0x05, 0x30},
		{2, 1, 3, false, 0,    0},
		{4, 1, 2, false, 0x03, 0x0c},
		{4, 1, 2, false, 0x0f, 0x30},
		{4, 1, 4, false, 0x10, 0x0f},
		{4, 1, 4, false, 0x11, 0},
		{8, 1, 8, false, 0,    0xff},
		{8, 2, 4, true,  0x01, 0xf0},
		{8, 2, 5, true,  0,    0},
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_place_request request = {.milli = 1000,
			.n_devices = rows[i].n_devices,
			.same_numa = rows[i].same_numa,
			.same_link = true};
		struct clv_place_request whole = {.milli = 1000, .n_devices = 1};
		struct clv_fleet_node_spec spec = {.model = "A",
			.n_devices = 8,
			.n_numa = rows[i].n_numa,
			.n_linked = rows[i].n_linked};
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_place_at at = {0}, found;
		struct clv_placer *placer;
		uint32_t lease;

		place_add_nodes(fleet, 1, spec);
		for (uint64_t left = rows[i].used; left; left &= left - 1) {
			at.devices = left & -left;
			assert_int_equal(clv_fleet_take(fleet, &whole, &at, &lease), 0);
		}
		placer = placer_of(fleet, "fgd");
		found = place(fleet, placer, &request);
		assert_int_equal(found.node == 0 ? found.devices : 0, rows[i].devices);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

static void test_together_does_not_leave(void **state)
{
	struct clv_place_request request = {
		.milli = 1000, .n_devices = 4, .rule = CLV_PLACE_TOGETHER, .group = 7};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;

	place_add_nodes(fleet, 2, four_devices);
	placer = placer_of(fleet, "first-fit");
	assert_int_equal(place(fleet, placer, &request).node, 0);
	assert_int_equal(place(fleet, placer, &request).node, CLV_FLEET_NONE);
	request.group = 8;
	assert_int_equal(place(fleet, placer, &request).node, 1);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

static void test_alone_in_class(void **state)
{
	struct clv_place_request request = {.milli = 100,
		.n_devices = 1,
		.class = CLV_CLASS_LATENCY,
		.alone_in_class = true};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;
	uint64_t devices = 0;

	place_add_nodes(fleet, 1, four_devices);
	placer = placer_of(fleet, "balance");
	for (unsigned i = 0; i < 4; i++)
		devices |= place(fleet, placer, &request).devices;
	assert_int_equal(devices, 15);
	assert_int_equal(place(fleet, placer, &request).node, CLV_FLEET_NONE);
	request.class = CLV_CLASS_BATCH;
	assert_int_equal(place(fleet, placer, &request).node, 0);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* Nodes that differ only in the classes of their leases have separate scores. */
static void test_classes_are_part_of_the_state(void **state)
{
	struct clv_place_request small = {
		.milli = 500, .n_devices = 1, .class = CLV_CLASS_BATCH};
	struct clv_place_request latency = {
		.milli = 500, .n_devices = 1, .class = CLV_CLASS_LATENCY};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_at at = {.devices = 1};
	uint32_t lease;

	place_add_nodes(fleet, 2, four_devices);
	assert_true(fleet->nodes[0].state == fleet->nodes[1].state);
	assert_int_equal(clv_fleet_take(fleet, &small, &at, &lease), 0);
	at.node = 1;
	assert_int_equal(clv_fleet_take(fleet, &latency, &at, &lease), 0);
	assert_true(fleet->nodes[0].state != fleet->nodes[1].state);
	clv_fleet_free(fleet);
}

/* The room on a node depends on its free memory, and on the kind of the node. */
static void test_memory_is_part_of_the_state(void **state)
{
	struct clv_fleet_node_spec larger = four_devices, more_cpu = four_devices;
	struct clv_place_request memory = {.memory_mib = 1000};
	struct clv_place_request cpu = {.cpu_milli = 1000};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_at at = {.node = 0};
	uint32_t lease;

	larger.memory_mib += memory.memory_mib;
	more_cpu.cpu_milli += cpu.cpu_milli;
	place_add_nodes(fleet, 2, four_devices);
	place_add_nodes(fleet, 1, larger);
	place_add_nodes(fleet, 1, more_cpu);
	assert_int_equal(clv_fleet_take(fleet, &memory, &at, &lease), 0);
	assert_true(fleet->nodes[0].state != fleet->nodes[1].state);
	assert_int_equal(clv_fleet_release(fleet, lease), 0);
	assert_true(fleet->nodes[0].state == fleet->nodes[1].state);
	at.node = 2;
	assert_int_equal(clv_fleet_take(fleet, &memory, &at, &lease), 0);
	assert_true(fleet->nodes[2].state != fleet->nodes[1].state);
	at.node = 3;
	assert_int_equal(clv_fleet_take(fleet, &cpu, &at, &lease), 0);
	assert_true(fleet->nodes[3].state != fleet->nodes[1].state);
	clv_fleet_free(fleet);
}

static void test_empty_fleet_and_no_workload(void **state)
{
	struct clv_place_request request = {.milli = 100, .n_devices = 1};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer = placer_of(fleet, "balance");
	struct clv_error err = {0};
	struct clv_place_at at;

	assert_int_equal(clv_placer_find(placer, &request, &at), -ENOSPC);
	clv_placer_free(placer);
	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find("fgd"), NULL, NULL,
				 &placer, &err),
		-EINVAL);
	assert_null(clv_place_policy_find("none such"));
	clv_fleet_free(fleet);
}

/* A node of whole devices, by the I/O die of each: "0011", "-" unknown; those in the
 * bitmap are in use. */
static void add_dies(struct clv_fleet *fleet, const char *text, uint64_t used)
{
	struct clv_place_request whole = {.milli = 1000, .n_devices = 1};
	struct clv_place_at at = {.node = fleet->n_nodes};
	uint8_t dies[CLV_PLACE_DEVICES_MAX] = {0};
	struct clv_fleet_node_spec spec = {
		.model = "A", .n_devices = (uint8_t)strlen(text), .dies = dies};
	uint32_t lease;

	for (size_t i = 0; text[i] != '\0'; i++)
		dies[i] = text[i] == '-' ? 0 : (uint8_t)(text[i] - '0' + 1);
	place_add_nodes(fleet, 1, spec);
	for (; used; used &= used - 1) {
		at.devices = used & -used;
		assert_int_equal(clv_fleet_take(fleet, &whole, &at, &lease), 0);
	}
}

static void test_on_few_dies(void **state)
{
	/* clang-format off */
	static const struct {
		const char *dies;
		uint64_t used, expected;
		uint8_t n;
	} rows[] = {
		{"00112233", 0x00, 0x03, 2},
		{"00112233", 0x01, 0x0c, 2},     /* not beside the lease on the first die */
		{"00112233", 0x15, 0xc0, 2},     /* the only die that has two */
		{"00112233", 0x05, 0xf0, 4},     /* two whole dies, not four */
		{"00112233", 0x04, 0x0b, 3},     /* a die and what is left of another */
		{"00112233", 0x00, 0x07, 3},
		{"00112233", 0x55, 0x2a, 3},     /* no die has two: the first */
		{"00001111", 0x03, 0x0c, 2},     /* the die with the fewest that are enough */
		{"00001111", 0x01, 0xf0, 4},
		{"00001111", 0x01, 0xf2, 5},
		{"01010101", 0x00, 0x05, 2},     /* wherever they are in the node */
		{"--------", 0x01, 0x06, 2},
		{"00112233", 0x01, 0x02, 1},     /* one goes where a die is in use already */
		{"00112233", 0x10, 0x20, 1},
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_place_request request = {
			.milli = 1000, .n_devices = rows[i].n};
		struct clv_fleet *fleet = clv_fleet_new();
		struct clv_placer *placer;

		add_dies(fleet, rows[i].dies, rows[i].used);
		placer = placer_of(fleet, "balance");
		assert_int_equal(
			place(fleet, placer, &request).devices, rows[i].expected);
		clv_placer_free(placer);
		clv_fleet_free(fleet);
	}
}

/* How much is free decides first; the first-fit policy takes the first. */
static void test_dies_only_break_ties(void **state)
{
	struct clv_place_request third = {.milli = 300, .n_devices = 1};
	struct clv_place_request request = {.milli = 500, .n_devices = 2};
	struct clv_place_at at = {.devices = 0x01};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;
	uint32_t lease;

	add_dies(fleet, "0011", 0);
	assert_int_equal(clv_fleet_take(fleet, &third, &at, &lease), 0);
	at.devices = 0x04;
	assert_int_equal(clv_fleet_take(fleet, &third, &at, &lease), 0);
	placer = placer_of(fleet, "packing");
	assert_int_equal(clv_placer_find(placer, &request, &at), 0);
	assert_int_equal(at.devices, 0x05);
	clv_placer_free(placer);
	clv_fleet_free(fleet);

	fleet = clv_fleet_new();
	add_dies(fleet, "00112233", 0x01);
	placer = placer_of(fleet, "first-fit");
	request.milli = 1000;
	assert_int_equal(clv_placer_find(placer, &request, &at), 0);
	assert_int_equal(at.devices, 0x06);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* Of nodes with equal scores. */
static void test_node_with_fewest_dies(void **state)
{
	static const struct clv_place_request requests[] = {
		{.milli = 1000, .n_devices = 2}, {.milli = 1000, .n_devices = 2},
		{.milli = 1000, .n_devices = 2}};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_place_at at;
	struct clv_placer *placer;

	add_dies(fleet, "0011", 0x05);
	add_dies(fleet, "0011", 0x03);
	add_dies(fleet, "0011", 0x0c);
	placer = placer_of(fleet, "balance");
	assert_int_equal(clv_placer_find_each(placer, requests, &at), 0);
	assert_int_equal(at.node, 1);
	assert_int_equal(at.devices, 0x0c);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

/* The array of dies grows with the fleet, and nodes without any have unknown ones. */
static void test_dies_of_a_large_fleet(void **state)
{
	struct clv_place_request request = {.milli = 1000, .n_devices = 2};
	struct clv_fleet *fleet = clv_fleet_new(), *copy;
	struct clv_fleet_node_spec plain = {.model = "A", .n_devices = 8};
	size_t bytes;

	place_add_nodes(fleet, 20, plain);
	bytes = clv_fleet_bytes(fleet);
	add_dies(fleet, "0101", 0);
	assert_true(clv_fleet_bytes(fleet) > bytes);
	place_add_nodes(fleet, 40, plain);
	add_dies(fleet, "0110", 0);
	copy = clv_fleet_copy(fleet);
	clv_fleet_free(fleet);
	for (uint32_t i = 0; i < copy->n_nodes; i++) {
		struct clv_place_at at;

		clv_pick_devices(copy, &copy->nodes[i], &request, CLV_PICK_TIGHTEST, &at);
		assert_int_equal(at.devices, i == 20 ? 0x05 : i == 61 ? 0x09 : 0x03);
		assert_int_equal(
			clv_pick_count_dies(copy, &copy->nodes[i], at.devices), 1);
	}
	clv_fleet_free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_policy_fills_a_fleet),
		cmocka_unit_test(test_where_the_second_goes),
		cmocka_unit_test(test_scarce_models_are_kept),
		cmocka_unit_test(test_rules_of_groups),
		cmocka_unit_test(test_one_rack),
		cmocka_unit_test(test_joined_by_nvlink),
		cmocka_unit_test(test_together_does_not_leave),
		cmocka_unit_test(test_alone_in_class),
		cmocka_unit_test(test_classes_are_part_of_the_state),
		cmocka_unit_test(test_memory_is_part_of_the_state),
		cmocka_unit_test(test_empty_fleet_and_no_workload),
		cmocka_unit_test(test_on_few_dies),
		cmocka_unit_test(test_dies_only_break_ties),
		cmocka_unit_test(test_node_with_fewest_dies),
		cmocka_unit_test(test_dies_of_a_large_fleet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
