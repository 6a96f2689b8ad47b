/* SPDX-License-Identifier: Apache-2.0 */
/* Operations at the start of the agent: resumes what an earlier agent left unfinished. */
#include "agent/apply/apply-internal.h"

#include "agent/apply/apply-back.h"
#include "agent/event/events.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_journal(struct clv_operation *op, const struct clv_journal *journal)
{
	for (int i = 0; i < _STATE_MAX; i++) {
		if (strcmp(journal->state, clv_operation_states[i]) == 0)
			op->recorded = (enum state)i;
	}
	snprintf(op->id, sizeof(op->id), "%s", journal->id);
	op->is_resumed = op->is_recorded = true;
	op->started_real_ns = journal->started_real_ns;
	if (journal->target[0] != '\0')
		op->target = strdup(journal->target);
	if (op->recorded == RUNNING || op->recorded == ROLLING_BACK)
		op->before = strdup(journal->before);
	if (journal->written[0] != '\0')
		op->written = strdup(journal->written);
	if (op->recorded != ROLLING_BACK)
		return;
	op->state = ROLLING_BACK;
	clv_error_set(&op->error, -EIO, "%s", journal->error);
}

/* A name still denotes its device; which device an index selected is not known. */
static int check_selectors(const struct clv_layout *layout, struct clv_error *err)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		if (layout->rules[i].select.n_indexes > 0)
			return clv_error_set(err, -EIO,
				"the agent ended before it had recorded which devices "
				"the layout selects by index: nothing was changed, apply "
				"the layout again");
	}
	return 0;
}

/* A layout that was accepted and not begun. */
static int read_written(struct clv_operation *op, struct clv_error *err)
{
	int r = clv_layout_parse(
		op->written, strlen(op->written), "layout", &op->layout, err);

	if (r >= 0 && op->request.has_on_busy)
		op->layout.on_busy = op->request.on_busy;
	return r < 0 ? r : check_selectors(&op->layout, err);
}

/* The target of an earlier version may select devices by order or name, which may denote
 * other devices by now. */
static int read_target(struct clv_operation *op, struct clv_error *err)
{
	int r;

	if (!op->target && op->before)
		return clv_error_set(
			err, -EIO, "the journal has been changed: it has no target");
	if (!op->target)
		return op->written ? read_written(op, err) : 0;
	r = clv_layout_parse(
		op->target, strlen(op->target), "the journal", &op->layout, err);
	if (r >= 0 && !clv_layout_is_resolved(&op->layout))
		r = clv_error_set(err, -EIO,
			"it was begun by an earlier version, which has not recorded the "
			"devices that it selects: apply the layout again");
	return r;
}

static void emit_resumed(
	const struct clv_operation *op, const struct clv_journal *journal)
{
	struct clv_agent *agent = op->apply->agent;

	if (op->before)
		clv_events_emit(agent, CLV_EVENT_APPLY_RESUMED,
			"%s: resumed after step %u of %u", journal->what, journal->step,
			journal->n_steps);
	else
		clv_events_emit(agent, CLV_EVENT_APPLY_RESUMED, "%s: %s", journal->what,
			op->recorded == WAITING
				? "it waits again"
				: "it was accepted before, and begins now");
}

/* A target that this version cannot use is rolled back. */
static void resume(struct clv_apply *apply, const struct clv_journal *journal)
{
	struct clv_apply_request request = {
		.uid = journal->uid,
		.keeps_layout = journal->keeps_layout,
		.is_for_lease = journal->is_for_lease,
	};
	struct clv_operation *op;
	struct clv_error err = {0};
	int r;

	snprintf(request.what, sizeof(request.what), "%s", journal->what);
	clv_operation_take_request(&request, journal->request);
	op = clv_operation_add(apply, &request);
	if (!op) {
		clv_log_error(0, "out of memory: %s is not resumed", journal->what);
		return;
	}
	take_journal(op, journal);
	emit_resumed(op, journal);
	r = read_target(op, &err);
	clv_layout_parse(journal->before, strlen(journal->before), "the journal",
		&op->former, NULL);
	op->asked_memory = r < 0 || !op->before ? 0 : clv_apply_memory_mode(&op->layout);
	if (r < 0 && op->state != ROLLING_BACK)
		clv_operation_fail(op, &err);
	else
		clv_operation_survey(op);
}

struct unfinished {
	struct clv_journal *items;
	size_t n;
};

static int add_unfinished(void *userdata, const struct clv_journal *journal)
{
	struct unfinished *unfinished = userdata;
	struct clv_journal *item = CLV_APPEND(unfinished->items, unfinished->n);

	if (!item)
		return -ENOMEM;
	*item = *journal;
	item->target = strdup(journal->target);
	item->before = strdup(journal->before);
	item->written = strdup(journal->written);
	item->request = strdup(journal->request);
	return item->target && item->before && item->written && item->request ? 0
									      : -ENOMEM;
}

static bool is_begun(const struct clv_journal *journal)
{
	return strcmp(journal->state, clv_operation_states[RUNNING]) == 0 ||
	       strcmp(journal->state, clv_operation_states[ROLLING_BACK]) == 0;
}

/* Whether the operations have a device in common. */
static bool share_device(const struct clv_layout *a, const struct clv_layout *b)
{
	for (size_t i = 0; i < a->n_rules * b->n_rules; i++) {
		const struct clv_selector *one = &a->rules[i / b->n_rules].select;
		const struct clv_selector *other = &b->rules[i % b->n_rules].select;

		if (one->n_names > 0 && other->n_names > 0 &&
			strcmp(one->names[0], other->names[0]) == 0)
			return true;
	}
	return false;
}

static bool meet(const struct clv_journal *a, const struct clv_journal *b)
{
	struct clv_layout one = {0}, other = {0};
	bool do_meet;

	clv_layout_parse(a->before, strlen(a->before), "the journal", &one, NULL);
	clv_layout_parse(b->before, strlen(b->before), "the journal", &other, NULL);
	do_meet = share_device(&one, &other);
	clv_layout_clear(&one);
	clv_layout_clear(&other);
	return do_meet;
}

static bool is_replaced(const struct unfinished *unfinished, size_t at)
{
	for (size_t i = at + 1; i < unfinished->n; i++) {
		if (is_begun(&unfinished->items[i]) &&
			meet(&unfinished->items[at], &unfinished->items[i]))
			return true;
	}
	return false;
}

/* Operations that carry out steps have no device in common.  If an older one has a device
 * of a later one, it has ended, and an earlier version could not record the end. */
static void end_older(struct clv_store *store, const struct unfinished *unfinished)
{
	for (size_t i = 0; i < unfinished->n; i++) {
		struct clv_journal *journal = &unfinished->items[i];
		struct clv_error err = {0};

		if (!is_begun(journal) || !is_replaced(unfinished, i))
			continue;
		snprintf(journal->state, sizeof(journal->state), "%s",
			clv_operation_states[FAILED]);
		if (clv_store_put_journal(store, journal, &err) < 0)
			clv_log_warning(0, "%s", err.msg);
	}
}

void clv_apply_resume(struct clv_apply *apply)
{
	struct clv_store *store = clv_state_get(apply->agent, NULL);
	struct unfinished unfinished = {0};
	struct clv_error err = {0};
	int r;

	if (!store)
		return;
	r = clv_store_read_journal(store, add_unfinished, &unfinished, &err);
	if (r < 0)
		clv_log_error(0, "no operation is resumed: %s",
			err.code ? err.msg : "out of memory");
	else
		end_older(store, &unfinished);
	for (size_t i = 0; i < unfinished.n; i++) {
		struct clv_journal *journal = &unfinished.items[i];

		if (r >= 0 && strcmp(journal->state, clv_operation_states[FAILED]) != 0)
			resume(apply, journal);
		free((char *)journal->target);
		free((char *)journal->before);
		free((char *)journal->written);
		free((char *)journal->request);
	}
	free(unfinished.items);
}

struct past {
	struct clv_apply *apply;
	json_t *items;
};

static int add_past(void *userdata, const char *text)
{
	struct past *past = userdata;
	json_t *json = json_loads(text, 0, NULL);
	const char *id = json_string_value(json_object_get(json, "id"));

	if (id && !clv_apply_find(past->apply, id, NULL))
		json_array_append(past->items, json);
	json_decref(json);
	return 0;
}

json_t *clv_apply_past(struct clv_apply *apply)
{
	struct past past = {.apply = apply, .items = json_array()};
	struct clv_store *store = clv_state_get(apply->agent, NULL);
	struct clv_error err = {0};

	if (store && clv_store_read_ended(store, add_past, &past, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	return past.items;
}
