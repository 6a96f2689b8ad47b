/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/user/fair.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS CLV_NS_PER_MS
#define NOW (100 * CLV_NS_PER_S)

enum { BUSY = 1, OTHER };

static void test_who_uses_little_passes(void **state)
{
	struct clv_fair *fair = clv_fair_new();

	/* a tenth of the time, for long */
	for (uint64_t at_ns = NOW; at_ns < NOW + 10 * CLV_NS_PER_S; at_ns += 10 * MS) {
		assert_true(clv_fair_may_pass(fair, BUSY, at_ns));
		clv_fair_charge(fair, BUSY, MS, at_ns);
	}
	clv_fair_free(fair);
}

static void test_who_uses_much_waits_until_it_has_drained(void **state)
{
	struct clv_fair *fair = clv_fair_new();

	clv_fair_charge(fair, BUSY, 10 * MS, NOW);
	assert_false(clv_fair_may_pass(fair, BUSY, NOW));
	assert_true(clv_fair_may_pass(fair, OTHER, NOW));
	assert_false(clv_fair_may_pass(fair, BUSY, NOW + 49 * MS));
	assert_true(clv_fair_may_pass(fair, BUSY, NOW + 50 * MS));
	clv_fair_free(fair);
}

static void test_long_use_counts_for_a_second(void **state)
{
	struct clv_fair *fair = clv_fair_new();

	clv_fair_charge(fair, BUSY, 100 * CLV_NS_PER_S, NOW);
	clv_fair_charge(fair, BUSY, 100 * CLV_NS_PER_S, NOW);
	assert_false(clv_fair_may_pass(fair, BUSY, NOW + 949 * MS));
	assert_true(clv_fair_may_pass(fair, BUSY, NOW + 950 * MS));
	clv_fair_free(fair);
}

/* Takes the next item, charges its work, and says which it was. */
static size_t serve(
	struct clv_fair *fair, const struct clv_fair_item *items, uint64_t took_ns)
{
	struct clv_fair_item *item = clv_fair_first(fair);
	/* the items of each key are together */
	size_t at = (size_t)(item - items);

	clv_fair_remove(fair, item);
	clv_fair_charge(fair, at < 4 ? BUSY : OTHER, took_ns, NOW);
	return at;
}

static void test_the_least_served_is_next(void **state)
{
	struct clv_fair *fair = clv_fair_new();
	struct clv_fair_item items[8] = {0};
	static const size_t order[] = {4, 5, 0, 6, 1, 7, 2, 3};

	clv_fair_charge(fair, BUSY, 16 * MS, NOW);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(clv_fair_add(fair, &items[i], i < 4 ? BUSY : OTHER), 0);
	assert_int_equal(clv_fair_count(fair), 8);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(serve(fair, items, 9 * MS), order[i]);
	assert_null(clv_fair_first(fair));
	assert_int_equal(clv_fair_count(fair), 0);
	clv_fair_free(fair);
}

static void test_own_work_counts_first(void **state)
{
	struct clv_fair *fair = clv_fair_new();
	struct clv_fair_item item = {0};

	clv_fair_charge(fair, BUSY, 10 * MS, NOW);
	assert_int_equal(clv_fair_add(fair, &item, BUSY), 0);
	clv_fair_charge(fair, OTHER, MS, NOW + CLV_NS_PER_S);
	assert_false(clv_fair_may_pass(fair, BUSY, NOW + CLV_NS_PER_S));
	clv_fair_remove(fair, &item);
	assert_null(item.account);
	assert_true(clv_fair_may_pass(fair, BUSY, NOW + CLV_NS_PER_S));
	clv_fair_free(fair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_uses_little_passes),
		cmocka_unit_test(test_who_uses_much_waits_until_it_has_drained),
		cmocka_unit_test(test_long_use_counts_for_a_second),
		cmocka_unit_test(test_the_least_served_is_next),
		cmocka_unit_test(test_own_work_counts_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
