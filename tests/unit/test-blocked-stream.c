/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions of a program that a stream is to call: whether one of them may block a
 * stream. */
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/streams/blocked-stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct clv_gate_state clv_gate;

void clv_helper_wake(void)
{
}

static struct clv_blocked stand;

static int begin(void **state)
{
	clv_blocked_begin(&stand);
	assert_false(clv_may_stand());
	return 0;
}

static int end(void **state)
{
	assert_false(clv_may_stand());
	return 0;
}

static void test_until_it_returns(void **state)
{
	struct clv_blocked_function one = clv_blocked_function_expect(&stand);
	struct clv_blocked_function other = clv_blocked_function_expect(&stand);

	clv_blocked_function_begin(&one);
	clv_blocked_function_end(&one);
	assert_true(clv_may_stand());
	clv_blocked_function_refused(&other);
}

static void test_of_nothing_nothing_is_noted(void **state)
{
	struct clv_blocked_function none = {0}, one = clv_blocked_function_expect(&stand);

	clv_blocked_function_begin(&none);
	clv_blocked_function_end(&none);
	clv_blocked_function_refused(&none);
	assert_true(clv_may_stand());
	clv_blocked_function_refused(&one);
}

/* A driver calls no host function after a device failure. */
static void test_the_device_fails(void **state)
{
	clv_blocked_function_expect(&stand);
	clv_blocked_function_expect(&stand);
	clv_blocked_functions_lost();
	assert_false(clv_may_stand());
	clv_blocked_functions_lost();
}

/* A late call of an old function must not be counted for a newer one. */
static void test_one_of_before_returns_later(void **state)
{
	struct clv_blocked_function before = clv_blocked_function_expect(&stand), after;

	clv_blocked_functions_lost();
	after = clv_blocked_function_expect(&stand);
	clv_blocked_function_begin(&before);
	clv_blocked_function_end(&before);
	assert_true(clv_may_stand());
	clv_blocked_function_refused(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_until_it_returns, begin, end),
		cmocka_unit_test_setup_teardown(
			test_of_nothing_nothing_is_noted, begin, end),
		cmocka_unit_test_setup_teardown(test_the_device_fails, begin, end),
		cmocka_unit_test_setup_teardown(
			test_one_of_before_returns_later, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
