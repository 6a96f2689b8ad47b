/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan.h"

#include <jansson.h>

/* Plans as the API shows them.  docs/api.md has the members. */
json_t *clv_plan_to_json(const struct clv_plan *plan, const struct clv_node *node);
json_t *clv_plan_obstacles_to_json(
	const struct clv_plan *plan, const struct clv_node *node);
