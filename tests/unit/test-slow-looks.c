/* SPDX-License-Identifier: Apache-2.0 */
/* Which tenants' processes may be looked at after slow looks. */
#include "agent/os/slow-looks.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define MS CLV_NS_PER_MS

static void test_slow_looks_share_a_hundredth(void **state)
{
	struct clv_slow_looks slow = {0};
	uint64_t now_ns = CLV_NS_PER_S;

	assert_true(clv_slow_looks_allow(&slow, "a", now_ns));
	clv_slow_looks_note(&slow, "a", 80 * MS, now_ns);
	assert_false(clv_slow_looks_allow(&slow, "a", now_ns + 1600 * MS - 1));
	assert_true(clv_slow_looks_allow(&slow, "a", now_ns + 1600 * MS));
	/* Others are looked at, until they are slow too: then all wait for each other. */
	assert_true(clv_slow_looks_allow(&slow, "b", now_ns));
	clv_slow_looks_note(&slow, "b", 50 * MS, now_ns);
	assert_false(clv_slow_looks_allow(&slow, "a", now_ns + 2000 * MS - 1));
	assert_false(clv_slow_looks_allow(&slow, "b", now_ns + 2000 * MS - 1));
	assert_true(clv_slow_looks_allow(&slow, "c", now_ns));
	assert_true(clv_slow_looks_allow(&slow, "a", now_ns + 2000 * MS));
	for (int i = 0; i < 10; i++) {
		now_ns = slow.next_ns;
		clv_slow_looks_note(&slow, "a", 50 * MS, now_ns);
	}
	assert_int_equal(slow.next_ns, now_ns + 5000 * MS);
	now_ns = slow.next_ns + 60 * CLV_NS_PER_S;
	clv_slow_looks_note(&slow, "a", 50 * MS, now_ns);
	assert_int_equal(slow.next_ns, now_ns + 1000 * MS);
}

/* However many tenants there are, each of which asks once a second: ten minutes. */
static void test_many_tenants(void **state)
{
	struct clv_slow_looks slow = {0};
	uint64_t took_ns = 0;
	char name[16];

	for (uint64_t now_ns = CLV_NS_PER_S; now_ns < 600 * CLV_NS_PER_S;
		now_ns += CLV_NS_PER_S) {
		for (unsigned int i = 0; i < 3 * CLV_SLOW_TENANTS; i++) {
			snprintf(name, sizeof(name), "tenant-%u", i);
			if (!clv_slow_looks_allow(&slow, name, now_ns))
				continue;
			clv_slow_looks_note(&slow, name, 80 * MS, now_ns);
			took_ns += 80 * MS;
		}
	}
	assert_in_range(took_ns, 4 * CLV_NS_PER_S, 12 * CLV_NS_PER_S);
	/* Ten minutes later a place is free, and who was fast is looked at. */
	assert_true(clv_slow_looks_allow(&slow, "another", 1300 * CLV_NS_PER_S));
	clv_slow_looks_note(&slow, "tenant-0", 80 * MS, 1300 * CLV_NS_PER_S);
	assert_true(clv_slow_looks_allow(&slow, "another", 1300 * CLV_NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_looks_share_a_hundredth),
		cmocka_unit_test(test_many_tenants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
