/* SPDX-License-Identifier: Apache-2.0 */
/* Power: what nodes draw, what placements add, and the policies that count it. */
#include "place-world.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/fleet/power.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two sockets of 16 processors. */
static const struct clv_fleet_power small = {.device_idle_w = 10,
	.device_full_w = 70,
	.socket_idle_w = 20,
	.socket_full_w = 120,
	.socket_milli = 16000};
static const struct clv_fleet_power large = {.device_idle_w = 50,
	.device_full_w = 400,
	.socket_idle_w = 20,
	.socket_full_w = 120,
	.socket_milli = 16000};

static void add(struct clv_fleet *fleet, unsigned n, const char *model,
	const struct clv_fleet_power *power)
{
	place_add_nodes(fleet, n,
		(struct clv_fleet_node_spec){.model = model,
			.cpu_milli = 32000,
			.memory_mib = 64000,
			.n_devices = 4,
			.power = *power});
}

static uint32_t take(struct clv_fleet *fleet, uint32_t node, uint64_t devices,
	uint32_t cpu_milli, uint16_t milli)
{
	struct clv_place_request request = {.cpu_milli = cpu_milli,
		.milli = milli,
		.n_devices = (uint8_t)__builtin_popcountll(devices)};
	struct clv_place_at at = {.node = node, .devices = devices};
	uint32_t lease = 0, added = clv_fleet_watts_added(
				    fleet, &fleet->nodes[node], cpu_milli, devices);
	uint64_t before = fleet->watts;

	assert_int_equal(clv_fleet_take(fleet, &request, &at, &lease), 0);
	assert_int_equal(fleet->watts - before, added);
	assert_null(clv_fleet_audit(fleet));
	return lease;
}

static void test_what_a_node_draws(void **state)
{
	enum { IDLE_W = 4 * 10 + 2 * 20 };
	struct clv_fleet *fleet = clv_fleet_new();
	uint32_t first, second, third;

	add(fleet, 1, "A", &small);
	assert_int_equal(fleet->watts, IDLE_W);
	/* A device and a socket draw all of their power for a part of them. */
	first = take(fleet, 0, 1, 1000, 100);
	assert_int_equal(fleet->watts, IDLE_W + 60 + 100);
	second = take(fleet, 0, 1, 15000, 900);
	assert_int_equal(fleet->watts, IDLE_W + 60 + 100);
	third = take(fleet, 0, 6, 1000, 1000);
	assert_int_equal(fleet->watts, IDLE_W + 3 * 60 + 2 * 100);
	clv_fleet_release(fleet, first);
	assert_int_equal(fleet->watts, IDLE_W + 3 * 60 + 100);
	clv_fleet_release(fleet, second);
	clv_fleet_release(fleet, third);
	assert_int_equal(fleet->watts, IDLE_W);
	clv_fleet_free(fleet);
}

static void test_lost_and_unknown_nodes_draw_nothing(void **state)
{
	static const struct clv_fleet_power unknown;
	struct clv_fleet *fleet = clv_fleet_new(), *copy;

	add(fleet, 1, "A", &unknown);
	assert_int_equal(take(fleet, 0, 1, 1000, 100), 0);
	assert_int_equal(fleet->watts, 0);
	add(fleet, 2, "A", &small);
	add(fleet, 1, "B", &large);
	assert_int_equal(fleet->n_powers, 2);
	take(fleet, 1, 1, 1000, 100);
	assert_int_equal(clv_fleet_lose_node(fleet, 1, NULL, NULL), 0);
	assert_int_equal(fleet->watts, 80 + 240);
	copy = clv_fleet_copy(fleet);
	clv_fleet_free(fleet);
	assert_int_equal(clv_fleet_return_node(copy, 1), 0);
	assert_int_equal(copy->watts, 2 * 80 + 240);
	assert_null(clv_fleet_audit(copy));
	clv_fleet_free(copy);
}

static void test_powers_that_are_wrong(void **state)
{
	static const struct clv_fleet_power wrong[] = {
		{.device_idle_w = 300, .device_full_w = 30},
		{.socket_idle_w = 300},
		{.device_full_w = CLV_FLEET_WATTS_MAX + 1},
		{.socket_full_w = 100, .socket_milli = 1},
	};
	struct clv_fleet *fleet = clv_fleet_new();

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct clv_fleet_node_spec spec = {
			.model = "A", .cpu_milli = 32000, .n_devices = 1};
		struct clv_error err = {0};

		spec.power = wrong[i];
		assert_int_equal(clv_fleet_add_node(fleet, &spec, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "W, no less in use than idle"));
	}
	assert_int_equal(fleet->n_nodes, 0);
	clv_fleet_free(fleet);
}

static struct clv_placer *placer_of(
	struct clv_fleet *fleet, const char *policy, uint32_t power_milli)
{
	struct clv_place_request half = {.cpu_milli = 1000, .milli = 500, .n_devices = 1};
	struct clv_place_request whole = {
		.cpu_milli = 1000, .milli = 1000, .n_devices = 1};
	struct clv_placer_options options = {.power_milli = power_milli};
	struct clv_workload workload = {0};
	struct clv_placer *placer = NULL;

	assert_int_equal(clv_workload_add(&workload, &half, 1), 0);
	assert_int_equal(clv_workload_add(&workload, &whole, 1), 0);
	clv_workload_cut(&workload, 95);
	assert_int_equal(clv_placer_new(fleet, clv_place_policy_find(policy), &workload,
				 &options, &placer, NULL),
		0);
	clv_workload_done(&workload);
	return placer;
}

/* The node on which a policy puts one request if both are empty; one more goes beside
 * what is on the second device of the first node. */
static void check_places(const char *policy, uint32_t first)
{
	struct clv_place_request half = {.cpu_milli = 1000, .milli = 500, .n_devices = 1};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;
	struct clv_place_at at;
	uint32_t lease;

	add(fleet, 1, "B", &large);
	add(fleet, 1, "A", &small);
	placer = placer_of(fleet, policy, 0);
	assert_int_equal(clv_placer_find(placer, &half, &at), 0);
	assert_int_equal(at.node, first);
	/* A device is in use on the node that draws more. */
	take(fleet, 0, 2, 1000, 500);
	assert_int_equal(clv_placer_find(placer, &half, &at), 0);
	assert_int_equal(at.node, 0);
	assert_int_equal(at.devices, 2);
	assert_int_equal(clv_fleet_take(fleet, &half, &at, &lease), 0);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
}

static void test_policies(void **state)
{
	/* Both nodes are equal: the first one. */
	check_places("fgd", 0);
	check_places("balance", 0);
	/* Where less is added. */
	check_places("pwr-fgd", 1);
	check_places("pwr-balance", 1);
}

/* Beside a half on the first node a half strands nothing and begins a socket, on the
 * second one it breaks a device and adds little.  Returns the node by a weight. */
static uint32_t place_by_weight(const char *policy, uint32_t power_milli)
{
	static const struct clv_fleet_power first = {
		.device_full_w = 390, .socket_full_w = 200, .socket_milli = 16000};
	static const struct clv_fleet_power second = {
		.device_full_w = 10, .socket_full_w = 10};
	struct clv_place_request half = {.cpu_milli = 1000, .milli = 500, .n_devices = 1};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_placer *placer;
	struct clv_place_at at;

	add(fleet, 1, "A", &first);
	add(fleet, 1, "B", &second);
	take(fleet, 0, 1, 16000, 500);
	placer = placer_of(fleet, policy, power_milli);
	assert_int_equal(clv_placer_find(placer, &half, &at), 0);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
	return at.node;
}

static void test_weights(void **state)
{
	/* By 13 of 100 points for what is stranded, and 30 for power. */
	assert_int_equal(place_by_weight("pwr-fgd", 250), 0);
	assert_int_equal(place_by_weight("pwr-fgd", 350), 1);
	assert_int_equal(place_by_weight("pwr-fgd", 1000), 1);
	assert_int_equal(place_by_weight("pwr-balance", 1), 0);
	assert_int_equal(place_by_weight("pwr-balance", 900), 1);
	assert_int_equal(place_by_weight("pwr-balance", 1000), 1);
	assert_int_equal(place_by_weight("fgd", 1000), 0);
	assert_int_equal(place_by_weight("balance", 1000), 0);
}

/* Without known power they place as the policies that they are made of. */
static void test_policies_without_power(void **state)
{
	static const char *const pairs[][2] = {
		{"fgd", "pwr-fgd"}, {"balance", "pwr-balance"}};

	for (unsigned k = 0; k < 2; k++) {
		struct clv_fleet *fleets[2];
		struct clv_placer *placers[2];

		for (unsigned i = 0; i < 2; i++) {
			place_random_begin(7);
			fleets[i] = place_fleet_mixed(20);
			placers[i] = placer_of(fleets[i], pairs[k][i], 0);
		}
		for (unsigned n = 0; n < 300; n++) {
			struct clv_place_request request =
				place_random_request(fleets[0]);
			uint32_t leases[2] = {0};
			int r[2];

			for (unsigned i = 0; i < 2; i++)
				r[i] = clv_placer_place(placers[i], &request, &leases[i]);
			assert_int_equal(r[0], r[1]);
			if (r[0] == 0)
				assert_memory_equal(&fleets[0]->leases[leases[0]],
					&fleets[1]->leases[leases[1]],
					sizeof(*fleets[0]->leases));
		}
		for (unsigned i = 0; i < 2; i++) {
			clv_placer_free(placers[i]);
			clv_fleet_free(fleets[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_node_draws),
		cmocka_unit_test(test_lost_and_unknown_nodes_draw_nothing),
		cmocka_unit_test(test_powers_that_are_wrong),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_policies_without_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
