/* SPDX-License-Identifier: Apache-2.0 */
/* A function of the program in a node of a graph runs as a callback, as often as the
 * graph does, and the program gets it back. */
#include "gate/streams/host-node.h"

#include "gate/process/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int n_calls;

static void called(void *userdata)
{
	assert_ptr_equal(userdata, &n_calls);
	assert_int_equal(clv_gate_thread.callback_depth, 1);
	n_calls++;
}

static void runs_as_callback(void **state)
{
	struct clv_host_node node = {called, &n_calls}, wrapped, found;

	(void)state;
	wrapped = clv_host_node_wrap(&node);
	for (int i = 0; i < 3; i++)
		wrapped.function(wrapped.userdata);
	assert_int_equal(n_calls, 3);
	assert_int_equal(clv_gate_thread.callback_depth, 0);
	found = clv_host_node_unwrap(&wrapped);
	assert_true(found.function == called);
	assert_ptr_equal(found.userdata, &n_calls);
}

static void has_one_record(void **state)
{
	struct clv_host_node node = {called, &n_calls}, other = {called, NULL},
			     none = {0};

	(void)state;
	assert_ptr_equal(
		clv_host_node_wrap(&node).userdata, clv_host_node_wrap(&node).userdata);
	assert_ptr_not_equal(
		clv_host_node_wrap(&node).userdata, clv_host_node_wrap(&other).userdata);
	assert_true(clv_host_node_wrap(&none).function == NULL);
	assert_true(clv_host_node_unwrap(&node).function == called);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_as_callback),
		cmocka_unit_test(has_one_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
