/* SPDX-License-Identifier: Apache-2.0 */
/* How many actions are kept for the publishers of projects, and for how long. */
#include "agent/publish/actions.h"

#include "agent/auth/caller.h"
#include "agent/record/notify.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct clv_caller admin = {.scope = CLV_SCOPE_ADMIN, .subject = "root"};

static uint64_t now_s;
static sd_event *event;
static struct clv_notify *notify;

static int read_clock(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){.tv_sec = (time_t)now_s};
	return 0;
}

static int set_up(void **state)
{
	struct clv_actions *actions;

	now_s = 1000;
	atomic_store(&clv_clock_read, read_clock);
	if (sd_event_new(&event) < 0 || clv_notify_new(&notify, NULL) < 0 ||
		clv_actions_new(event, notify, &actions, NULL) < 0)
		return -1;
	*state = actions;
	return 0;
}

static int tear_down(void **state)
{
	clv_actions_free(*state);
	clv_notify_free(notify);
	sd_event_unref(event);
	return 0;
}

static int add_to(
	struct clv_actions *actions, const struct clv_actions_to *to, char ret[17])
{
	const struct clv_action *action;
	struct clv_error err;
	int r = clv_actions_add(
		actions, to, &admin, json_pack("{s:s}", "do", "x"), 30, &action, &err);

	if (r >= 0)
		strcpy(ret, action->id);
	return r;
}

static int add(struct clv_actions *actions, uint64_t publisher, uid_t owner, char ret[17])
{
	const struct clv_actions_to to = {publisher, owner, false, "ann", "shop"};

	return add_to(actions, &to, ret);
}

static void report(
	struct clv_actions *actions, uint64_t publisher, const char *id, const char *said)
{
	json_t *results = json_pack(
		"[{s:s, s:s, s:s}]", "id", id, "state", said, "why", "as asked");

	assert_true(clv_actions_settle(actions, publisher, results));
	json_decref(results);
}

static void settle(struct clv_actions *actions, uint64_t publisher, const char *id)
{
	report(actions, publisher, id, "done");
}

static enum clv_action_state state_of(struct clv_actions *actions, const char *id)
{
	return clv_actions_find(actions, &admin, id, NULL)->state;
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

/* What others have filled is not full for admins, whose results stay for them. */
static void test_of_admins(void **state)
{
	const struct clv_actions_to to = {400, 400, true, "root", "shop"};
	char ids[256][17], own[17], id[17];

	for (uint64_t i = 0; i < 256; i++)
		assert_int_equal(add(*state, i, (uid_t)i / 4, ids[i]), 0);
	assert_int_equal(add_to(*state, &to, own), 0);
	settle(*state, 400, own);
	assert_int_equal(add(*state, 300, 300, id), -EBUSY);
	assert_true(is_kept(*state, own));
}

/* A user's own results go before those of others. */
static void test_whose_results_go(void **state)
{
	char ids[256][17], id[17];

	for (uint64_t i = 0; i < 256; i++)
		assert_int_equal(add(*state, i, (uid_t)i / 4, ids[i]), 0);
	settle(*state, 8, ids[8]);
	settle(*state, 77, ids[77]);
	assert_int_equal(add(*state, 300, 77 / 4, id), 0);
	assert_true(is_kept(*state, ids[8]));
	assert_false(is_kept(*state, ids[77]));
}

static void test_what_has_ended_is_dropped(void **state)
{
	char id[17];

	assert_int_equal(add(*state, 1, 0, id), 0);
	now_s += 20;
	settle(*state, 1, id);
	now_s += 599;
	assert_true(is_kept(*state, id));
	now_s += 1;
	assert_false(is_kept(*state, id));
}

/* A supervisor that hangs says nothing; one that goes on says what came of it. */
static void test_what_runs_without_reports(void **state)
{
	char id[17];

	assert_int_equal(add(*state, 1, 0, id), 0);
	report(*state, 1, id, "running");
	now_s += 59;
	assert_int_equal(state_of(*state, id), CLV_ACTION_RUNNING);
	assert_false(clv_actions_settle(*state, 1, NULL));
	now_s += 59;
	assert_false(clv_actions_settle(*state, 2, NULL));
	assert_int_equal(state_of(*state, id), CLV_ACTION_RUNNING);
	now_s += 1;
	assert_int_equal(state_of(*state, id), CLV_ACTION_FAILED);
	report(*state, 1, id, "failed");
	assert_string_equal(clv_actions_find(*state, &admin, id, NULL)->why, "as asked");
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
		cmocka_unit_test_setup_teardown(test_of_admins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_whose_results_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_has_ended_is_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_runs_without_reports, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_end_of_a_publisher, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
