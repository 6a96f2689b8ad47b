/* SPDX-License-Identifier: Apache-2.0 */
/* Single devices: the size of a request on each, which one is chosen, and that a take and
 * its release leave everything unchanged. */
#include "core/fleet/fleet.h"
#include "core/place/singles.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct clv_single devices[] = {
	{.model = "large", .memory_mib = 80000, .free_mib = 80000, .free_milli = 1000},
	{.model = "large", .memory_mib = 80000, .free_mib = 8000, .free_milli = 700},
	{.model = "small", .memory_mib = 20000, .free_mib = 20000, .free_milli = 300},
	{.memory_mib = 20000, .free_mib = 0, .free_milli = 1000},
};
#define N (sizeof(devices) / sizeof(devices[0]))

static int find(const struct clv_singles *singles, size_t first, size_t n, uint16_t milli,
	uint32_t mib)
{
	const struct clv_place_request request = {
		.milli = milli, .device_mib = mib, .n_devices = 1};
	int64_t score;

	return clv_singles_find(singles, first, n, &request, &score);
}

static int set_up(void **state)
{
	struct clv_singles *singles;
	int r = clv_singles_new(devices, N, NULL, 0, &singles);

	*state = singles;
	return r;
}

static int tear_down(void **state)
{
	clv_singles_free(*state);
	return 0;
}

static void test_size_on_each(void **state)
{
	const struct clv_place_request memory = {.device_mib = 10000, .n_devices = 1};
	const struct clv_place_request share = {.milli = 250, .n_devices = 1};
	const struct clv_place_request too_much = {.device_mib = 20001, .n_devices = 1};

	assert_int_equal(clv_singles_complete(*state, 0, &memory).milli, 125);
	assert_int_equal(clv_singles_complete(*state, 2, &memory).milli, 500);
	assert_int_equal(clv_singles_complete(*state, 0, &share).device_mib, 20000);
	assert_int_equal(clv_singles_complete(*state, 2, &share).device_mib, 5000);
	assert_true(clv_singles_complete(*state, 2, &too_much).milli > CLV_PLACE_WHOLE);
}

/* Both must be free, and a whole device is avoided if another fits. */
static void test_which(void **state)
{
	assert_int_equal(find(*state, 0, N, 300, 8000), 1);
	assert_int_equal(find(*state, 0, N, 300, 8001), 2);
	assert_int_equal(find(*state, 0, N, 301, 8001), 0);
	assert_int_equal(find(*state, 0, N, 0, 6000), 2);
	assert_int_equal(find(*state, 0, N, 1000, 1), 0);
	assert_int_equal(find(*state, 0, N, 1, 80001), -ENOSPC);
}

static void test_some_of_them(void **state)
{
	assert_int_equal(find(*state, 1, 2, 1000, 1), -ENOSPC);
	assert_int_equal(find(*state, 1, 2, 300, 8001), 2);
	assert_int_equal(find(*state, 2, 0, 1, 1), -ENOSPC);
}

static void test_taken_and_given_back(void **state)
{
	const struct clv_place_request request = {
		.milli = 300, .device_mib = 8000, .n_devices = 1};
	const struct clv_place_request rest = {
		.milli = 400, .device_mib = 1, .n_devices = 1};
	uint32_t lease, other;

	assert_int_equal(clv_singles_take(*state, 1, &request, &lease), 0);
	assert_int_equal(find(*state, 1, 1, 1, 1), -ENOSPC);
	assert_int_equal(clv_singles_take(*state, 1, &rest, &other), -ENOSPC);
	clv_singles_release(*state, lease);
	assert_int_equal(find(*state, 0, N, 300, 8000), 1);
	assert_int_equal(clv_singles_take(*state, 1, &rest, &other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_size_on_each, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_which, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_some_of_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_taken_and_given_back, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
