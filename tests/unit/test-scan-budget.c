/* SPDX-License-Identifier: Apache-2.0 */
/* For which leases processes may be scanned after slow scans. */
#include "agent/os/scan-budget.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define MS CLV_NS_PER_MS

static void test_slow_scans_share_a_hundredth(void **state)
{
	struct clv_scan_budget slow = {0};
	uint64_t now_ns = CLV_NS_PER_S;

	assert_true(clv_scan_budget_allow(&slow, "1", "a", now_ns));
	clv_scan_budget_note(&slow, "1", "a", 80 * MS, now_ns);
	for (int lease = 1; lease < 3; lease++) {
		const char *name = lease == 1 ? "1" : "2";

		assert_false(
			clv_scan_budget_allow(&slow, name, "a", now_ns + 1600 * MS - 1));
		assert_true(clv_scan_budget_allow(&slow, name, "a", now_ns + 1600 * MS));
	}
	/* Others are looked at, until they are slow too: then all wait for each other. */
	assert_true(clv_scan_budget_allow(&slow, "3", "b", now_ns));
	clv_scan_budget_note(&slow, "3", "b", 50 * MS, now_ns);
	assert_false(clv_scan_budget_allow(&slow, "1", "a", now_ns + 2000 * MS - 1));
	assert_false(clv_scan_budget_allow(&slow, "3", "b", now_ns + 2000 * MS - 1));
	assert_true(clv_scan_budget_allow(&slow, "4", "c", now_ns));
	assert_true(clv_scan_budget_allow(&slow, "1", "a", now_ns + 2000 * MS));
	for (int i = 0; i < 10; i++) {
		now_ns = slow.leases.next_ns;
		clv_scan_budget_note(&slow, "1", "a", 50 * MS, now_ns);
	}
	assert_int_equal(slow.leases.next_ns, now_ns + 5000 * MS);
	now_ns = slow.leases.next_ns + 60 * CLV_NS_PER_S;
	clv_scan_budget_note(&slow, "1", "a", 50 * MS, now_ns);
	assert_int_equal(slow.leases.next_ns, now_ns + 1000 * MS);
}

/* Returns how long the loop has waited. */
static uint64_t ask(struct clv_scan_budget *slow, const char *lease, const char *tenant,
	uint64_t now_ns)
{
	if (!clv_scan_budget_allow(slow, lease, tenant, now_ns))
		return 0;
	clv_scan_budget_note(slow, lease, tenant, 80 * MS, now_ns);
	return 80 * MS;
}

/* However many tenants there are, each of which asks once a second: ten minutes. */
static void test_many_tenants(void **state)
{
	struct clv_scan_budget slow = {0};
	uint64_t took_ns = 0;
	char name[16];

	for (uint64_t now_ns = CLV_NS_PER_S; now_ns < 600 * CLV_NS_PER_S;
		now_ns += CLV_NS_PER_S) {
		for (unsigned int i = 0; i < 3 * CLV_SCAN_PLACES; i++) {
			snprintf(name, sizeof(name), "tenant-%u", i);
			took_ns += ask(&slow, name, name, now_ns);
		}
	}
	assert_in_range(took_ns, 4 * CLV_NS_PER_S, 16 * CLV_NS_PER_S);
	/* Ten minutes later a place is free, and who was fast is looked at. */
	assert_true(clv_scan_budget_allow(&slow, "1", "another", 1300 * CLV_NS_PER_S));
	clv_scan_budget_note(&slow, "0", "tenant-0", 80 * MS, 1300 * CLV_NS_PER_S);
	assert_true(clv_scan_budget_allow(&slow, "1", "another", 1300 * CLV_NS_PER_S));
}

/* A tenant's new leases are taken for slow. */
static void test_lease_after_lease(void **state)
{
	struct clv_scan_budget slow = {0};
	uint64_t took_ns = 0;
	char name[16];

	for (uint64_t s = 1; s < 600; s++) {
		snprintf(name, sizeof(name), "%u", (unsigned int)s);
		took_ns += ask(&slow, name, "a", s * CLV_NS_PER_S);
	}
	assert_in_range(took_ns, 4 * CLV_NS_PER_S, 8 * CLV_NS_PER_S);
}

/* A lease that is slow whenever it is looked at holds the tenant's others back once. */
static void test_other_leases_of_a_tenant(void **state)
{
	struct clv_scan_budget slow = {0};
	unsigned int n_slow = 0, n_held = 0;

	for (uint64_t s = 1; s < 600; s++) {
		n_slow += ask(&slow, "slow", "a", s * CLV_NS_PER_S) > 0;
		n_held += !clv_scan_budget_allow(&slow, "other", "a", s * CLV_NS_PER_S);
	}
	assert_in_range(n_slow, 60, 90);
	assert_int_equal(n_held, 2); /* seconds */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_scans_share_a_hundredth),
		cmocka_unit_test(test_many_tenants),
		cmocka_unit_test(test_lease_after_lease),
		cmocka_unit_test(test_other_leases_of_a_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
