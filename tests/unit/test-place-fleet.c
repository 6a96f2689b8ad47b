/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets: where a request fits, releases, and nodes that join and leave. */
#include "place-world.h"

#include "core/fleet/fleet-fit.h"

#include "base/error.h"
#include "core/fleet/fleet.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct clv_fleet_node_spec two_devices = {.model = "A",
	.cpu_milli = 16000,
	.memory_mib = 64000,
	.device_mib = 40960,
	.n_devices = 2};

static struct clv_fleet *fleet_of(unsigned n, struct clv_fleet_node_spec spec)
{
	struct clv_fleet *fleet = clv_fleet_new();

	assert_non_null(fleet);
	place_add_nodes(fleet, n, spec);
	return fleet;
}

static void check_audit(const struct clv_fleet *fleet)
{
	const char *wrong = clv_fleet_audit(fleet);

	if (wrong)
		fail_msg("%s", wrong);
}

static void test_take_and_release(void **state)
{
	struct clv_fleet *fleet = fleet_of(1, two_devices);
	struct clv_place_request request = {.cpu_milli = 4000,
		.memory_mib = 8000,
		.device_mib = 30000,
		.milli = 500,
		.n_devices = 1,
		.class = CLV_CLASS_NORMAL};
	struct clv_place_at at = {.devices = 1};
	uint32_t first, second;

	assert_int_equal(clv_fleet_take(fleet, &request, &at, &first), 0);
	/* Compute is enough, memory is not. */
	assert_int_equal(clv_fleet_take(fleet, &request, &at, &second), -ENOSPC);
	at.devices = 2;
	assert_int_equal(clv_fleet_take(fleet, &request, &at, &second), 0);
	assert_int_equal(fleet->held_milli, 1000);
	check_audit(fleet);
	assert_int_equal(clv_fleet_release(fleet, first), 0);
	assert_int_equal(clv_fleet_release(fleet, first), -ENOENT);
	assert_int_equal(clv_fleet_release(fleet, 99), -ENOENT);
	assert_int_equal(fleet->devices[0].free_mib, 40960);
	check_audit(fleet);
	clv_fleet_free(fleet);
}

static void test_no_such_place(void **state)
{
	struct clv_fleet *fleet = fleet_of(1, two_devices);
	struct clv_place_request request = {.milli = 500, .n_devices = 1};
	/* clang-format off */
	static const struct clv_place_at wrong[] = {
		{.devices = 0}, {.devices = 3}, {.devices = 4}, {.devices = 1, .node = 1},
	};
	/* clang-format on */
	uint32_t lease;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			clv_fleet_take(fleet, &request, &wrong[i], &lease), -EINVAL);
	clv_fleet_free(fleet);
}

static void test_requests_that_make_no_sense(void **state)
{
	struct clv_fleet *fleet = place_fleet_mixed(3);
	/* clang-format off */
	static const struct clv_place_request wrong[] = {
		{.milli = 1001, .n_devices = 1},
		{.milli = 1000, .n_devices = 65},
		{.milli = 0, .n_devices = 2},
		{.n_devices = 1, .profile = 1},
		{.n_devices = 1, .profile = 1, .scheme = 9},
		{.n_devices = 1, .profile = 200, .scheme = 1},
		{.n_devices = 2, .profile = 1, .scheme = 1},
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct clv_error err = {0};

		assert_int_equal(clv_fleet_check(fleet, &wrong[i], &err), -EINVAL);
		assert_int_equal(err.code, -EINVAL);
		assert_true(err.msg[0] != '\0');
	}
	clv_fleet_free(fleet);
}

static void test_resize(void **state)
{
	struct clv_fleet *fleet = fleet_of(1, two_devices);
	struct clv_place_request request = {
		.milli = 400, .n_devices = 1, .class = CLV_CLASS_BATCH};
	struct clv_place_request more = request;
	struct clv_place_at at = {.devices = 1};
	uint32_t first, second;

	assert_int_equal(clv_fleet_take(fleet, &request, &at, &first), 0);
	assert_int_equal(clv_fleet_take(fleet, &request, &at, &second), 0);
	more.milli = 601;
	assert_int_equal(clv_fleet_resize(fleet, first, &more), -ENOSPC);
	check_audit(fleet);
	more.milli = 600;
	assert_int_equal(clv_fleet_resize(fleet, first, &more), 0);
	assert_int_equal(fleet->devices[0].free_milli, 0);
	more.milli = 1;
	assert_int_equal(clv_fleet_resize(fleet, first, &more), 0);
	assert_int_equal(fleet->devices[0].free_milli, 599);
	check_audit(fleet);
	clv_fleet_free(fleet);
}

static void count_lost(void *userdata, uint32_t lease)
{
	++*(unsigned *)userdata;
}

static void test_node_is_lost(void **state)
{
	struct clv_fleet *fleet = fleet_of(2, two_devices);
	struct clv_place_request request = {.milli = 1000, .n_devices = 2};
	struct clv_place_at at = {.devices = 3, .node = 1};
	unsigned n_lost = 0;
	uint32_t lease;

	assert_int_equal(clv_fleet_take(fleet, &request, &at, &lease), 0);
	assert_int_equal(clv_fleet_lose_node(fleet, 1, count_lost, &n_lost), 0);
	assert_int_equal(n_lost, 1);
	assert_int_equal(fleet->milli, 2000);
	assert_int_equal(fleet->held_milli, 0);
	assert_int_equal(clv_fleet_lose_node(fleet, 1, NULL, NULL), -EALREADY);
	assert_int_equal(clv_fleet_take(fleet, &request, &at, &lease), -ENOSPC);
	assert_int_equal(clv_fleet_return_node(fleet, 1), 0);
	assert_int_equal(clv_fleet_return_node(fleet, 1), -EALREADY);
	assert_int_equal(clv_fleet_return_node(fleet, 2), -ENOENT);
	assert_int_equal(clv_fleet_take(fleet, &request, &at, &lease), 0);
	check_audit(fleet);
	clv_fleet_free(fleet);
}

static void test_numa(void **state)
{
	struct clv_fleet_node_spec spec = two_devices;
	struct clv_place_request request = {
		.milli = 1000, .n_devices = 2, .same_numa = true};
	struct clv_place_at at = {.devices = 1};
	struct clv_place_request one = {.milli = 1000, .n_devices = 1};
	struct clv_fleet *fleet;
	uint32_t lease;

	spec.n_devices = 4;
	spec.n_numa = 2;
	fleet = fleet_of(1, spec);
	assert_int_equal(clv_fit_devices(fleet, &fleet->nodes[0], &request), 3);
	assert_int_equal(clv_fleet_take(fleet, &one, &at, &lease), 0);
	assert_int_equal(clv_fit_devices(fleet, &fleet->nodes[0], &request), 12);
	at.devices = 4;
	assert_int_equal(clv_fleet_take(fleet, &one, &at, &lease), 0);
	assert_int_equal(clv_fit_devices(fleet, &fleet->nodes[0], &request), 0);
	clv_fleet_free(fleet);
}

/* Compute partitions: all partitions of a device are equal. */
static void test_uniform_scheme(void **state)
{
	static const struct clv_mig_profile profiles[] = {
		{.name = "DPX",
			.slices = 4,
			.size = 4,
			.max_instances = 2,
			.n_starts = 2,
			.starts = {0, 4}},
		{.name = "QPX",
			.slices = 2,
			.size = 2,
			.max_instances = 4,
			.n_starts = 4,
			.starts = {0, 2, 4, 6}},
	};
	static const struct clv_mig_model model = {.name = "XCP",
		.grid = 8,
		.slices = 8,
		.profiles = profiles,
		.n_profiles = 2};
	struct clv_fleet_scheme scheme = {.model = &model, .is_uniform = true};
	struct clv_place_request half = {.n_devices = 1, .scheme = 1, .profile = 1};
	struct clv_place_request quarter = {.n_devices = 1, .scheme = 1, .profile = 2};
	struct clv_fleet_node_spec spec = two_devices;
	struct clv_place_at at = {.devices = 1};
	struct clv_fleet *fleet = clv_fleet_new();
	uint32_t lease;

	assert_int_equal(clv_fleet_add_scheme(fleet, &scheme), 0);
	spec.scheme = 1;
	spec.n_devices = 1;
	place_add_nodes(fleet, 1, spec);
	assert_int_equal(clv_fleet_take(fleet, &half, &at, &lease), 0);
	at.start = 4;
	assert_int_equal(clv_fleet_take(fleet, &quarter, &at, &lease), -ENOSPC);
	assert_int_equal(clv_fleet_take(fleet, &half, &at, &lease), 0);
	assert_int_equal(fleet->devices[0].free_milli, 0);
	check_audit(fleet);
	clv_fleet_free(fleet);
}

static void test_too_many_models(void **state)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_error err = {0};
	char name[16];

	for (unsigned i = 0; i < CLV_PLACE_MODELS_MAX; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(clv_fleet_model(fleet, name), i);
	}
	assert_int_equal(clv_fleet_add_node(fleet, &two_devices, &err), -ENOSPC);
	assert_int_equal(fleet->n_nodes, 0);
	clv_fleet_free(fleet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_and_release),
		cmocka_unit_test(test_no_such_place),
		cmocka_unit_test(test_requests_that_make_no_sense),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_node_is_lost),
		cmocka_unit_test(test_numa),
		cmocka_unit_test(test_uniform_scheme),
		cmocka_unit_test(test_too_many_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
