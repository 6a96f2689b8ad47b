/* SPDX-License-Identifier: Apache-2.0 */
#include "explore-said.h"

#include "world.h"

#include "agent/apply/apply-internal.h"
#include "agent/apply/apply.h"
#include "agent/layout/reapply.h"

#include <string.h>

const struct clv_operation *explore_last(void)
{
	const struct clv_operation *op = NULL, *next;

	for (size_t i = 0; (next = clv_apply_at(world.agent.apply, i)); i++)
		op = next;
	return op;
}

static const struct clv_operation *find(bool (*is)(const struct clv_operation *op))
{
	const struct clv_operation *op = NULL, *next;

	for (size_t i = 0; (next = clv_apply_at(world.agent.apply, i)); i++) {
		if (is(next))
			op = next;
	}
	return op;
}

static bool is_users(const struct clv_operation *op)
{
	return op->request.keeps_layout;
}

const struct clv_operation *explore_user(void)
{
	return find(is_users);
}

static bool has_begun(const struct clv_operation *op)
{
	return op->before && op->state < DONE;
}

const struct clv_operation *explore_begun(void)
{
	return find(has_begun);
}

static bool is_moving(const struct clv_operation *op)
{
	return op->state < DONE && (op->state != WAITING || op->n_tries > 0);
}

const struct clv_operation *explore_user_of(unsigned int gpu)
{
	const struct clv_operation *op = NULL, *next;

	for (size_t i = 0; (next = clv_apply_at(world.agent.apply, i)); i++) {
		if (is_users(next) &&
			clv_operation_selects(next, gpu ? "GPU-1" : "GPU-0"))
			op = next;
	}
	return op;
}

bool explore_is_at_rest(void)
{
	return !find(is_moving);
}

bool explore_waits(unsigned int gpu)
{
	const struct clv_operation *op;

	for (size_t i = 0; (op = clv_apply_at(world.agent.apply, i)); i++) {
		if (op->state == WAITING &&
			clv_operation_selects(op, gpu ? "GPU-1" : "GPU-0"))
			return true;
	}
	return false;
}

static bool is_of(const json_t *item, unsigned int gpu)
{
	const char *uuid = json_string_value(json_object_get(item, "uuid"));

	return uuid && uuid[4] == (gpu ? '1' : '0');
}

bool explore_is_left(unsigned int gpu)
{
	json_t *past = clv_apply_past(world.agent.apply), *item, *left;
	const struct clv_operation *op;
	bool is = false;
	size_t i, k;

	for (i = 0; (op = clv_apply_at(world.agent.apply, i)); i++) {
		json_array_foreach (op->left_json, k, left)
			is |= is_of(left, gpu);
	}
	json_array_foreach (past, i, item) {
		json_array_foreach (json_object_get(item, "left"), k, left)
			is |= is_of(left, gpu);
	}
	json_decref(past);
	return is;
}

bool explore_is_waited_for(unsigned int gpu)
{
	json_t *devices = clv_reapply_to_json(world.agent.reapply), *item;
	bool is = false;
	size_t i;

	json_array_foreach (devices, i, item)
		is |= is_of(item, gpu) &&
		      strcmp(json_string_value(json_object_get(item, "state")),
			      "applied") != 0;
	json_decref(devices);
	return is;
}

bool explore_has_past(void)
{
	json_t *past = clv_apply_past(world.agent.apply);
	bool has = json_array_size(past) > 0;

	json_decref(past);
	return has;
}

bool explore_has_failed_before(void)
{
	json_t *past = clv_apply_past(world.agent.apply), *item;
	bool has = false;
	size_t i;

	json_array_foreach (past, i, item)
		has |= strcmp(json_string_value(json_object_get(item, "state")),
			       clv_operation_states[FAILED]) == 0;
	json_decref(past);
	return has;
}
