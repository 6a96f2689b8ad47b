/* SPDX-License-Identifier: Apache-2.0 */
/* Which semaphore waits are moved to the stream before a graph: those that all other
 * nodes come after. A node is a letter, a wait a capital one. */
#include "gate/streams/graph.h"

#include "gate/process/view.h"
#include "gate/streams/capture.h"
#include "gate/streams/driver.h"
#include "gate/streams/stream-wait.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define AWAIT 9
#define TIMELINE 9
#define BINARY 1

struct graph {
	const char *nodes;
	const char *edges; /* pairs */
	uint64_t value;    /* the value that its waits wait for */
};

static struct {
	void **semaphores;
	const uint64_t *values;
	uint32_t n;
} params_of_node;
static const struct graph *asked;
static char waited[32];
static uint64_t waited_value;
static void *semaphores['Z' + 1]; /* of a node: at its letter */

static void *node(char letter)
{
	return (void *)(uintptr_t)(16 * (unsigned char)letter);
}

static char letter_of(const void *n)
{
	return (char)((uintptr_t)n / 16);
}

static int nodes(void *graph, void *ret, void *ret_n)
{
	asked = graph;
	for (size_t i = 0; ret && i < strlen(asked->nodes); i++)
		((void **)ret)[i] = node(asked->nodes[i]);
	*(size_t *)ret_n = strlen(asked->nodes);
	return 0;
}

static int edges(void *graph, void *ret_from, void *ret_to, void *ret_n)
{
	const char *pairs = ((const struct graph *)graph)->edges;

	*(size_t *)ret_n = strlen(pairs) / 2;
	for (size_t i = 0; ret_from && i < strlen(pairs) / 2; i++) {
		((void **)ret_from)[i] = node(pairs[2 * i]);
		((void **)ret_to)[i] = node(pairs[2 * i + 1]);
	}
	return 0;
}

static int type(void *n, void *ret)
{
	*(int *)ret = isupper(letter_of(n)) ? AWAIT : 0;
	return 0;
}

static int wait_params(void *n, void *ret)
{
	params_of_node.semaphores = &semaphores[(int)letter_of(n)];
	params_of_node.values = &asked->value;
	params_of_node.n = 1;
	memcpy(ret, &params_of_node, sizeof(params_of_node));
	return 0;
}

static int wait_now(void *all, void *values, uint32_t n, void *stream)
{
	size_t length = strlen(waited);

	assert_int_equal(n, 1);
	waited[length] = letter_of(*(void **)all);
	waited[length + 1] = '\0';
	waited_value = *(uint64_t *)values;
	return 0;
}

static const struct clv_stream_driver driver = {
	.graphs = {.wait_type = AWAIT,
		.value_bytes = sizeof(uint64_t),
		.nodes = nodes,
		.edges = edges,
		.type = type,
		.wait_params = wait_params,
		.wait = wait_now},
};
const struct clv_stream_driver *clv_stream_driver = &driver;

static struct clv_view view;
static struct clv_wiped_on_fork forkless = {.view = &view};
struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;
static bool captures;

bool clv_stream_is_capturing(void *stream, bool is_per_thread)
{
	return captures;
}

struct clv_blocked_waiting clv_blocked_waiting_begin(
	void *stream, bool is_per_thread, bool is_for_event)
{
	assert_false(is_for_event);
	return (struct clv_blocked_waiting){0};
}

int clv_blocked_waiting_end(const struct clv_blocked_waiting *waiting, int result)
{
	return result;
}

/* --- The tests --- */

static int exec;

static void import_all(int kind)
{
	for (char letter = 'A'; letter <= 'Z'; letter++) {
		semaphores[(int)letter] = node(letter);
		clv_semaphore_imported(node(letter), &kind);
	}
}

static int begin(void **state)
{
	captures = false;
	import_all(TIMELINE);
	return 0;
}

static int end(void **state)
{
	clv_graph_gone(&exec);
	for (char letter = 'A'; letter <= 'Z'; letter++)
		clv_semaphore_gone(node(letter));
	return 0;
}

/* In alphabetical order. */
static const char *launched(void)
{
	waited[0] = '\0';
	clv_graph_wait_first(&exec, NULL, false);
	for (size_t i = 1; i < strlen(waited); i++) {
		for (size_t k = i; k > 0 && waited[k] < waited[k - 1]; k--) {
			char later = waited[k];

			waited[k] = waited[k - 1];
			waited[k - 1] = later;
		}
	}
	return waited;
}

static void check(const char *all, const char *pairs, const char *expected)
{
	struct graph graph = {all, pairs, 1};

	clv_graph_made(&exec, &graph);
	assert_string_equal(launched(), expected);
}

static void test_shapes(void **state)
{
	check("ab", "ab", "");
	check("W", "", "W");
	check("Wa", "Wa", "W");
	check("Wab", "Wa", "");             /* b may run meanwhile */
	check("Wab", "WaWb", "W");          /* branches behind it */
	check("aWb", "aWWb", "");           /* in the middle */
	check("VWa", "VWWa", "VW");         /* one behind the other */
	check("VWa", "VaWa", "VW");         /* beside each other */
	check("VWab", "VaWb", "");          /* each for its own branch */
	check("VWab", "WaabVb", "W");       /* a may run before V */
	check("VWabc", "VWWaabacVc", "VW"); /* by two paths */
	check("VWUa", "VWWUUa", "UVW");
}

static struct graph simple = {"Wa", "Wa", 7};

static void test_values(void **state)
{
	uint64_t value = 8;
	void *semaphore = node('W');
	struct {
		int type, more[3];
		void **semaphores;
		uint64_t *values;
		uint32_t n;
	} any = {AWAIT, {0}, &semaphore, &value, 1};

	clv_graph_made(&exec, &simple);
	assert_string_equal(launched(), "W");
	assert_int_equal(waited_value, 7);
	clv_graph_wait_set(&exec, node('W'), &any.semaphores);
	assert_string_equal(launched(), "W");
	assert_int_equal(waited_value, 8);
	value = 9;
	clv_graph_node_set(&exec, node('W'), &any);
	assert_string_equal(launched(), "W");
	assert_int_equal(waited_value, 9);
	clv_graph_wait_set(&exec, node('V'), &any.semaphores);
	assert_string_equal(launched(), "W");
}

/* A wait for a binary semaphore consumes the signal. */
static void test_binary(void **state)
{
	end(state);
	import_all(BINARY);
	check("Wa", "Wa", "");
}

static void test_moved_waits(void **state)
{
	clv_graph_made(&exec, &simple);
	captures = true;
	assert_string_equal(launched(), "");
	captures = false;
	assert_string_equal(launched(), "W");
	clv_semaphore_gone(node('W'));
	assert_string_equal(launched(), "");
	begin(state);
	assert_string_equal(launched(), "W");
	clv_graph_gone(&exec);
	assert_string_equal(launched(), "");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shapes),
		TEST(test_values),
		TEST(test_binary),
		TEST(test_moved_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
