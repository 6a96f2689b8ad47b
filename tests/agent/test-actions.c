/* SPDX-License-Identifier: Apache-2.0 */
/* How many actions are kept for the publishers of projects. */
#include "agent/publish/actions.h"

#include "agent/auth/caller.h"
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct clv_caller admin = {.scope = CLV_SCOPE_ADMIN, .subject = "root"};

static int set_up(void **state)
{
	struct clv_actions *actions;

	if (clv_actions_new(&actions, NULL) < 0)
		return -1;
	*state = actions;
	return 0;
}

static int tear_down(void **state)
{
	clv_actions_free(*state);
	return 0;
}

static int add(struct clv_actions *actions, uint64_t publisher, uid_t owner, char ret[17])
{
	const struct clv_actions_to to = {publisher, owner, "ann", "shop"};
	const struct clv_action *action;
	struct clv_error err;
	int r = clv_actions_add(
		actions, &to, &admin, json_pack("{s:s}", "do", "x"), 30, &action, &err);

	if (r >= 0)
		strcpy(ret, action->id);
	return r;
}

static void settle(struct clv_actions *actions, uint64_t publisher, const char *id)
{
	json_t *results = json_pack(
		"[{s:s, s:s, s:s}]", "id", id, "state", "done", "why", "as asked");

	assert_true(clv_actions_settle(actions, publisher, results));
	json_decref(results);
}

static bool is_kept(struct clv_actions *actions, const char *id)
{
	return clv_actions_find(actions, &admin, id, NULL) != NULL;
}

static void test_of_a_publisher(void **state)
{
	char ids[8][17], id[17];

	for (size_t i = 0; i < 8; i++)
		assert_int_equal(add(*state, 1, 0, ids[i]), 0);
	assert_int_equal(add(*state, 1, 0, id), -EBUSY);
	settle(*state, 1, ids[3]);
	assert_int_equal(add(*state, 1, 0, id), 0);
	assert_true(is_kept(*state, ids[3]));
}

/* What has ended gives way, the oldest first; what waits does not. */
static void test_of_an_owner(void **state)
{
	char ids[16][17], id[17];

	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(add(*state, 1 + i / 8, 0, ids[i]), 0);
	assert_int_equal(add(*state, 3, 0, id), -EBUSY);
	assert_int_equal(add(*state, 4, 1, id), 0);
	settle(*state, 2, ids[12]);
	settle(*state, 1, ids[5]);
	assert_int_equal(add(*state, 3, 0, id), 0);
	assert_false(is_kept(*state, ids[5]));
	assert_true(is_kept(*state, ids[12]));
	assert_int_equal(add(*state, 3, 0, id), 0);
	assert_false(is_kept(*state, ids[12]));
	assert_int_equal(add(*state, 3, 0, id), -EBUSY);
}

static void test_of_all(void **state)
{
	char ids[256][17], id[17];

	for (uint64_t i = 0; i < 256; i++)
		assert_int_equal(add(*state, i, (uid_t)i / 4, ids[i]), 0);
	assert_int_equal(add(*state, 300, 300, id), -EBUSY);
	settle(*state, 77, ids[77]);
	assert_int_equal(add(*state, 300, 300, id), 0);
	assert_false(is_kept(*state, ids[77]));
}

/* Those of other publishers stay as they are. */
static void test_the_end_of_a_publisher(void **state)
{
	char given[17], waits[17], other[17];

	assert_int_equal(add(*state, 1, 0, given), 0);
	clv_actions_mark_sent(*state, clv_actions_next(*state, 1, NULL));
	assert_int_equal(add(*state, 1, 0, waits), 0);
	assert_int_equal(add(*state, 2, 0, other), 0);
	assert_true(clv_actions_leave(*state, 1));
	assert_false(clv_actions_leave(*state, 1));
	assert_int_equal(
		clv_actions_find(*state, &admin, given, NULL)->state, CLV_ACTION_FAILED);
	assert_int_equal(
		clv_actions_find(*state, &admin, waits, NULL)->state, CLV_ACTION_REFUSED);
	assert_int_equal(
		clv_actions_find(*state, &admin, other, NULL)->state, CLV_ACTION_WAITING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_of_a_publisher, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_of_an_owner, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_of_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_end_of_a_publisher, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
