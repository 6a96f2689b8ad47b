/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out operations: survey, plan, steps, roll-back.  Each state is entered from a
 * callback of the worker or of a timer, so the agent's loop never blocks. */
#include "agent/apply/apply.h"

#include "agent/apply/apply-back.h"
#include "agent/apply/apply-edit.h"
#include "agent/apply/apply-internal.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/driver/plan-json.h"
#include "agent/event/counters.h"
#include "agent/event/events.h"
#include "agent/http/problem.h"
#include "agent/lease/lease.h"
#include "agent/ledger/holders.h"
#include "agent/ledger/standing.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "core/plan/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define WAIT_US 500000u
/* Retries back off exponentially and take two minutes in all. */
#define TRIES_MAX 8u

const char *const clv_operation_states[_STATE_MAX] = {
	[SURVEYING] = "surveying",
	[WAITING] = "waiting",
	[RUNNING] = "running",
	[ROLLING_BACK] = "rolling_back",
	[DONE] = "done",
	[FAILED] = "failed",
	[ROLLED_BACK] = "rolled_back",
};

static void run_next(struct clv_operation *op);

static void publish_change(const struct clv_operation *op)
{
	struct clv_agent *agent = op->apply->agent;

	clv_notify_changed(agent->notify, CLV_TOPIC_HARDWARE);
	clv_notify(agent->notify, CLV_NOTICE_IN_USE);
}

static void note_change(struct clv_operation *op)
{
	op->revision++;
	publish_change(op);
}

static const enum clv_event_type end_events[_STATE_MAX] = {
	[DONE] = CLV_EVENT_APPLY_DONE,
	[FAILED] = CLV_EVENT_APPLY_FAILED,
	[ROLLED_BACK] = CLV_EVENT_APPLY_ROLLED_BACK,
};

static void count_end(const struct clv_operation *op)
{
	struct clv_counters *counters = op->apply->agent->counters;

	counters->operations[op->state - DONE]++;
	if (op->ended_real_ns > op->started_real_ns)
		clv_histogram_add(&counters->applies,
			(op->ended_real_ns - op->started_real_ns) / 1000);
}

/* An error may name leases and processes of tenants, which other tenants may not see. */
static void emit_end(struct clv_operation *op, enum clv_event_type type)
{
	struct clv_agent *agent = op->apply->agent;

	if (op->error.code)
		clv_events_emit_for_owner(agent, type, op->request.uid, NULL, "%s: %s",
			op->request.what, op->error.msg);
	else
		clv_events_emit(agent, type, "%s", op->request.what);
}

static void end(struct clv_operation *op, enum state state)
{
	bool was_begun = op->before != NULL;

	assert(state >= DONE && !clv_operation_has_ended(op));
	op->state = state;
	op->revision++;
	op->ended_real_ns = clv_clock_real_ns();
	count_end(op);
	op->timer = sd_event_source_disable_unref(op->timer);
	clv_marks_update(op->apply);
	if (op->has_claimed)
		clv_operation_unclaim(op);
	if (was_begun || op->is_recorded)
		clv_operation_write_end(op);
	if (was_begun || state != DONE)
		clv_log_info("%s: %s%s%s", op->request.what, clv_operation_states[state],
			op->error.code ? ": " : "", op->error.msg);
	if (was_begun || state != DONE)
		emit_end(op, end_events[state]);
	if (op->apply->ended)
		op->apply->ended(op->apply->userdata, op);
	publish_change(op);
}

/* Appends to the error; the first error is truncated to make room. */
static void add_to_error(struct clv_operation *op, const char *more)
{
	struct clv_error first = op->error;
	size_t room = sizeof(first.msg) - strlen(more) - sizeof("; ");

	snprintf(op->error.msg, sizeof(op->error.msg), "%.*s; %s", (int)room, first.msg,
		more);
}

static void roll_back(struct clv_operation *op, const struct clv_error *why);

/* An operation that has changed nothing fails.  After a change, also by an earlier agent,
 * the node is rolled back, and a failure of the roll-back is reported. */
void clv_operation_fail(struct clv_operation *op, const struct clv_error *why)
{
	char more[300];

	assert(why->code < 0);
	if (op->state == ROLLING_BACK) {
		clv_back_leave_all(op, why);
		op->left_json = clv_back_left_to_json(op);
		snprintf(more, sizeof(more),
			"it could not be put back (%.200s): see cleave plan", why->msg);
		add_to_error(op, more);
	} else if (op->before) {
		roll_back(op, why);
		return;
	} else {
		op->error = *why;
	}
	end(op, FAILED);
}

/* Stages of a plan. */

static void drop_stages(struct clv_operation *op)
{
	free(op->stages);
	op->stages = NULL;
	op->n_stages = op->at = 0;
}

static int make_stages(struct clv_operation *op, const struct clv_plan *plan,
	const struct clv_node *node, struct clv_error *err)
{
	drop_stages(op);
	op->stages = calloc(plan->n_steps + 1, sizeof(*op->stages));
	if (!op->stages)
		return clv_error_errno(err, ENOMEM, "cannot carry out a plan");
	op->n_stages = plan->n_steps;
	for (size_t i = 0; i < plan->n_steps; i++) {
		struct stage *stage = &op->stages[i];

		stage->step = plan->steps[i];
		stage->step.affected = NULL;
		snprintf(stage->uuid, sizeof(stage->uuid), "%s",
			node->devices[stage->step.device].info.uuid);
		snprintf(stage->device, sizeof(stage->device), "%s",
			node->devices[stage->step.device].info.name);
		clv_step_describe(&stage->step, node, stage->text, sizeof(stage->text));
	}
	return 0;
}

/* Saves the state of the operation's devices as the layout to roll back to. */
static int keep_before(
	struct clv_operation *op, const struct clv_node *node, struct clv_error *err)
{
	struct clv_layout layout;
	int r;

	if (op->before)
		return 0;
	r = clv_back_read(op, node, &layout, err);
	if (r < 0)
		return r;
	r = clv_layout_write(&layout, &op->before, err);
	if (r < 0)
		clv_layout_clear(&layout);
	else
		op->former = layout;
	return r;
}

static void wait_for_holders(struct clv_operation *op);
static void ask_later(struct clv_operation *op, uint64_t after_us);

/* An obstacle to an operation that has begun or has waited may be transient: a driver
 * that is being loaded, a monitor that has the device open.  Schedules a retry; false:
 * there were TRIES_MAX retries already. */
static bool try_again(struct clv_operation *op, const struct clv_error *why)
{
	if (op->n_tries == TRIES_MAX)
		return false;
	if (op->n_tries == 0)
		clv_log_info("%s: it is tried again for two minutes: %s",
			op->request.what, why->msg);
	if (op->state != ROLLING_BACK) {
		op->state = WAITING;
		op->error = *why;
	}
	ask_later(op, (uint64_t)WAIT_US << op->n_tries++);
	note_change(op);
	return true;
}

/* An operation that an earlier agent has begun, and that has changed nothing yet, becomes
 * one that waits and lets others begin.  A requested memory mode counts as a change,
 * because the node does not show it. */
static void forget_begin(struct clv_operation *op, const struct clv_node *node)
{
	_cleanup_free_ char *now = NULL;
	struct clv_layout layout = {0};
	bool is_as_before = op->before && op->asked_memory == 0 &&
			    clv_back_read(op, node, &layout, NULL) >= 0 &&
			    clv_layout_write(&layout, &now, NULL) >= 0 &&
			    strcmp(now, op->before) == 0;

	clv_layout_clear(&layout);
	if (!is_as_before)
		return;
	free(op->before);
	op->before = NULL;
	clv_layout_clear(&op->former);
}

static void block(struct clv_operation *op, const struct clv_plan *plan,
	const struct clv_node *node)
{
	const struct clv_obstacle *first = &plan->obstacles[0];
	const char *name = first->partition[0] ? first->partition
					       : node->devices[first->device].info.name;
	struct clv_error err;

	assert(plan->n_obstacles > 0);
	json_decref(op->obstacles);
	op->obstacles = clv_plan_obstacles_to_json(plan, node);
	if (op->layout.on_busy == CLV_ON_BUSY_WAIT) {
		forget_begin(op, node);
		clv_marks_update(op->apply);
		wait_for_holders(op);
		return;
	}
	clv_error_set(&err, -CLV_E_IN_USE, "%s is in use by %s%s: %s%s", name,
		first->holders.n ? first->holders.items[0].text : "a pending change",
		plan->n_obstacles > 1 ? " (and by others)" : "", first->why,
		op->before ? "" : "; nothing was changed");
	if (!op->is_resumed || !try_again(op, &err))
		clv_operation_fail(op, &err);
}

static void begin(struct clv_operation *op, const struct clv_plan *plan,
	const struct clv_node *node)
{
	struct clv_error err = {0};
	int r;

	assert(plan->n_obstacles == 0 && op->state != RUNNING);
	r = make_stages(op, plan, node, &err);
	if (r >= 0)
		r = clv_operation_claim(op, plan, node, &err);
	if (r >= 0 && plan->n_steps > 0 && op->state != ROLLING_BACK)
		r = keep_before(op, node, &err);
	if (r < 0) {
		clv_operation_fail(op, &err);
		return;
	}
	op->n_tries = 0;
	if (op->state != ROLLING_BACK) {
		op->state = RUNNING;
		op->error = (struct clv_error){0};
	}
	op->has_steps = true;
	clv_marks_update(op->apply);
	note_change(op);
	run_next(op);
}

/* An impossible layout is an invalid one; a partition that does not fit may fit later. */
static void fail_with_layout(struct clv_operation *op, struct clv_error *err)
{
	if (err->code != -ENOMEM && op->request.keeps_layout)
		err->code = -EBADMSG;
	else if (err->code == -ENOSPC)
		err->code = -EBUSY;
	if (!op->request.keeps_layout)
		clv_apply_strip_position(&op->layout, err);
	clv_operation_fail(op, err);
}

/* Sets the target of the operation once the node is known: its layout with the devices by
 * UUID, or that of a device with one partition more or less. */
static int set_target(
	struct clv_operation *op, const struct clv_node *node, struct clv_error *err)
{
	int r;

	if (op->target)
		return 0;
	if (!op->written)
		return clv_apply_edit(&op->request, node, &op->layout, &op->target, err);
	r = clv_layout_resolve(&op->layout, node, err);
	return r < 0 ? r : clv_layout_write(&op->layout, &op->target, err);
}

/* Whether its caller waits for the first answer, and nothing was changed. */
static bool is_new(const struct clv_operation *op)
{
	return op->state == SURVEYING && !op->is_resumed;
}

/* Whether the roll-back is retried, because its plan has excluded devices, after the
 * first n_left, that may be available soon: when an agent starts, drivers and monitors
 * are starting too. */
static bool leaves_too_early(struct clv_operation *op, size_t n_left)
{
	struct clv_error why;

	if (!op->is_resumed || !op->may_pass || op->n_left == n_left)
		return false;
	clv_error_set(&why, -EBUSY, "%s", op->left[n_left].why);
	return try_again(op, &why);
}

static int make_plan(struct clv_operation *op, const struct clv_node *node,
	struct clv_plan *plan, struct clv_error *err)
{
	int r = 0;

	if (op->state == ROLLING_BACK)
		return clv_back_plan(op, node, plan, err);
	r = set_target(op, node, err);
	if (r >= 0 && op->before)
		return clv_apply_plan_resumed(op->target, op->before, node, plan, err);
	if (r >= 0)
		r = clv_plan_make(node, &op->layout, plan, err);
	if (r >= 0)
		r = clv_standing_check(node, plan, op->layout.name, err);
	if (r >= 0)
		r = clv_standing_add_obstacles(op->apply->agent, plan, err);
	return r;
}

/* Whether a resumed operation, or one that waits, may find its devices later.  Then *why
 * is that they are missing, and what was in its way is not. */
static bool may_find_more(
	struct clv_operation *op, const struct clv_node *node, struct clv_error *why)
{
	if (op->state == ROLLING_BACK || is_new(op) ||
		(op->target && !clv_back_explain_missing(op, node, why)))
		return false;
	json_decref(op->obstacles);
	op->obstacles = NULL;
	return true;
}

/* A driver that is reloaded, or a hive, can extend the plan to devices of another
 * operation. */
static void carry_out(struct clv_operation *op, const struct clv_plan *plan,
	const struct clv_node *node)
{
	struct clv_error err = {0};

	clv_marks_take(&op->marks, plan, node);
	if (is_new(op) && clv_operation_check_others(op, node, &err) < 0)
		clv_operation_fail(op, &err);
	else if (clv_operation_is_behind(op, node))
		ask_later(op, WAIT_US);
	else if (plan->n_obstacles > 0)
		block(op, plan, node);
	else
		begin(op, plan, node);
}

/* Plans from what the hardware shows now, and begins, waits or fails. */
static void plan_now(struct clv_operation *op)
{
	struct clv_node *node = clv_holders_node(op->apply->agent);
	size_t n_left = op->n_left;
	struct clv_plan plan = {0};
	struct clv_error err = {0};

	if (make_plan(op, node, &plan, &err) < 0) {
		bool may_try_again = may_find_more(op, node, &err);

		clv_node_add_problems(node, &err);
		if (!may_try_again || !try_again(op, &err))
			fail_with_layout(op, &err);
	} else if (leaves_too_early(op, n_left))
		op->n_left = n_left;
	else
		carry_out(op, &plan, node);
	clv_plan_clear(&plan);
}

static void on_surveyed(void *userdata, const struct clv_error *err)
{
	struct clv_operation *op = userdata;

	if (clv_operation_has_ended(op))
		return;
	/* carry_out() refuses a new operation instead of letting it wait. */
	if (!is_new(op) &&
		clv_operation_is_behind(op, clv_holders_node(op->apply->agent)))
		ask_later(op, WAIT_US);
	else if (err->code == 0)
		plan_now(op);
	else if (is_new(op) || !try_again(op, err))
		clv_operation_fail(op, err);
}

void clv_operation_survey(struct clv_operation *op)
{
	op->has_steps = false;
	clv_hardware_survey_for(op->apply->agent->hardware, on_surveyed, op);
}

static int on_wait(sd_event_source *source, uint64_t now_us, void *userdata)
{
	clv_operation_survey(userdata);
	return 0;
}

static void ask_later(struct clv_operation *op, uint64_t after_us)
{
	op->timer = sd_event_source_disable_unref(op->timer);
	sd_event_add_time_relative(op->apply->agent->event, &op->timer, CLOCK_MONOTONIC,
		after_us, 0, on_wait, op);
}

/* An operation that has begun stays recorded as begun. */
static bool is_wait_recorded(const struct clv_operation *op)
{
	return op->is_recorded && (op->recorded == WAITING || op->before);
}

/* If the wait cannot be recorded, the next agent selects the devices again. */
static void wait_for_holders(struct clv_operation *op)
{
	bool has_changed = op->state != WAITING || op->n_tries > 0;
	struct clv_error err = {0};

	op->state = WAITING;
	op->n_tries = 0;
	op->error = (struct clv_error){0};
	if (!is_wait_recorded(op) && clv_operation_write(op, &err) < 0 && has_changed)
		clv_log_warning(0, "%s", err.msg);
	ask_later(op, WAIT_US);
	if (has_changed)
		note_change(op);
}

/* Steps. */

static void roll_back(struct clv_operation *op, const struct clv_error *why)
{
	struct clv_error err = {0};

	if (op->state == ROLLING_BACK) {
		clv_operation_fail(op, why);
		return;
	}
	op->error = *why;
	op->state = ROLLING_BACK;
	op->timer = sd_event_source_disable_unref(op->timer);
	if (clv_operation_write(op, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	note_change(op);
	clv_operation_survey(op);
}

/* Sets aside the layout's standing shares.  The node is as the layout wants it, so a plan
 * now has no steps, only shares. */
static int set_aside(struct clv_operation *op, struct clv_error *err)
{
	struct clv_agent *agent = op->apply->agent;
	struct clv_node *node = clv_holders_node(agent);
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	_cleanup_free_ bool *is_selected =
		calloc(node->n_devices + 1, sizeof(*is_selected));
	struct clv_plan plan = {0};
	int r;

	if (!rule_of || !is_selected)
		return clv_error_errno(err, ENOMEM, "cannot keep standing shares");
	r = clv_layout_match(&op->layout, node, rule_of, err);
	for (size_t i = 0; i < node->n_devices && r >= 0; i++)
		is_selected[i] = rule_of[i] >= 0;
	if (r >= 0)
		r = clv_plan_make(node, &op->layout, &plan, err);
	if (r >= 0)
		r = clv_standing_replace(agent->standing, node, is_selected, &plan, err);
	clv_plan_clear(&plan);
	return r;
}

static bool turned_on(const struct clv_operation *op)
{
	for (size_t i = 0; i < op->n_stages; i++) {
		if (op->stages[i].step.kind == CLV_STEP_MIG_MODE)
			return op->stages[i].step.value != 0;
	}
	return false;
}

/* Whether a memory mode other than the current one may have been requested of a
 * driver. */
static bool has_asked_for_memory(const struct clv_operation *op)
{
	const struct clv_node *node = clv_holders_node(op->apply->agent);

	for (size_t i = 0; i < node->n_devices && op->asked_memory != 0; i++) {
		const struct clv_xcp_state *xcp = &node->devices[i].xcp;

		if (xcp->is_capable && xcp->memory != op->asked_memory)
			return true;
	}
	return false;
}

/* Ends a roll-back, with an error if a part could not be undone. */
static void end_rolling_back(struct clv_operation *op)
{
	char more[320];

	if (op->n_left == 0 && !has_asked_for_memory(op)) {
		end(op, ROLLED_BACK);
		return;
	}
	if (op->n_left > 0)
		op->left_json = clv_back_left_to_json(op);
	if (op->n_left > 0)
		clv_back_describe(op, more, sizeof(more));
	else
		snprintf(more, sizeof(more),
			"all is as it was, but %s may have been requested and stays "
			"requested until the driver is reloaded",
			clv_memory_mode_to_string(
				(enum clv_memory_mode)op->asked_memory));
	add_to_error(op, more);
	end(op, FAILED);
}

static void publish_kept(const struct clv_operation *op, const char *name)
{
	clv_notify_publish(op->apply->agent->notify,
		&(struct clv_notice){.type = CLV_NOTICE_PARTITION_KEPT, .name = name});
}

/* A partition that was created for a lease outlives the lease once a layout selects its
 * device, or an operation has created the partition again. */
static void keep_partitions(const struct clv_operation *op)
{
	struct clv_node *node = clv_holders_node(op->apply->agent);

	for (size_t i = 0; i < op->layout.n_rules && op->request.keeps_layout; i++) {
		const struct clv_selector *select = &op->layout.rules[i].select;

		for (size_t j = 0; j < select->n_names; j++) {
			const struct clv_node_device *device =
				clv_node_find(node, select->names[j]);

			if (device)
				publish_kept(op, device->info.name);
		}
	}
	for (size_t i = 0; i < op->n_stages; i++) {
		if (op->stages[i].step.kind == CLV_STEP_CREATE)
			publish_kept(op, op->stages[i].step.partition);
	}
}

static void succeed(struct clv_operation *op)
{
	struct clv_agent *agent = op->apply->agent;
	struct clv_error err = {0};

	if (op->request.keeps_layout && set_aside(op, &err) < 0) {
		/* Without a step there is nothing to roll back. */
		if (op->before)
			roll_back(op, &err);
		else
			fail_with_layout(op, &err);
		return;
	}
	keep_partitions(op);
	if (op->request.keeps_layout && clv_operation_keep(op, &err) < 0)
		clv_log_warning(0,
			"%s: the layout will not be applied again after a restart",
			err.msg);
	end(op, DONE);
	if (op->request.is_for_lease && clv_operation_created(op)[0] != '\0')
		clv_notify_publish(agent->notify,
			&(struct clv_notice){.type = CLV_NOTICE_PARTITION_MADE,
				.name = clv_operation_created(op),
				.turned_on = turned_on(op)});
}

static void on_shown(void *userdata, const struct clv_error *err)
{
	struct clv_operation *op = userdata;

	if (err->code != 0)
		roll_back(op, err);
	else
		succeed(op);
}

/* A survey for another operation that failed since the last step has hidden all devices.
 */
static void end_steps(struct clv_operation *op)
{
	struct clv_agent *agent = op->apply->agent;

	if (op->state == ROLLING_BACK)
		end_rolling_back(op);
	else if (op->n_stages > 0 &&
		 !clv_back_shows_all(clv_holders_node(agent), &op->layout))
		clv_hardware_survey_for(agent->hardware, on_shown, op);
	else
		succeed(op);
}

/* Records which memory mode may be pending in the driver: after a refusal none, after
 * -EIO or a timeout it is unknown. */
static void note_memory(struct clv_operation *op, const struct clv_step *step, int code)
{
	if (step->kind == CLV_STEP_RELOAD && code == 0)
		op->asked_memory = 0;
	else if (step->kind == CLV_STEP_MEMORY_MODE &&
		 (code == 0 || code == -EIO || code == -ETIMEDOUT))
		op->asked_memory = step->value;
}

static void on_reloaded(void *userdata, const struct clv_error *err)
{
	struct clv_operation *op = userdata;

	if (err->code != 0)
		roll_back(op, err);
	else
		run_next(op);
}

static void on_step(void *userdata, const struct clv_error *err)
{
	struct clv_operation *op = userdata;
	struct stage *stage = &op->stages[op->at];

	assert(op->at < op->n_stages);
	assert(op->state == RUNNING || op->state == ROLLING_BACK);
	note_memory(op, &stage->step, err->code);
	stage->took_ns = clv_clock_ns() - stage->began_ns;
	stage->has_failed = err->code != 0;
	if (err->code != 0) {
		struct clv_error why = *err;

		/* -ENOSPC of a driver means no room on the device, not on the disk. */
		if (why.code == -ENOSPC)
			why.code = -EBUSY;
		clv_error_prefix(&why, "%s", stage->text);
		/* The other devices can still be put back. */
		if (op->state == ROLLING_BACK && clv_back_leave(op, stage->uuid, &why))
			clv_operation_survey(op);
		else
			roll_back(op, &why);
		return;
	}
	op->at++;
	clv_marks_update(op->apply);
	note_change(op);
	/* A reload affects all devices of the driver, and the step has read only one. */
	if (stage->step.kind == CLV_STEP_RELOAD)
		clv_hardware_survey_for(op->apply->agent->hardware, on_reloaded, op);
	else
		run_next(op);
}

static bool is_done_already(const struct clv_operation *op, const struct stage *stage)
{
	const struct clv_node_device *device =
		clv_node_find(clv_holders_node(op->apply->agent), stage->uuid);

	/* A reload can also complete the steps of other devices. */
	return device && stage->step.kind == CLV_STEP_COMPUTE_MODE &&
	       clv_step_is_done(&stage->step, device);
}

static void run_next(struct clv_operation *op)
{
	struct clv_error err = {0};
	struct stage *stage;

	while (op->at < op->n_stages && is_done_already(op, &op->stages[op->at]))
		op->at++;
	if (op->at == op->n_stages) {
		end_steps(op);
		return;
	}
	if (clv_operation_write(op, &err) < 0 && op->state != ROLLING_BACK) {
		roll_back(op, &err);
		return;
	}
	stage = &op->stages[op->at];
	stage->began_ns = clv_clock_ns();
	clv_hardware_step(
		op->apply->agent->hardware, stage->uuid, &stage->step, on_step, op);
}
