/* SPDX-License-Identifier: Apache-2.0 */
/* The number of the program's callbacks that are running, in a parent and in a child that
 * was forked in one of them. */
#include "gate/process/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(uint32_t depth, uint32_t n, uint32_t n_ends)
{
	assert_int_equal(clv_gate_thread.callback_depth, depth);
	assert_int_equal(atomic_load(&clv_gate.n_in_callback), n);
	assert_int_equal(atomic_load(&clv_gate.n_callback_ends), n_ends);
}

static void test_nested(void **state)
{
	clv_gate_callback_begin();
	clv_gate_callback_begin();
	expect(2, 2, 0);
	clv_gate_callback_end();
	expect(1, 1, 0);
	clv_gate_callback_end();
	expect(0, 0, 1);
}

/* The child starts at none when it attaches, and then returns from its parent's callback.
 */
static void test_return_in_a_child(void **state)
{
	clv_gate_callback_begin();
	clv_gate_thread.callback_depth = 0;
	atomic_store(&clv_gate.n_in_callback, 0);
	clv_gate_callback_end();
	expect(0, 0, 1);
	clv_gate_callback_begin();
	clv_gate_callback_end();
	expect(0, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_return_in_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
