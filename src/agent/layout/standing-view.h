/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan.h"

#include <jansson.h>

struct clv_agent;

/* Standing shares in plans and in exported layouts.  Loop thread only. */

/* What carrying out the plan would change in the standing shares of its devices: an array
 * as docs/api.md describes it, removals first. */
json_t *clv_standing_changes_to_json(const struct clv_agent *agent,
	const struct clv_node *node, const struct clv_plan *plan);

/* Adds the standing shares to the layout of clv_layout_of_node(), so that applying it
 * changes none of them.  -ENOMEM */
int clv_standing_add_to_layout(const struct clv_agent *agent, const struct clv_node *node,
	struct clv_layout *layout);
