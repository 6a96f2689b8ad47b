/* SPDX-License-Identifier: Apache-2.0 */
/* The list of operations: started, found, cancelled. */
#include "agent/apply/apply-back.h"
#include "agent/apply/apply-internal.h"
#include "agent/device/hardware.h"
#include "agent/http/problem.h"
#include "agent/ledger/holders.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_operation(struct clv_operation *op)
{
	clv_hardware_cancel(op->apply->agent->hardware, op);
	sd_event_source_disable_unref(op->timer);
	clv_layout_clear(&op->layout);
	clv_layout_clear(&op->former);
	clv_marks_clear(&op->marks);
	free(op->left);
	json_decref(op->left_json);
	json_decref(op->obstacles);
	free(op->stages);
	free(op->target);
	free(op->written);
	free(op->expected);
	free(op->before);
	free(op->kept_text);
	free(op->kept);
	free(op);
}

/* Only operations that have ended are dropped. */
static void drop_oldest(struct clv_apply *apply)
{
	struct clv_operation *op = TAILQ_FIRST(&apply->operations);

	while (op && !clv_operation_has_ended(op))
		op = TAILQ_NEXT(op, entry);
	if (!op)
		return;
	TAILQ_REMOVE(&apply->operations, op, entry);
	apply->n_operations--;
	free_operation(op);
}

struct clv_operation *clv_operation_add(
	struct clv_apply *apply, const struct clv_apply_request *request)
{
	struct clv_operation *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->apply = apply;
	op->request = *request;
	op->request.layout = op->request.layout_name = NULL;
	op->started_real_ns = clv_clock_real_ns();
	op->revision = 1;
	clv_lease_make_id(op->id);
	op->id[0] = 'o';
	TAILQ_INSERT_TAIL(&apply->operations, op, entry);
	if (++apply->n_operations > CLV_OPERATIONS_KEPT)
		drop_oldest(apply);
	return op;
}

bool clv_apply_is_busy(const struct clv_apply *apply)
{
	const struct clv_operation *op;

	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (!clv_operation_has_ended(op))
			return true;
	}
	return false;
}

static int take_layout(struct clv_operation *op, const struct clv_apply_request *request,
	struct clv_error *err)
{
	int r;

	if (!request->layout)
		return 0;
	r = clv_layout_parse(request->layout, strlen(request->layout),
		request->layout_name, &op->layout, err);
	if (r < 0)
		return r;
	if (request->has_on_busy)
		op->layout.on_busy = request->on_busy;
	/* Nothing is destroyed, because no user has confirmed what would be. */
	for (size_t i = 0; i < op->layout.n_rules && request->is_again; i++)
		op->layout.rules[i].preserve = true;
	/* The kept layout is tried again later, without an operation that waits. */
	if (request->is_again)
		op->layout.on_busy = CLV_ON_BUSY_FAIL;
	op->written = strdup(request->layout);
	return op->written ? 0 : clv_error_errno(err, ENOMEM, "cannot apply");
}

void clv_apply_touch(const struct clv_apply_request *request, const struct clv_node *node,
	bool *is_touched)
{
	struct clv_operation op = {.request = *request};

	if (take_layout(&op, request, NULL) >= 0)
		clv_operation_touch(&op, node, is_touched);
	clv_layout_clear(&op.layout);
	free(op.written);
}

int clv_apply_start(struct clv_apply *apply, const struct clv_apply_request *request,
	struct clv_operation **ret, struct clv_error *err)
{
	struct clv_operation *op;
	int r;

	/* An operation that an earlier agent left unfinished may be in the file. */
	if (!clv_state_get(apply->agent, err))
		return err->code;
	op = clv_operation_add(apply, request);
	if (!op)
		return clv_error_errno(err, ENOMEM, "cannot apply");
	r = take_layout(op, request, err);
	if (r >= 0)
		r = clv_operation_check_others(op, clv_holders_node(apply->agent), err);
	if (r >= 0)
		r = clv_operation_accept(op, err);
	if (r < 0) {
		TAILQ_REMOVE(&apply->operations, op, entry);
		apply->n_operations--;
		free_operation(op);
		return r;
	}
	clv_operation_survey(op);
	*ret = op;
	return 0;
}

int clv_apply_cancel(
	struct clv_apply *apply, struct clv_operation *op, struct clv_error *err)
{
	struct clv_error why = {0};

	if (op->state == RUNNING || op->state == ROLLING_BACK)
		return clv_error_set(err, -CLV_E_IN_USE,
			"%s is running and cannot be cancelled: it ends by itself, done "
			"or rolled back",
			op->id);
	if (clv_operation_has_ended(op))
		return 0;
	clv_error_set(&why, -ECANCELED,
		"it was cancelled while it waited; nothing was changed");
	if (op->before)
		clv_error_set(&why, -ECANCELED, "it was cancelled while it waited");
	clv_hardware_cancel(apply->agent->hardware, op);
	clv_operation_fail(op, &why);
	return 0;
}

struct clv_operation *clv_apply_find(
	struct clv_apply *apply, const char *id, struct clv_error *err)
{
	struct clv_operation *op;

	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (strcmp(op->id, id) == 0)
			return op;
	}
	clv_error_set(err, -ENOENT, "there is no operation %.40s", id);
	return NULL;
}

struct clv_operation *clv_apply_at(struct clv_apply *apply, size_t i)
{
	struct clv_operation *op;

	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (i-- == 0)
			return op;
	}
	return NULL;
}

int clv_apply_new(struct clv_agent *agent, struct clv_apply **ret, struct clv_error *err)
{
	struct clv_apply *apply = calloc(1, sizeof(*apply));

	if (!apply)
		return clv_error_errno(err, ENOMEM, "cannot manage partitions");
	apply->agent = agent;
	TAILQ_INIT(&apply->operations);
	*ret = apply;
	return 0;
}

struct clv_apply *clv_apply_free(struct clv_apply *apply)
{
	struct clv_operation *op;

	if (!apply)
		return NULL;
	while ((op = TAILQ_FIRST(&apply->operations))) {
		TAILQ_REMOVE(&apply->operations, op, entry);
		free_operation(op);
	}
	free(apply);
	return NULL;
}
