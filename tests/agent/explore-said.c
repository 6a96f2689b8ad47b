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

static bool is_of(const json_t *item, unsigned int gpu)
{
	const char *uuid = json_string_value(json_object_get(item, "uuid"));

	return uuid && uuid[4] == (gpu ? '1' : '0');
}

bool explore_is_left(unsigned int gpu)
{
	json_t *past = clv_apply_past(world.agent.apply), *item, *left;
	const struct clv_operation *op = explore_last();
	bool is = false;
	size_t i, k;

	json_array_foreach (op ? op->left_json : NULL, i, left)
		is |= is_of(left, gpu);
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
