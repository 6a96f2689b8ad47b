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
static uint64_t n_steps;

/* Called by the compiler's instrumentation. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	n_steps++;
}

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

/* A program may capture a function with new data for each of its steps. */
static void stays_fast(void **state)
{
	enum { N = 1 << 18, KEPT = 64 };
	void *kept[KEPT];
	char *data = (char *)&n_calls;
	uint64_t n_all = 0, n_longest = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		struct clv_host_node node = {called, data + 8 * i}, wrapped;

		n_steps = 0;
		wrapped = clv_host_node_wrap(&node);
		n_all += n_steps;
		n_longest = n_steps > n_longest ? n_steps : n_longest;
		assert_true(wrapped.function != called);
		if (i % (N / KEPT) == 0)
			kept[i / (N / KEPT)] = wrapped.userdata;
	}
	assert_in_range(n_all, N, 256 * N);
	/* No call does the work of many. */
	assert_in_range(n_longest, 1, 1024);
	/* A record is found in a table that has grown since. */
	for (size_t i = 0; i < KEPT; i++) {
		struct clv_host_node node = {called, data + 8 * i * (N / KEPT)};
		struct clv_host_node wrapped = clv_host_node_wrap(&node);

		assert_ptr_equal(wrapped.userdata, kept[i]);
		assert_ptr_equal(clv_host_node_unwrap(&wrapped).userdata, node.userdata);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_as_callback),
		cmocka_unit_test(has_one_record),
		cmocka_unit_test(stays_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
