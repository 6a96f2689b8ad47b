/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of operations: a row from the moment at which a caller is told that the
 * operation is accepted, or from its first wait or step, until its end. */
#include "agent/apply/apply-internal.h"

#include "agent/ledger/holders.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNWRITTEN_US 5000000u

/* The request without its layout, as JSON: the partition to create or destroy, and the
 * options that override the layout. */
static char *request_text(const struct clv_apply_request *request)
{
	json_t *json =
		json_pack("{s:s,s:s,s:s,s:I,s:i,s:b,s:b}", "device", request->device,
			"profile", request->profile, "partition", request->partition,
			"count", (json_int_t)request->count, "start", (int)request->start,
			"turns_off", request->turns_off, "only", request->forgets_others);
	char *text;

	if (request->has_on_busy)
		json_object_set_new(json, "on_busy",
			json_string(clv_on_busy_to_string(request->on_busy)));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

static void take_text(const json_t *json, const char *key, char *ret, size_t ret_bytes)
{
	const char *text = json_string_value(json_object_get(json, key));

	snprintf(ret, ret_bytes, "%s", text ? text : "");
}

static void take_on_busy(struct clv_apply_request *request, const char *text)
{
	for (int i = 0; text && i < _CLV_ON_BUSY_MAX; i++) {
		if (strcmp(text, clv_on_busy_to_string((enum clv_on_busy)i)) != 0)
			continue;
		request->on_busy = (enum clv_on_busy)i;
		request->has_on_busy = true;
	}
}

void clv_operation_take_request(struct clv_apply_request *request, const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	take_text(json, "device", request->device, sizeof(request->device));
	take_text(json, "profile", request->profile, sizeof(request->profile));
	take_text(json, "partition", request->partition, sizeof(request->partition));
	request->count = (uint32_t)json_integer_value(json_object_get(json, "count"));
	request->start = (int32_t)json_integer_value(json_object_get(json, "start"));
	request->turns_off = json_is_true(json_object_get(json, "turns_off"));
	request->forgets_others = json_is_true(json_object_get(json, "only"));
	take_on_busy(request, json_string_value(json_object_get(json, "on_busy")));
	json_decref(json);
}

int clv_operation_write(struct clv_operation *op, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(op->apply->agent, err);
	_cleanup_free_ char *request = request_text(&op->request);
	struct clv_journal journal = {
		.uid = op->request.uid,
		.started_real_ns = op->started_real_ns,
		.step = (uint32_t)op->at,
		.n_steps = (uint32_t)op->n_stages,
		.target = op->target ? op->target : op->expected,
		.before = op->before,
		.written = op->written,
		.request = request,
		.keeps_layout = op->request.keeps_layout,
		.is_for_lease = op->request.is_for_lease,
	};

	if (!store)
		return err->code;
	if (!request)
		return clv_error_errno(err, ENOMEM, "cannot write the journal");
	snprintf(journal.id, sizeof(journal.id), "%s", op->id);
	snprintf(journal.what, sizeof(journal.what), "%s", op->request.what);
	snprintf(journal.state, sizeof(journal.state), "%s",
		clv_operation_states[op->state]);
	snprintf(journal.error, sizeof(journal.error), "%s", op->error.msg);
	if (clv_store_put_journal(store, &journal, err) < 0)
		return err->code;
	op->is_recorded = true;
	op->recorded = op->state;
	return 0;
}

/* With the operation's JSON, for callers of a later agent. */
static int write_end(struct clv_operation *op, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(op->apply->agent, err);
	json_t *json = clv_operation_to_json(op);
	char *text = json_dumps(json, JSON_COMPACT);
	int r = store ? clv_store_begin(store, false, err) : err->code;

	json_decref(json);
	/* In one transaction: an end without its JSON could never be shown. */
	if (r >= 0)
		r = clv_operation_write(op, err);
	if (r >= 0 && text)
		r = clv_store_end_journal(store, op->id, text, CLV_OPERATIONS_KEPT, err);
	if (r >= 0)
		r = clv_store_commit(store, err);
	if (r < 0 && store)
		clv_store_rollback(store);
	free(text);
	return r;
}

static void write_end_later(struct clv_operation *op);

static int on_unwritten(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_operation *op = userdata;
	struct clv_error err = {0};

	op->timer = sd_event_source_disable_unref(op->timer);
	if (write_end(op, &err) < 0)
		write_end_later(op);
	return 0;
}

static void write_end_later(struct clv_operation *op)
{
	sd_event_add_time_relative(op->apply->agent->event, &op->timer, CLOCK_MONOTONIC,
		UNWRITTEN_US, 0, on_unwritten, op);
}

void clv_operation_write_end(struct clv_operation *op)
{
	struct clv_error err = {0};

	if (write_end(op, &err) >= 0)
		return;
	clv_log_warning(0, "%s", err.msg);
	write_end_later(op);
}

/* Otherwise the next agent would resume an operation whose end is not recorded, after an
 * operation that began later. */
static int write_former_ends(struct clv_apply *apply, struct clv_error *err)
{
	struct clv_operation *op;

	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (!clv_operation_has_ended(op) || !op->timer)
			continue;
		if (write_end(op, err) < 0)
			return err->code;
		op->timer = sd_event_source_disable_unref(op->timer);
	}
	return 0;
}

/* Only the last survey of this agent tells which devices an index selects, so the journal
 * gets the layout as resolved by it. */
static void expect_target(struct clv_operation *op)
{
	const struct clv_node *node = clv_holders_node(op->apply->agent);
	struct clv_layout layout = {0};

	if (op->written &&
		clv_layout_parse(op->written, strlen(op->written), op->layout.name,
			&layout, NULL) >= 0 &&
		clv_layout_resolve(&layout, node, NULL) >= 0) {
		layout.on_busy = op->layout.on_busy;
		clv_layout_write(&layout, &op->expected, NULL);
	}
	clv_layout_clear(&layout);
}

int clv_operation_accept(struct clv_operation *op, struct clv_error *err)
{
	struct clv_agent *agent = op->apply->agent;
	struct clv_store *store = clv_state_get(agent, err);
	int r = store ? write_former_ends(op->apply, err) : err->code;

	if (r < 0 || !op->request.is_acknowledged)
		return r;
	expect_target(op);
	r = clv_store_begin(store, false, err);
	if (r >= 0)
		r = clv_operation_write(op, err);
	if (r >= 0)
		r = clv_state_put_key(agent, op->id, err);
	if (r >= 0)
		r = clv_store_commit(store, err);
	if (r < 0)
		clv_store_rollback(store);
	return r;
}
