/* SPDX-License-Identifier: Apache-2.0 */
/* Operations at the start of the agent: resumes what an earlier agent left unfinished, or
 * applies the last layout again. */
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
	op->is_resumed = true;
	op->started_real_ns = journal->started_real_ns;
	op->target = strdup(journal->target);
	op->before = strdup(journal->before);
	if (strcmp(journal->state, clv_operation_states[ROLLING_BACK]) != 0)
		return;
	op->state = ROLLING_BACK;
	clv_error_set(&op->error, -EIO, "%s", journal->error);
}

/* A target that this version cannot parse is rolled back. */
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
	clv_events_emit(apply->agent, CLV_EVENT_APPLY_RESUMED,
		"%s: resumed after step %u of %u", journal->what, journal->step,
		journal->n_steps);
	r = clv_layout_parse(journal->target, strlen(journal->target), "the journal",
		&op->layout, &err);
	op->asked_memory = r < 0 ? 0 : clv_apply_memory_mode(&op->layout);
	if (r < 0 && op->state != ROLLING_BACK)
		clv_operation_fail(op, &err);
	else
		clv_operation_survey(op);
}

static void apply_again(struct clv_apply *apply, const char *layout)
{
	struct clv_apply_request request = {
		.what = "apply the layout again",
		.layout = layout,
		.layout_name = "the layout that was applied before",
		.is_again = true,
	};
	struct clv_operation *op;
	struct clv_error err = {0};

	if (clv_apply_start(apply, &request, &op, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}

void clv_apply_resume(struct clv_apply *apply)
{
	struct clv_store *store = clv_state_get(apply->agent, NULL);
	struct clv_journal journal = {0};
	char *layout = NULL;

	if (!store)
		return;
	if (clv_store_get_journal(store, &journal, NULL) >= 0)
		resume(apply, &journal);
	else if (clv_store_get_layout(store, &layout, NULL) >= 0)
		apply_again(apply, layout);
	free((char *)journal.target);
	free((char *)journal.before);
	free(layout);
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
