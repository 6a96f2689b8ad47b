/* SPDX-License-Identifier: Apache-2.0 */
/* Operations at the start of the agent: resumes what an earlier agent left unfinished,
 * and then applies the last layout again. */
#include "agent/apply/apply-internal.h"

#include "agent/apply/apply-back.h"
#include "agent/event/events.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_journal(struct clv_operation *op, const struct clv_journal *journal)
{
	snprintf(op->id, sizeof(op->id), "%s", journal->id);
	op->is_resumed = op->is_recorded = true;
	op->started_real_ns = journal->started_real_ns;
	op->target = strdup(journal->target);
	if (strcmp(journal->state, clv_operation_states[WAITING]) != 0)
		op->before = strdup(journal->before);
	if (journal->written[0] != '\0')
		op->written = strdup(journal->written);
	if (strcmp(journal->state, clv_operation_states[ROLLING_BACK]) != 0)
		return;
	op->state = ROLLING_BACK;
	clv_error_set(&op->error, -EIO, "%s", journal->error);
}

/* The target of an earlier version may select devices by their order or names, which may
 * be others by now. */
static int read_target(struct clv_operation *op, struct clv_error *err)
{
	int r = clv_layout_parse(
		op->target, strlen(op->target), "the journal", &op->layout, err);

	if (r >= 0 && !clv_layout_is_resolved(&op->layout))
		r = clv_error_set(err, -EIO,
			"it was begun by an earlier version, which has not recorded the "
			"devices that it selects: apply the layout again");
	return r;
}

/* A target that this version cannot use is rolled back. */
static void resume(struct clv_apply *apply, struct clv_journal *journal)
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
	op = clv_operation_add(apply, &request);
	if (!op) {
		clv_log_error(0, "out of memory: %s is not resumed", journal->what);
		return;
	}
	take_journal(op, journal);
	if (op->before)
		clv_events_emit(apply->agent, CLV_EVENT_APPLY_RESUMED,
			"%s: resumed after step %u of %u", journal->what, journal->step,
			journal->n_steps);
	else
		clv_events_emit(apply->agent, CLV_EVENT_APPLY_RESUMED,
			"%s: it waits again", journal->what);
	r = read_target(op, &err);
	clv_layout_parse(journal->before, strlen(journal->before), "the journal",
		&op->former, NULL);
	op->asked_memory = r < 0 || !op->before ? 0 : clv_apply_memory_mode(&op->layout);
	if (r < 0 && op->state != ROLLING_BACK)
		clv_operation_fail(op, &err);
	else
		clv_operation_survey(op);
}

void clv_apply_resume(struct clv_apply *apply)
{
	struct clv_store *store = clv_state_get(apply->agent, NULL);
	struct clv_journal journal = {0};

	if (!store)
		return;
	if (clv_store_get_journal(store, &journal, NULL) >= 0)
		resume(apply, &journal);
	free((char *)journal.target);
	free((char *)journal.before);
	free((char *)journal.written);
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
