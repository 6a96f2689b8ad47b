/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/user/bucket.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct clv_bucket_rule each = {3, CLV_NS_PER_S};
static const struct clv_bucket_rule all = {10, CLV_NS_PER_S / 2};

static void test_a_burst_and_then_one_at_a_time(void **state)
{
	struct clv_buckets *buckets = clv_buckets_new(&each, &all);
	uint64_t now_ns = 100 * CLV_NS_PER_S, withheld = 99;
	unsigned int n = 0;

	for (int i = 0; i < 1000; i++)
		n += clv_buckets_take(buckets, 1, now_ns, &withheld);
	assert_int_equal(n, 3);
	assert_int_equal(clv_buckets_n_withheld(buckets), 997);
	assert_false(clv_buckets_take(buckets, 1, now_ns + CLV_NS_PER_S - 1, &withheld));
	assert_true(clv_buckets_take(buckets, 1, now_ns + CLV_NS_PER_S, &withheld));
	assert_int_equal(withheld, 998);
	assert_false(clv_buckets_take(buckets, 1, now_ns + CLV_NS_PER_S, &withheld));
	/* After a pause there is a burst again, and no longer one. */
	n = 0;
	for (int i = 0; i < 1000; i++)
		n += clv_buckets_take(buckets, 1, 2 * now_ns, &withheld);
	assert_int_equal(n, 3);
	clv_buckets_free(buckets);
}

static void test_one_user_does_not_silence_another(void **state)
{
	struct clv_buckets *buckets = clv_buckets_new(&each, &all);
	uint64_t now_ns = CLV_NS_PER_S, withheld = 99;

	for (int i = 0; i < 1000; i++)
		clv_buckets_take(buckets, 1, now_ns, &withheld);
	assert_true(clv_buckets_take(buckets, 2, now_ns, &withheld));
	assert_int_equal(withheld, 0);
	clv_buckets_free(buckets);
}

static void test_many_users_have_a_limit_together(void **state)
{
	struct clv_buckets *buckets = clv_buckets_new(&each, &all);
	uint64_t withheld;
	unsigned int n = 0;

	for (uint64_t key = 0; key < 100000; key++)
		n += clv_buckets_take(buckets, key, CLV_NS_PER_S, &withheld);
	assert_int_equal(n, 10);
	clv_buckets_free(buckets);
}

static void test_keys_of_texts(void **state)
{
	assert_int_not_equal(clv_bucket_key("a"), clv_bucket_key("b"));
	assert_int_equal(clv_bucket_key("alice"), clv_bucket_key("alice"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_burst_and_then_one_at_a_time),
		cmocka_unit_test(test_one_user_does_not_silence_another),
		cmocka_unit_test(test_many_users_have_a_limit_together),
		cmocka_unit_test(test_keys_of_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
