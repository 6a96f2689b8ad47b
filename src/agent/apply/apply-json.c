/* SPDX-License-Identifier: Apache-2.0 */
/* Accessors of an operation, and its JSON. */
#include "agent/apply/apply-internal.h"

#include "agent/http/problem.h"
#include "agent/os/json-fields.h"
#include "base/clock.h"

#include <errno.h>

bool clv_operation_has_ended(const struct clv_operation *op)
{
	return op->state >= DONE;
}

const char *clv_operation_id(const struct clv_operation *op)
{
	return op->id;
}

uint64_t clv_operation_revision(const struct clv_operation *op)
{
	return op->revision;
}

const char *clv_operation_created(const struct clv_operation *op)
{
	for (size_t i = op->n_stages; i-- > 0 && op->state == DONE;) {
		if (op->stages[i].step.kind == CLV_STEP_CREATE)
			return op->stages[i].step.partition;
	}
	return "";
}

int clv_operation_error(const struct clv_operation *op, struct clv_error *err)
{
	if (op->error.code == 0)
		return clv_error_set(err, -ETIMEDOUT, "%s is still under way", op->id);
	return clv_error_set(err, op->error.code, "%s", op->error.msg);
}

static const char *stage_state(const struct clv_operation *op, size_t i)
{
	if (op->stages[i].has_failed)
		return "failed";
	if (i < op->at)
		return "done";
	return i == op->at && !clv_operation_has_ended(op) ? "running" : "pending";
}

static json_t *stages_to_json(const struct clv_operation *op)
{
	json_t *array = json_array();

	for (size_t i = 0; i < op->n_stages; i++) {
		const struct stage *of = &op->stages[i];
		json_t *stage =
			json_pack("{s:s,s:f,s:s,s:s,s:s}", "state", stage_state(op, i),
				"seconds", (double)of->took_ns / (double)CLV_NS_PER_S,
				"kind", clv_step_kind_to_string(of->step.kind), "device",
				of->device, "partition", of->step.partition);

		clv_json_set_text(stage, "text", of->text);
		json_array_append_new(array, stage);
	}
	return array;
}

static json_t *time_to_json(uint64_t real_ns)
{
	char text[32];

	if (real_ns == 0)
		return json_null();
	clv_clock_format_rfc3339(real_ns, text);
	return json_string(text);
}

json_t *clv_operation_to_json(const struct clv_operation *op)
{
	json_t *error = json_null(), *json, *more;

	if (op->error.code != 0)
		error = clv_problem_to_json(&op->error, &(unsigned int){0});
	json = json_object();
	clv_json_set_text(json, "id", op->id);
	clv_json_set_text(json, "what", op->request.what);
	more = json_pack("{s:s,s:I,s:I,s:o,s:o,s:o,s:o,s:o}", "state",
		clv_operation_states[op->state], "revision", (json_int_t)op->revision,
		"step", (json_int_t)op->at, "steps", stages_to_json(op), "obstacles",
		op->obstacles ? json_incref(op->obstacles) : json_array(), "error", error,
		"started_at", time_to_json(op->started_real_ns), "ended_at",
		time_to_json(op->ended_real_ns));
	json_object_update_new(json, more);
	json_object_set_new(
		json, "left", op->left_json ? json_incref(op->left_json) : json_array());
	return json;
}
