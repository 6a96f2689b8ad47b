/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on different devices beside each other, and the kept layout of all of them
 * (apply-rows.h has the letters of events). */
#include "../unit/plan-apply.h"
#include "../unit/plan-world.h"
#include "apply-world.h"
#include "rows.h"

#include "agent/apply/apply-internal.h"
#include "agent/apply/apply.h"
#include "agent/http/http-internal.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FREE_AND(second) \
	"A100-40GB on name=gpu0 uuid=GPU-a\nA100-40GB on name=gpu1 uuid=GPU-b" second
#define USED_AND(second)                                                        \
	"A100-40GB on name=gpu0 uuid=GPU-a 1g.5gb@0!a\nA100-40GB on name=gpu1 " \
	"uuid=GPU-b" second
#define RULE(name, starts)                                                            \
	"- {select: {name: " name "}, partitions: [{profile: 1g.5gb, start: [" starts \
	"]}]}"
#define FIRST RULE("gpu0", "0")
#define SECOND RULE("gpu1", "0")
#define NOTHING "- {select: {name: gpu0}, partitions: []}"

static void see(const char *text)
{
	clv_node_clear(node());
	plan_node(text, node());
}

static int try_apply(const char *rule, bool waits, bool only, struct clv_operation **ret)
{
	struct clv_apply_request request = {.what = "apply l.yaml",
		.layout_name = "l.yaml",
		.keeps_layout = true,
		.is_acknowledged = true,
		.forgets_others = only,
		.has_on_busy = true,
		.on_busy = waits ? CLV_ON_BUSY_WAIT : CLV_ON_BUSY_FAIL};
	char layout[256];

	snprintf(layout, sizeof(layout), "version: 1\ndevices:\n%s\n", rule);
	request.layout = layout;
	return clv_apply_start(world.agent.apply, &request, ret, NULL);
}

static struct clv_operation *apply(const char *rule, bool waits)
{
	struct clv_operation *op = NULL;

	assert_int_equal(try_apply(rule, waits, false, &op), 0);
	return op;
}

static void happen_all(const char *letters)
{
	for (; *letters; letters++)
		happens(*letters);
}

static void remove_question(size_t i)
{
	world.n_questions--;
	memmove(world.questions + i, world.questions + i + 1,
		(world.n_questions - i) * sizeof(world.questions[0]));
}

/* Answers the step of the operation; what others ask stays asked. */
static void answer_step_of(const struct clv_operation *op, int code)
{
	struct world_question question;
	struct clv_error err = {0};
	size_t i = 0;

	while (i < world.n_questions && world.questions[i].userdata != op)
		i++;
	assert_true(i < world.n_questions);
	question = world.questions[i];
	assert_int_equal(question.kind, WORLD_STEP);
	remove_question(i);
	if (code == 0)
		assert_null(plan_apply(node(), &question.step));
	else
		clv_error_set(&err, code, "the driver says no");
	question.done(question.userdata, &err);
}

/* Answers the last question, a survey. */
static void answer_survey(int code)
{
	struct world_question question = world.questions[world.n_questions - 1];
	struct clv_error err = {0};

	assert_int_equal(question.kind, WORLD_ASK);
	world.n_questions--;
	if (code != 0)
		clv_error_set(&err, code, "the driver says no");
	question.done(question.userdata, &err);
}

static void answer_all_surveys(void)
{
	for (size_t i = 0; i < world.n_questions;) {
		struct world_question question = world.questions[i];

		if (question.kind != WORLD_ASK) {
			i++;
			continue;
		}
		remove_question(i);
		question.done(question.userdata, &(struct clv_error){0});
	}
}

static int count_journal(void *userdata, const struct clv_journal *journal)
{
	++*(size_t *)userdata;
	return 0;
}

static size_t n_journal(void)
{
	size_t n = 0;

	clv_store_read_journal(world.agent.state->store, count_journal, &n, NULL);
	return n;
}

static size_t n_partitions(size_t device)
{
	return node()->devices[device].n_partitions;
}

/* Whether the kept layout is listed for the device, in this state. */
static bool is_listed(const char *uuid, const char *state)
{
	json_t *devices = clv_reapply_to_json(world.agent.reapply), *device;
	bool is = false;
	size_t i;

	json_array_foreach (devices, i, device) {
		if (strcmp(json_string_value(json_object_get(device, "uuid")), uuid) == 0)
			is = strcmp(json_string_value(json_object_get(device, "state")),
				     state) == 0;
	}
	json_decref(devices);
	return is;
}

/* --- One that waits --- */

static void test_another_device_is_divided(void **state)
{
	struct clv_operation *waiting, *other;

	see(USED_AND(""));
	waiting = apply(NOTHING, true);
	happens('s');
	assert_int_equal(waiting->state, WAITING);
	other = apply(SECOND, false);
	happen_all("s+");
	assert_int_equal(other->state, DONE);
	assert_int_equal(waiting->state, WAITING);
	assert_int_equal(n_journal(), 1);
	happen_all("rws+");
	assert_int_equal(waiting->state, DONE);
	assert_int_equal(n_partitions(0), 0);
	assert_int_equal(n_partitions(1), 1);
}

static void test_the_same_device_is_not(void **state)
{
	struct clv_apply_request edit = {.what = "edit", .start = -1};
	struct clv_operation *waiting, *op;

	see(USED_AND(""));
	waiting = apply(NOTHING, true);
	happens('s');
	assert_int_equal(try_apply(FIRST, false, false, &op), -EBUSY);
	assert_int_equal(try_apply("- {select: {vendor: nvidia}, partitions: []}", false,
				 false, &op),
		-EBUSY);
	snprintf(edit.partition, sizeof(edit.partition), "gpu0/1g.5gb@0");
	assert_int_equal(clv_apply_start(world.agent.apply, &edit, &op, NULL), -EBUSY);
	snprintf(edit.partition, sizeof(edit.partition), "gpu1/1g.5gb@0");
	assert_int_equal(clv_apply_start(world.agent.apply, &edit, &op, NULL), 0);
	assert_int_equal(waiting->state, WAITING);
}

/* A request for a partition of any device is to get one that no operation has. */
static void test_which_devices_are_refused(void **state)
{
	struct clv_operation *waiting, *other;

	see(USED_AND("\nA100-40GB on name=gpu2 uuid=GPU-c"));
	assert_false(clv_apply_would_refuse(world.agent.apply, node(), "gpu0"));
	waiting = apply(NOTHING, true);
	happens('s');
	assert_int_equal(waiting->state, WAITING);
	other = apply(SECOND, false);
	assert_false(clv_operation_has_ended(other));
	assert_false(clv_apply_changes(world.agent.apply, node(), "gpu0"));
	assert_true(clv_apply_would_refuse(world.agent.apply, node(), "gpu0"));
	assert_true(clv_apply_would_refuse(world.agent.apply, node(), "gpu1"));
	assert_false(clv_apply_would_refuse(world.agent.apply, node(), "gpu2"));
	happen_all("s+");
	assert_true(clv_operation_has_ended(other));
	assert_false(clv_apply_would_refuse(world.agent.apply, node(), "gpu1"));
}

/* Though a device that is divided already would be preferred. */
static void test_partition_of_another_device_for_a_lease(void **state)
{
	struct clv_exchange http = {
		.request = {
			.caller.scope = CLV_SCOPE_ADMIN, .number = 1, .is_late = true}};
	struct clv_lease_request wanted = {.share.memory_bytes = 4000000000};
	struct clv_operation *waiting;
	struct clv_error err = {0};

	see("A100-40GB on name=gpu0 uuid=GPU-a 1g.5gb@0!a\nA100-40GB name=gpu1 "
	    "uuid=GPU-b");
	waiting = apply(NOTHING, true);
	happens('s');
	assert_int_equal(waiting->state, WAITING);
	assert_int_equal(
		clv_ephemeral_get(world.agent.ephemeral, &http.request, &wanted, &err),
		-EINPROGRESS);
	assert_string_equal(err.msg, "");
	assert_string_equal(last()->request.device, "gpu1");
	assert_string_equal(last()->request.profile, "1g.5gb");
}

/* The driver's reload ends the work on all of its devices. */
static void test_nor_one_that_a_reload_affects(void **state)
{
	struct clv_operation *waiting, *op;

	see("MI300X name=gpu0 uuid=GPU-a offers=NPS1,NPS4 asked=NPS1 !a\n"
	    "MI300X name=gpu1 uuid=GPU-b offers=NPS1,NPS4 asked=NPS1");
	waiting =
		apply("- {select: {name: gpu0}, partitions: [{profile: CPX/NPS1, count: "
		      "8}]}",
			true);
	happens('s');
	assert_int_equal(waiting->state, WAITING);
	op = apply(
		"- {select: {name: gpu1}, partitions: [{profile: CPX/NPS4, count: 8}]}",
		false);
	happens('s');
	assert_int_equal(op->state, FAILED);
	assert_int_equal(op->error.code, -EBUSY);
}

/* --- One that carries out steps --- */

static void test_steps_of_another_device(void **state)
{
	struct clv_operation *first, *second;

	see(FREE_AND(""));
	first = apply(RULE("gpu0", "0, 1"), false);
	happens('s');
	second = apply(SECOND, false);
	assert_int_equal(first->state, RUNNING);
	answer_survey(0);
	assert_int_equal(second->state, RUNNING);
	assert_int_equal(n_journal(), 2);
	answer_step_of(second, 0);
	assert_int_equal(second->state, DONE);
	answer_step_of(first, 0);
	answer_step_of(first, 0);
	assert_int_equal(first->state, DONE);
	assert_int_equal(n_partitions(0), 2);
	assert_int_equal(n_partitions(1), 1);
	assert_true(is_listed("GPU-a", "applied"));
	assert_true(is_listed("GPU-b", "applied"));
}

static void test_steps_of_the_same_device(void **state)
{
	struct clv_operation *op;

	see(FREE_AND(""));
	apply(RULE("gpu0", "0, 1"), false);
	assert_int_equal(try_apply(NOTHING, false, false, &op), -EBUSY);
	happens('s');
	assert_int_equal(try_apply(NOTHING, false, false, &op), -EBUSY);
	happens('+');
	assert_int_equal(try_apply(NOTHING, true, false, &op), -EBUSY);
}

/* What a roll-back restores was before that operation, on its devices. */
static void test_a_roll_back_leaves_other_devices(void **state)
{
	struct clv_operation *first, *second;

	see(FREE_AND(""));
	first = apply(RULE("gpu0", "0, 1"), false);
	happens('s');
	second = apply(SECOND, false);
	answer_survey(0);
	answer_step_of(second, 0);
	answer_step_of(first, 0);
	answer_step_of(first, -EIO);
	assert_int_equal(first->state, ROLLING_BACK);
	happen_all("s+");
	assert_int_equal(first->state, ROLLED_BACK);
	assert_int_equal(second->state, DONE);
	assert_int_equal(n_partitions(0), 0);
	assert_int_equal(n_partitions(1), 1);
}

#define MI300X_A(modes) "MI300X name=gpu0 uuid=GPU-a offers=NPS1,NPS4 " modes "\n"
#define MI300X_B "MI300X name=gpu1 uuid=GPU-b offers=NPS1,NPS4 asked=NPS1"
#define CPX(name) \
	"- {select: {name: " name "}, partitions: [{profile: CPX/NPS1, count: 8}]}"

static size_t n_asked_by(const struct clv_operation *op)
{
	size_t n = 0;

	for (size_t i = 0; i < world.n_questions; i++)
		n += world.questions[i].userdata == op;
	return n;
}

/* Its way back can need the reload of a driver that its way there did not: the steps of
 * the later one on the driver's other devices end first. */
static void test_a_way_back_waits_for_the_steps_of_the_later(void **state)
{
	struct clv_operation *first, *second;

	see(MI300X_A("asked=NPS1") MI300X_B);
	first = apply(CPX("gpu0"), false);
	happens('s');
	second = apply(CPX("gpu1"), false);
	answer_survey(0);
	assert_int_equal(first->state, RUNNING);
	assert_int_equal(second->state, RUNNING);
	see(MI300X_A("CPX/NPS4 asked=NPS4") MI300X_B);
	answer_step_of(first, -EIO);
	answer_survey(0);
	assert_int_equal(first->state, ROLLING_BACK);
	assert_int_equal(n_asked_by(first), 0);
	answer_step_of(second, 0);
	assert_int_equal(second->state, DONE);
	happen_all("ws+");
	assert_int_equal(n_asked_by(first), 1);
}

/* Both ways back: the later one waits. */
static void test_of_two_ways_back_the_earlier_goes_first(void **state)
{
	struct clv_operation *first, *second;

	see(MI300X_A("asked=NPS1") MI300X_B);
	first = apply(CPX("gpu0"), false);
	happens('s');
	second = apply(CPX("gpu1"), false);
	answer_survey(0);
	see(MI300X_A("CPX/NPS4 asked=NPS4") MI300X_B);
	answer_step_of(first, -EIO);
	answer_survey(0);
	answer_step_of(second, -EIO);
	answer_survey(0);
	assert_int_equal(second->state, ROLLING_BACK);
	happens('w');
	answer_all_surveys();
	assert_int_equal(n_asked_by(second), 0);
	assert_int_equal(n_asked_by(first), 1);
	assert_int_equal(world.questions[0].kind, WORLD_STEP);
}

/* A survey of one operation that fails hides the devices of the others. */
static void test_a_failed_survey_beside_the_last_step(void **state)
{
	struct clv_operation *first, *second;

	see(FREE_AND(""));
	first = apply(FIRST, false);
	happens('s');
	second = apply(SECOND, false);
	assert_int_equal(world.n_questions, 2);
	see("");
	answer_survey(-EIO);
	assert_int_equal(second->state, FAILED);
	world.questions[0].done(world.questions[0].userdata, &(struct clv_error){0});
	remove_question(0);
	see("A100-40GB on name=gpu0 uuid=GPU-a 1g.5gb@0\nA100-40GB on name=gpu1 "
	    "uuid=GPU-b");
	assert_int_equal(first->state, RUNNING);
	happens('s');
	assert_int_equal(first->state, DONE);
}

static void test_the_next_agent_goes_on_with_both(void **state)
{
	struct clv_operation *op;

	see(FREE_AND(""));
	apply(RULE("gpu0", "0, 1"), false);
	happens('s');
	apply(RULE("gpu1", "0, 1"), false);
	answer_survey(0);
	answer_step_of(last(), 0);
	next_agent();
	assert_int_equal(n_journal(), 2);
	happens('b');
	for (size_t i = 0; i < 2; i++) {
		op = clv_apply_at(world.agent.apply, i);
		assert_int_equal(op->state, RUNNING);
	}
	answer_step_of(op, -EIO);
	assert_int_equal(op->state, ROLLING_BACK);
	op = clv_apply_at(world.agent.apply, 0);
	answer_step_of(op, 0);
	answer_step_of(op, 0);
	assert_int_equal(op->state, DONE);
	happen_all("s+");
	assert_int_equal(last()->state, ROLLED_BACK);
	assert_int_equal(n_partitions(0), 2);
	assert_int_equal(n_partitions(1), 0);
	assert_int_equal(n_journal(), 0);
}

/* An operation that an earlier agent has begun waits for minutes for what has gone. */
static void test_beside_one_that_is_resumed(void **state)
{
	struct clv_operation *resumed, *other;

	see(FREE_AND(""));
	apply(RULE("gpu0", "0, 1"), false);
	happen_all("s+");
	next_agent();
	see("A100-40GB on name=gpu1 uuid=GPU-b");
	happens('s');
	resumed = last();
	assert_int_equal(resumed->state, WAITING);
	assert_non_null(resumed->before);
	other = apply(SECOND, false);
	happen_all("s+");
	assert_int_equal(other->state, DONE);
	see(FREE_AND(" 1g.5gb@0"));
	happen_all("ws+");
	happens('+');
	assert_int_equal(resumed->state, DONE);
	assert_int_equal(n_partitions(1), 1);
}

/* A device that was not shown as a change of it was accepted. */
static void test_a_change_of_what_one_that_is_resumed_has(void **state)
{
	struct clv_operation *resumed, *other;

	see(FREE_AND(""));
	apply(RULE("gpu0", "0, 1"), false);
	happen_all("s+");
	next_agent();
	see("A100-40GB on name=gpu1 uuid=GPU-b");
	happens('s');
	resumed = last();
	assert_int_equal(resumed->state, WAITING);
	other = apply(NOTHING, false);
	see(FREE_AND(""));
	happens('s');
	assert_int_equal(other->state, FAILED);
	assert_int_equal(other->error.code, -EBUSY);
	assert_int_equal(resumed->state, WAITING);
}

/* The kept layout of another device, too. */
static void test_the_kept_layout_beside_one_that_is_resumed(void **state)
{
	see(FREE_AND(""));
	apply(SECOND, false);
	happen_all("s+");
	apply(RULE("gpu0", "0, 1"), false);
	happen_all("s+");
	next_agent();
	see("A100-40GB on name=gpu1 uuid=GPU-b");
	happens('s');
	assert_int_equal(last()->state, WAITING);
	happen_all("wbs+");
	assert_int_equal(n_partitions(0), 1); /* of gpu1, the only one that is shown */
	assert_true(is_listed("GPU-b", "applied"));
}

static void test_the_next_agent_waits_for_both(void **state)
{
	struct clv_operation *op;

	see(USED_AND(" 1g.5gb@0!b"));
	apply(NOTHING, true);
	happens('s');
	apply("- {select: {name: gpu1}, partitions: []}", true);
	happens('s');
	assert_int_equal(n_journal(), 2);
	next_agent();
	happens('b');
	for (size_t i = 0; i < 2; i++) {
		op = clv_apply_at(world.agent.apply, i);
		assert_int_equal(op->state, WAITING);
	}
	plan_end_lease(node(), "b");
	happens('w');
	happens('b');
	happens('+');
	assert_int_equal(n_partitions(0), 1);
	assert_int_equal(n_partitions(1), 0);
	assert_int_equal(n_journal(), 1);
}

/* One that the agent before had begun, and that has changed nothing, waits like one that
 * has not begun. */
static void test_the_next_agent_has_not_begun(void **state)
{
	struct clv_operation *waiting, *other;

	see("A100-40GB on name=gpu0 uuid=GPU-a 1g.5gb@0\nA100-40GB on name=gpu1 "
	    "uuid=GPU-b");
	waiting = apply(NOTHING, true);
	happens('s');
	assert_int_equal(waiting->state, RUNNING);
	next_agent();
	happen_all("hs");
	waiting = last();
	assert_int_equal(waiting->state, WAITING);
	other = apply(SECOND, false);
	happen_all("s+");
	assert_int_equal(other->state, DONE);
	next_agent();
	happens('s');
	assert_int_equal(last()->state, WAITING);
}

/* --- The kept layout --- */

static void test_it_is_applied_again_beside(void **state)
{
	see(USED_AND(""));
	apply(SECOND, false);
	happen_all("s+");
	apply(NOTHING, true);
	happens('s');
	see(USED_AND("")); /* a restart has undone it */
	next_agent();
	happen_all("swbs+");
	assert_int_equal(n_partitions(1), 1);
	assert_true(is_listed("GPU-b", "applied"));
	assert_int_equal(n_journal(), 1);
}

static void test_a_layout_of_another_device_is_added(void **state)
{
	see(FREE_AND(""));
	apply(FIRST, false);
	happen_all("s+");
	apply(SECOND, false);
	happen_all("s+");
	assert_true(is_listed("GPU-a", "applied"));
	assert_true(is_listed("GPU-b", "applied"));
	see(FREE_AND(""));
	clv_reapply_compare(world.agent.reapply);
	assert_true(is_listed("GPU-a", "changed"));
	next_agent();
	happens('s');
	happen_all("s+wss+");
	assert_int_equal(n_partitions(0), 1);
	assert_int_equal(n_partitions(1), 1);
}

static void test_the_last_one_counts(void **state)
{
	see(FREE_AND(""));
	apply(FIRST, false);
	happen_all("s+");
	apply(SECOND, false);
	happen_all("s+");
	apply(NOTHING, false);
	happen_all("s+");
	see(FREE_AND(""));
	next_agent();
	happens('s');
	happen_all("s+");
	assert_int_equal(n_partitions(0), 0);
	assert_int_equal(n_partitions(1), 1);
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
}

/* A device that is gone stays in the kept layout until a layout is to be the only one. */
static void test_only_one(void **state)
{
	struct clv_operation *op;

	see(FREE_AND(""));
	apply(FIRST, false);
	happen_all("s+");
	see("A100-40GB on name=gpu1 uuid=GPU-b");
	apply(SECOND, false);
	happen_all("s+");
	next_agent();
	happens('s');
	assert_true(is_listed("GPU-a", "gone"));
	assert_int_equal(try_apply(SECOND, false, true, &op), 0);
	happens('s');
	assert_int_equal(op->state, DONE);
	assert_false(is_listed("GPU-a", "gone"));
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
}

int main(void)
{
	static struct rows rows;

	ROWS_ONE(&rows, test_another_device_is_divided);
	ROWS_ONE(&rows, test_the_same_device_is_not);
	ROWS_ONE(&rows, test_which_devices_are_refused);
	ROWS_ONE(&rows, test_partition_of_another_device_for_a_lease);
	ROWS_ONE(&rows, test_nor_one_that_a_reload_affects);
	ROWS_ONE(&rows, test_steps_of_another_device);
	ROWS_ONE(&rows, test_steps_of_the_same_device);
	ROWS_ONE(&rows, test_a_roll_back_leaves_other_devices);
	ROWS_ONE(&rows, test_a_way_back_waits_for_the_steps_of_the_later);
	ROWS_ONE(&rows, test_of_two_ways_back_the_earlier_goes_first);
	ROWS_ONE(&rows, test_a_failed_survey_beside_the_last_step);
	ROWS_ONE(&rows, test_the_next_agent_goes_on_with_both);
	ROWS_ONE(&rows, test_beside_one_that_is_resumed);
	ROWS_ONE(&rows, test_a_change_of_what_one_that_is_resumed_has);
	ROWS_ONE(&rows, test_the_kept_layout_beside_one_that_is_resumed);
	ROWS_ONE(&rows, test_the_next_agent_waits_for_both);
	ROWS_ONE(&rows, test_the_next_agent_has_not_begun);
	ROWS_ONE(&rows, test_it_is_applied_again_beside);
	ROWS_ONE(&rows, test_a_layout_of_another_device_is_added);
	ROWS_ONE(&rows, test_the_last_one_counts);
	ROWS_ONE(&rows, test_only_one);
	rows_set_up(&rows, apply_begin, apply_end);
	return rows_run(&rows);
}
