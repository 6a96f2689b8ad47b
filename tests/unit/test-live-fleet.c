/* SPDX-License-Identifier: Apache-2.0 */
/* A node as the agent's API shows it, read into a fleet. */
#include "cli/fleet/live-fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static json_t *make(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	assert_non_null(value);
	return value;
}

/* How much of the device is free beside a lease, and whether that may move; .3 of it is
 * promised in all. */
static unsigned free_beside(const char *lease, bool is_movable)
{
	json_t *devices = make(
		"[{\"name\": \"gpu0\", \"model\": \"m\", \"memory_bytes\": 1073741824,"
		"  \"memory_promised_bytes\": 0, \"share_promised\": 0.3,"
		"  \"health\": {\"state\": \"ok\"}}]");
	json_t *leases = make(lease);
	struct clv_live_fleet live = {.devices = devices, .leases = leases};
	unsigned free_milli;

	assert_int_equal(clv_live_read(&live, NULL, false), 0);
	assert_int_equal(live.fleet->n_devices, 1);
	assert_int_equal(live.fleet->n_leases, 2);
	assert_int_equal(live.items[0].is_movable, is_movable);
	free_milli = live.fleet->devices[0].free_milli;
	clv_live_done(&live);
	json_decref(leases);
	json_decref(devices);
	return free_milli;
}

#define LEASE                                                                            \
	"\"name\": \"a\", \"id\": \"l1\", \"device\": \"gpu0\", \"state\": \"active\", " \
	"\"in\": null, "

static void test_share(void **state)
{
	assert_int_equal(
		free_beside("[{" LEASE "\"share\": 0.2, \"share_range\": null}]", true),
		700);
}

/* What a lease has above the least of its range is not promised to it. */
static void test_range(void **state)
{
	assert_int_equal(
		free_beside("[{" LEASE "\"share\": 0.8,"
			    "  \"share_range\": {\"least\": 0.2, \"most\": 0.8}}]",
			true),
		700);
}

/* Its device is taken from a machine by cleave unassign, not by a restart elsewhere. */
static void test_machine(void **state)
{
	assert_int_equal(free_beside("[{" LEASE "\"holder\": \"vm:1\", \"share\": 0.2,"
				     "  \"share_range\": null}]",
				 false),
		700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
