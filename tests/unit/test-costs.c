/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of a kernel whose length depends on its arguments. */
#include "gate/window/costs.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SHORT_NS (50 * CLV_NS_PER_US)

static uint64_t key_of(uintptr_t kernel)
{
	return clv_cost_key_kernel((const void *)kernel, 1, 1, 1);
}

static uint64_t learn_short(uintptr_t kernel)
{
	for (int i = 0; i < 20; i++)
		clv_cost_learn(key_of(kernel), 10 * SHORT_NS, 10);
	return key_of(kernel);
}

static void test_steady(void **state)
{
	assert_int_equal(clv_cost_estimate(learn_short(0x1000)), SHORT_NS);
}

/* 60 kernels of 17 ms where 60 of 50 us were expected: later short ones lower the
 * estimate only slowly. */
static void test_batch_that_took_far_longer(void **state)
{
	uint64_t key = learn_short(0x2000);

	clv_cost_learn(key, 60 * 17 * CLV_NS_PER_MS, 60);
	assert_int_equal(clv_cost_estimate(key), 17 * CLV_NS_PER_MS);
	for (int i = 0; i < 20; i++)
		clv_cost_learn(key, SHORT_NS, 1);
	assert_int_equal(clv_cost_estimate(key), 17 * CLV_NS_PER_MS);
}

/* Alone a queue is not held back for long after one batch of long ones. */
static void test_calm(void **state)
{
	uint64_t key = learn_short(0x5000);

	clv_cost_learn(key, 60 * 17 * CLV_NS_PER_MS, 60);
	for (int i = 0; i < 50; i++) {
		clv_cost_calm(key);
		clv_cost_learn(key, SHORT_NS, 1);
	}
	assert_true(clv_cost_estimate(key) < 2 * SHORT_NS);
}

/* A delay of 6 ms of the machine must not raise the estimate. */
static void test_late_wake_up(void **state)
{
	uint64_t key = learn_short(0x3000);

	clv_cost_learn(key, 6 * CLV_NS_PER_MS, 1);
	assert_true(clv_cost_estimate(key) <= 2 * SHORT_NS);
}

/* The mean of eight kinds, of which this one took nearly all of the time. */
static void test_raised_above_a_mean(void **state)
{
	uint64_t key = key_of(0x4000);

	clv_cost_learn(key, SHORT_NS, 8);
	clv_cost_raise(key, SHORT_NS);
	assert_int_equal(clv_cost_estimate(key), SHORT_NS);
	clv_cost_raise(key, 6 * CLV_NS_PER_MS);
	assert_true(clv_cost_estimate(key) <= 8 * SHORT_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_batch_that_took_far_longer),
		cmocka_unit_test(test_calm),
		cmocka_unit_test(test_late_wake_up),
		cmocka_unit_test(test_raised_above_a_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
