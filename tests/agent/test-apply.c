/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: each state, with every event of drivers, tenants, the disk and a next
 * agent (apply-rows.h). The drivers are the node in memory of the planner's tests. */
#include "../unit/plan-world.h"
#include "apply-rows.h"
#include "apply-world.h"
#include "rows.h"

#include "agent/apply/apply-internal.h"
#include "agent/apply/apply.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- What must be so in each state --- */

static int count_journal(void *userdata, const struct clv_journal *journal)
{
	++*(size_t *)userdata;
	return 0;
}

static bool has_journal(void)
{
	size_t n = 0;

	clv_store_read_journal(world.agent.state->store, count_journal, &n, NULL);
	return n > 0;
}

static int count_text(void *userdata, const char *text)
{
	++*(size_t *)userdata;
	return 0;
}

static size_t n_ended(void)
{
	size_t n = 0;

	clv_store_read_ended(world.agent.state->store, count_text, &n, NULL);
	return n;
}

/* Whether a question is open whose answer the operation waits for. */
static bool is_asked(void)
{
	return world.n_questions > 0 && world.questions[0].done;
}

static void check_state(const struct clv_operation *op, bool had_full_disk, bool goes)
{
	bool has_ended = op->state >= DONE;

	assert_int_equal(clv_operation_has_ended(op), has_ended);
	assert_int_equal(clv_apply_is_busy(world.agent.apply), !has_ended);
	/* A partition that will be destroyed takes no new lease; afterwards all devices
	 * do again. */
	if (goes && (op->state == RUNNING || op->state == WAITING))
		assert_true(part->is_changing);
	if (has_ended)
		assert_false(part->is_changing || part->parent->is_changing);
	/* What was accepted is recorded until its end. */
	if (!had_full_disk)
		assert_int_equal(has_journal(), !has_ended);
	/* The operation waits for the drivers or for a timer, or has ended. */
	if (!has_ended || !had_full_disk)
		assert_int_equal(is_asked() || op->timer != NULL, !has_ended);
}

static void check_end(const struct clv_operation *op, const struct row *row)
{
	struct clv_error err = {0};
	bool had_full_disk = strchr(row->happens, 'd') != NULL;

	clv_operation_error(op, &err);
	assert_int_equal(err.code, row->code ? row->code : -ETIMEDOUT);
	assert_int_equal(world_n_events(CLV_EVENT_APPLY_FAILED), op->state == FAILED);
	assert_int_equal(
		world_n_events(CLV_EVENT_APPLY_ROLLED_BACK), op->state == ROLLED_BACK);
	/* Each agent that completes the operation emits one event. */
	assert_int_equal(world_n_events(CLV_EVENT_APPLY_DONE),
		(op->state == DONE && op->before != NULL) +
			(strchr(row->happens, 'D') != NULL));
	if (!had_full_disk)
		assert_int_equal(n_ended(), 1);
}

static size_t n_partitions(void)
{
	return node()->n_devices > 0 ? node()->devices[0].n_partitions : 0;
}

static struct clv_operation *start(const struct row *row)
{
	struct clv_apply_request request = {.what = "apply l.yaml",
		.layout_name = "l.yaml",
		.keeps_layout = true,
		.is_acknowledged = true,
		.has_on_busy = true,
		.on_busy = row->waits ? CLV_ON_BUSY_WAIT : CLV_ON_BUSY_FAIL};
	struct clv_operation *op = NULL;
	struct clv_error err = {0};
	char layout[256];

	snprintf(layout, sizeof(layout), "version: 1\ndevices:\n%s\n", row->rules);
	request.layout = layout;
	plan_node(row->node, node());
	if (clv_apply_start(world.agent.apply, &request, &op, &err) < 0)
		fail_msg("%s", err.msg);
	return op;
}

static void test_layout(void **state)
{
	const struct row *row = *state;
	size_t n_before, at = 0, n_agents = 0;
	char states[40] = "";

	states[at++] = STATES[start(row)->state];
	n_before = n_partitions();
	for (const char *p = row->happens; *p; p++) {
		bool has_full_disk =
			memchr(row->happens, 'd', (size_t)(p - row->happens + 1));

		happens(*p);
		n_agents += *p == 'A';
		states[at++] = STATES[last()->state];
		check_state(last(), has_full_disk, strcmp(row->rules, WANT_NONE) == 0);
	}
	assert_string_equal(states, row->states);
	if (clv_operation_has_ended(last()))
		check_end(last(), row);
	if (last()->state == ROLLED_BACK)
		assert_int_equal(n_partitions(), n_before);
	assert_int_equal(world_n_events(CLV_EVENT_APPLY_RESUMED), n_agents);
}

/* --- One partition more or less --- */

static bool matches(const char *pattern, const char *text)
{
	size_t length = strcspn(pattern, "*");

	return strncmp(pattern, text, length) == 0 &&
	       (pattern[length] == '*' || text[length] == '\0');
}

static void test_edit(void **state)
{
	const struct edit_row *row = *state;
	struct clv_apply_request request = {
		.what = "edit", .count = 1, .start = row->start};
	struct clv_operation *op = NULL;
	struct clv_error err = {0};
	char states[16] = "U";

	snprintf(request.device, sizeof(request.device), "%s", row->device);
	snprintf(request.profile, sizeof(request.profile), "%s", row->profile);
	snprintf(request.partition, sizeof(request.partition), "%s", row->partition);
	plan_node(row->node, node());
	assert_int_equal(clv_apply_start(world.agent.apply, &request, &op, &err), 0);
	for (size_t i = 0; row->happens[i]; i++) {
		happens(row->happens[i]);
		states[i + 1] = STATES[op->state];
	}
	assert_string_equal(states, row->states);
	assert_int_equal(op->error.code, row->code);
	if (!matches(row->created, clv_operation_created(op)))
		fail_msg("%s is not %s", clv_operation_created(op), row->created);
}

/* A reload of the driver takes the lock of each of its devices: another agent's leases
 * may be on one that the layout does not name. */
static void test_claims_what_a_reload_affects(void **state)
{
	struct clv_agent_device *other = world_device(192 * GIB);
	char text[160];
	struct row row = {"", text,
		"- {select: {name: gpu0}, partitions: [{profile: CPX/NPS4, count: 8}]}",
		.waits = false};

	snprintf(text, sizeof(text),
		"MI300X offers=NPS1,NPS4 asked=NPS1\nMI300X offers=NPS1,NPS4 asked=NPS1 "
		"uuid=%s",
		other->info.uuid);
	world.locked_uuid = other->info.uuid;
	start(&row);
	happens('s');
	assert_int_equal(last()->state, FAILED);
	assert_int_equal(last()->error.code, -EADDRINUSE);
	world.locked_uuid = NULL;
	clv_node_clear(node());
	start(&row);
	happens('s');
	assert_int_equal(last()->state, RUNNING);
	assert_true(other->lock_fd >= 0);
}

/* --- Several operations --- */

static void test_one_of_a_device_at_a_time(void **state)
{
	const struct row row = {"", EMPTY, WANT_ONE, .waits = false};
	struct clv_apply_request request = {
		.what = "second", .partition = "gpu0/1g.5gb@0", .start = -1};
	struct clv_operation *op, *first = start(&row);

	assert_int_equal(clv_apply_start(world.agent.apply, &request, &op, NULL), -EBUSY);
	assert_ptr_equal(last(), first);
	happens('s');
	happens('+');
	assert_int_equal(clv_apply_start(world.agent.apply, &request, &op, NULL), 0);
	assert_ptr_equal(clv_apply_find(world.agent.apply, op->id, NULL), op);
	assert_null(clv_apply_find(world.agent.apply, "o0", NULL));
}

static void test_wrong_text(void **state)
{
	struct clv_apply_request request = {
		.what = "x", .layout = "version: 7\n", .layout_name = "l.yaml"};
	struct clv_operation *op;

	assert_int_equal(
		clv_apply_start(world.agent.apply, &request, &op, NULL), -EINVAL);
	assert_null(clv_apply_at(world.agent.apply, 0));
	assert_int_equal(world.n_questions, 0);
}

static void test_so_many_are_remembered(void **state)
{
	struct clv_apply_request request = {.what = "x", .start = -1};
	struct clv_operation *op;

	for (unsigned int i = 0; i < CLV_OPERATIONS_KEPT + 5; i++) {
		assert_int_equal(
			clv_apply_start(world.agent.apply, &request, &op, NULL), 0);
		happens('S');
	}
	assert_non_null(clv_apply_at(world.agent.apply, CLV_OPERATIONS_KEPT - 1));
	assert_null(clv_apply_at(world.agent.apply, CLV_OPERATIONS_KEPT));
}

/* An end that a full disk did not take is recorded when it has room, and no agent goes on
 * with the operation. */
static void test_end_is_recorded_later(void **state)
{
	const struct row row = {"", EMPTY, WANT_TWO, .waits = false};

	start(&row);
	for (const char *p = "sd+s+"; *p; p++)
		happens(*p);
	assert_int_equal(last()->state, ROLLED_BACK);
	world_pass_s(10);
	assert_true(has_journal());
	happens('D');
	happens('W');
	assert_false(has_journal());
	assert_int_equal(n_ended(), 1);
	next_agent();
	assert_null(last());
}

/* It is recorded before another operation begins: a next agent would go on with the first
 * one, after the second. */
static void test_end_is_recorded_before_another(void **state)
{
	const struct row two = {"", EMPTY, WANT_TWO, .waits = false};
	const struct row one = {"", EMPTY, WANT_ONE, .waits = false};
	struct clv_apply_request request = {.what = "second"};
	struct clv_operation *op;
	struct clv_error err;

	start(&two);
	for (const char *p = "sd+s+"; *p; p++)
		happens(*p);
	assert_int_equal(
		clv_apply_start(world.agent.apply, &request, &op, &err), -ENOSPC);
	happens('D');
	clv_node_clear(node());
	start(&one);
	assert_int_equal(n_ended(), 1);
	happens('s');
	happens('W');
	happens('+');
	assert_false(has_journal());
	assert_int_equal(n_ended(), 2);
}

/* One partition more is recorded when it is accepted, with all that makes it. */
static void test_edit_is_accepted(void **state)
{
	struct clv_apply_request request = {
		.what = "edit", .count = 1, .start = 4, .is_acknowledged = true};
	struct clv_operation *op;

	snprintf(request.device, sizeof(request.device), "gpu0");
	snprintf(request.profile, sizeof(request.profile), "1g.5gb");
	plan_node(ONE, node());
	assert_int_equal(clv_apply_start(world.agent.apply, &request, &op, NULL), 0);
	next_agent();
	happens('s');
	happens('+');
	assert_string_equal(clv_operation_created(last()), "gpu0/1g.5gb@4");
}

#define BY_INDEX "- {select: {index: 0}, partitions: [{profile: 1g.5gb, start: [0]}]}"

/* Which device an index meant is recorded when the layout is accepted. */
static void test_index_is_recorded(void **state)
{
	const struct row row = {
		"", "A100-40GB on name=gpu1 uuid=GPU-b", BY_INDEX, .waits = false};

	start(&row);
	clv_node_clear(node());
	plan_node("A100-40GB on name=gpu0 uuid=GPU-a\nA100-40GB on name=gpu1 uuid=GPU-b",
		node());
	next_agent();
	happens('s');
	happens('+');
	assert_int_equal(last()->state, DONE);
	assert_int_equal(node()->devices[0].n_partitions, 0);
	assert_int_equal(node()->devices[1].n_partitions, 1);
}

/* It is not guessed if the drivers had not answered then. */
static void test_index_is_not_guessed(void **state)
{
	const struct row row = {"", "", BY_INDEX, .waits = false};

	start(&row);
	plan_node(EMPTY, node());
	next_agent();
	assert_int_equal(last()->state, FAILED);
	assert_non_null(strstr(last()->error.msg, "by index"));
	assert_int_equal(n_ended(), 1);
	assert_int_equal(world.n_questions, 0);
}

/* Whether a new partition of the device would wait for the kept layout. */
static bool is_delayed(const char *device, bool forgets_others)
{
	struct clv_apply_request request = {
		.count = 1, .start = -1, .forgets_others = forgets_others};

	snprintf(request.device, sizeof(request.device), "%s", device);
	return clv_reapply_delays(world.agent.reapply, &request);
}

/* The next agent applies a layout again, and destroys nothing. */
static void test_again(void **state)
{
	const struct row row = {"", EMPTY, WANT_ONE, .waits = false};

	start(&row);
	happens('s');
	happens('+');
	clv_node_clear(node());
	plan_node("A100-40GB on 1g.5gb@4\nA100-40GB on", node());
	next_agent();
	for (size_t i = 0; i < 2; i++) {
		assert_true(is_delayed("gpu0", false));
		assert_false(is_delayed("gpu1", false));
		assert_true(is_delayed("gpu1", true));
		happens('s');
	}
	happens('+');
	assert_int_equal(last()->state, DONE);
	assert_false(is_delayed("gpu0", true));
	assert_int_equal(n_partitions(), 2);
}

/* A device that is in use, then gone: the next looks are 1, 2 and 4 seconds later,
 * without an operation, and one event is emitted for each reason. */
static void test_again_waits(void **state)
{
	const struct row row = {"", EMPTY, WANT_ONE, .waits = false};
	static const unsigned int waits_s[] = {1, 2, 4};
	struct clv_operation *op;

	start(&row);
	happens('s');
	happens('+');
	clv_node_clear(node());
	plan_node("A100-40GB on 7g.40gb@0!a", node());
	next_agent();
	happens('s');
	for (size_t i = 0; i < CLV_ARRAY_SIZE(waits_s); i++) {
		assert_null(last());
		assert_false(clv_reapply_is_active(world.agent.reapply));
		assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 1);
		if (waits_s[i] > 1)
			world_pass_s(waits_s[i] - 1);
		assert_int_equal(world.n_questions, 0);
		if (i == 1)
			clv_node_clear(node());
		world_pass_s(1);
		happens('s');
	}
	assert_int_equal(world_n_events(CLV_EVENT_LAYOUT_WAITS), 2);
	/* It is back, and nothing uses it. */
	plan_node("A100-40GB on", node());
	world_pass_s(8);
	happens('s');
	op = last();
	happens('s');
	happens('+');
	assert_int_equal(op->state, DONE);
	world_pass_s(60);
	assert_int_equal(world.n_questions, 0);
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
}

/* A layout that an earlier version has kept with names: it is resolved once its device is
 * shown as the layout wants it, and until then one event is emitted. */
static void test_old_layout_is_resolved_later(void **state)
{
	static const char text[] = "version: 1\ndevices:\n" WANT_ONE "\n";
	struct clv_store *store = world.agent.state->store;

	assert_int_equal(clv_store_put_layout(store, text, "", NULL), 0);
	next_agent();
	happens('S');
	happens('W');
	for (unsigned int i = 0; i < 2; i++) {
		happens('s');
		assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 1);
		assert_int_equal(world_n_events(CLV_EVENT_LAYOUT_WAITS), 1);
		happens('W');
	}
	plan_node(ONE, node());
	happens('s');
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
	assert_null(last());
}

/* The kept layout is applied again behind an operation that still waits, and no request
 * waits for that. */
static void test_again_behind_a_wait(void **state)
{
	const struct row one = {"", ONE, WANT_ONE, .waits = false};
	const struct row none = {"", HELD, WANT_NONE, .waits = true};

	start(&one);
	happens('s');
	clv_node_clear(node());
	start(&none);
	happens('s');
	next_agent();
	assert_true(clv_reapply_is_active(world.agent.reapply));
	happens('s');
	assert_int_equal(last()->state, WAITING);
	happens('w');
	happens('b');
	assert_false(clv_reapply_is_active(world.agent.reapply));
	happens('r');
	happens('w');
	happens('s');
	happens('+');
	assert_int_equal(last()->state, DONE);
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
}

/* An operation that ended under an earlier agent is listed by the next one. */
static void test_past(void **state)
{
	const struct row row = {"", EMPTY, WANT_ONE, .waits = false};
	json_t *past;

	start(&row);
	happens('s');
	happens('+');
	past = clv_apply_past(world.agent.apply);
	assert_int_equal(json_array_size(past), 0); /* it ended under this agent */
	json_decref(past);
	next_agent();
	past = clv_apply_past(world.agent.apply);
	assert_int_equal(json_array_size(past), 1);
	json_decref(past);
}

/* --- Partitions that go with their lease --- */

static struct clv_ephemeral *begin_made(void)
{
	plan_node(ONE, node());
	clv_ephemeral_add(world.agent.ephemeral, "gpu0/1g.5gb@0", false);
	return world.agent.ephemeral;
}

static int take_made(void *userdata, const char *name, bool turned_on)
{
	return count_text(userdata, name);
}

static size_t n_stored_made(void)
{
	size_t n = 0;

	clv_store_read_ephemeral(world.agent.state->store, take_made, &n, NULL);
	return n;
}

static void show(char letter)
{
	if (letter == 'u' || letter == '-')
		return;
	clv_node_clear(node());
	if (letter != 'x')
		plan_node(letter == 'o' ? ONE : EMPTY, node());
	if (letter == 'h')
		node()->devices[0].mig.is_capable = false;
	part->is_present = letter == 'o';
}

static void test_made(void **state)
{
	const struct made_row *row = *state;
	struct clv_lease *lease = NULL;
	struct clv_ephemeral *made = begin_made();

	for (const char *p = row->seconds; *p; p++) {
		assert_int_equal(world.n_questions, 0);
		if (*p == 'u' && !lease)
			lease = world_lease(
				part, &(struct world_lease){"a", ALICE, 100, GIB});
		if (*p == '-' && lease) {
			world_drop(lease);
			lease = NULL;
		}
		show(*p);
		clv_ephemeral_tick(made);
	}
	assert_int_equal(world.n_questions, row->is_destroyed);
	assert_int_equal(n_stored_made(), !row->is_forgotten);
	/* The name is deleted once partition and lease are gone. */
	if (lease)
		world_drop(lease);
	if (row->is_destroyed) {
		happens('s');
		happens('+');
	} else {
		show('e');
	}
	clv_ephemeral_tick(made);
	assert_int_equal(n_stored_made(), 0);
}

/* What keeps a partition from being destroyed is not found out each second, and keeps no
 * other one. */
static void test_made_in_use(void **state)
{
	struct clv_ephemeral *made = world.agent.ephemeral;
	unsigned int n_tries = 0;

	plan_node("A100-40GB on 1g.5gb@0!a 1g.5gb@4", node());
	clv_ephemeral_add(made, "gpu0/1g.5gb@0", false);
	clv_ephemeral_add(made, "gpu0/1g.5gb@4", false);
	for (unsigned int second = 0; second < 200; second++) {
		clv_ephemeral_tick(made);
		if (world.n_questions == 0)
			continue;
		n_tries++;
		happens('s');
		if (last()->state == RUNNING)
			happens('+');
	}
	assert_int_equal(n_partitions(), 1);
	assert_int_equal(n_stored_made(), 1);
	/* After 10 seconds, then 1, 2, 4, ... 64 later; and once for the other. */
	assert_int_equal(n_tries, 8 + 1);
	plan_end_lease(node(), "a");
	for (unsigned int second = 0; second < 128 && n_partitions() > 0; second++) {
		clv_ephemeral_tick(made);
		if (world.n_questions == 0)
			continue;
		happens('s');
		happens('+');
	}
	assert_int_equal(n_partitions(), 0);
}

static void test_kept(void **state)
{
	const struct kept_row *row = *state;
	const struct row layout = {"", row->node, row->rules, .waits = false};
	struct clv_apply_request again = {.what = "create", .count = 1, .start = 0};
	struct clv_operation *op;
	struct clv_lease *lease =
		world_lease(part, &(struct world_lease){"a", ALICE, 100, GIB});

	clv_ephemeral_add(world.agent.ephemeral, "gpu0/1g.5gb@0", false);
	clv_ephemeral_tick(world.agent.ephemeral);
	if (row->rules) {
		start(&layout);
	} else {
		plan_node(row->node, node());
		snprintf(again.device, sizeof(again.device), "gpu0");
		snprintf(again.profile, sizeof(again.profile), "1g.5gb");
		assert_int_equal(
			clv_apply_start(world.agent.apply, &again, &op, NULL), 0);
	}
	for (const char *p = row->happens; *p; p++)
		happens(*p);
	assert_true(clv_operation_has_ended(last()));
	assert_int_equal(n_stored_made(), !row->is_kept);
	world_drop(lease);
	clv_ephemeral_tick(world.agent.ephemeral);
	assert_int_equal(world.n_questions, !row->is_kept);
}

/* --- The kept layout, compared with the node --- */

static void see(const char *text)
{
	clv_node_clear(node());
	plan_node(text, node());
	clv_reapply_compare(world.agent.reapply);
}

static void test_changed(void **state)
{
	const struct changed_row *row = *state;
	const struct row layout = {"", EMPTY, WANT_ONE, .waits = false};
	json_t *devices, *device;

	start(&layout);
	happens('s');
	happens('+');
	if (row->is_made)
		clv_ephemeral_add(world.agent.ephemeral, "gpu0/1g.5gb@4", false);
	see(row->node);
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply),
		strcmp(row->state, "applied") != 0);
	devices = clv_reapply_to_json(world.agent.reapply);
	device = json_array_get(devices, 0);
	assert_string_equal(
		json_string_value(json_object_get(device, "state")), row->state);
	assert_non_null(
		strstr(json_string_value(json_object_get(device, "why")), row->why));
	json_decref(devices);
	/* Nothing is done about it. */
	world_pass_s(100);
	assert_int_equal(world.n_questions, 0);
	see(ONE);
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
}

/* The steps of an operation are no changes of the layout before. */
static void test_changed_by_an_operation(void **state)
{
	const struct row one = {"", ONE, WANT_ONE, .waits = false};
	const struct row none = {"", ONE, WANT_NONE, .waits = false};

	start(&one);
	happens('s');
	clv_node_clear(node());
	start(&none);
	happens('s');
	see(EMPTY);
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
}

/* Who changes the node without the agent is found out by surveys, unless the drivers are
 * to be left alone. */
static void test_looks_each_minute(void **state)
{
	const struct row layout = {"", ONE, WANT_ONE, .waits = false};

	world.settings.watch_every_s = 2;
	start(&layout);
	happens('s');
	for (unsigned int i = 0; i < 2; i++) {
		world_pass_s(59);
		assert_int_equal(world.n_questions, 0);
		world_pass_s(1);
		happens('s');
		assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 0);
	}
	clv_node_clear(node());
	plan_node(EMPTY, node());
	world_pass_s(60);
	happens('s');
	assert_int_equal(clv_reapply_n_waiting(world.agent.reapply), 1);
	assert_int_equal(world.n_questions, 0);
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, rows_of_layouts, test_layout);
	ROWS_ADD(&rows, edits, test_edit);
	ROWS_ADD(&rows, made_rows, test_made);
	ROWS_ONE(&rows, test_made_in_use);
	ROWS_ADD(&rows, kept_rows, test_kept);
	ROWS_ADD(&rows, changed_rows, test_changed);
	ROWS_ONE(&rows, test_claims_what_a_reload_affects);
	ROWS_ONE(&rows, test_one_of_a_device_at_a_time);
	ROWS_ONE(&rows, test_wrong_text);
	ROWS_ONE(&rows, test_so_many_are_remembered);
	ROWS_ONE(&rows, test_end_is_recorded_later);
	ROWS_ONE(&rows, test_end_is_recorded_before_another);
	ROWS_ONE(&rows, test_edit_is_accepted);
	ROWS_ONE(&rows, test_index_is_recorded);
	ROWS_ONE(&rows, test_index_is_not_guessed);
	ROWS_ONE(&rows, test_again);
	ROWS_ONE(&rows, test_again_waits);
	ROWS_ONE(&rows, test_old_layout_is_resolved_later);
	ROWS_ONE(&rows, test_again_behind_a_wait);
	ROWS_ONE(&rows, test_past);
	ROWS_ONE(&rows, test_changed_by_an_operation);
	ROWS_ONE(&rows, test_looks_each_minute);
	rows_set_up(&rows, apply_begin, apply_end);
	return rows_run(&rows);
}
