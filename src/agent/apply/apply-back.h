/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that lead back to an earlier state of the node. */
#pragma once

#include "core/device/node.h"
#include "core/layout/layout.h"
#include "core/plan/plan.h"

#include <stddef.h>

struct clv_error;

/* Parses the layout `before` and drops the devices that are gone or can no longer be
 * divided, so that the others can still be put back. *ret is the caller's to clear.
 * ret_gone: the names of the dropped devices, "" for none. */
int clv_apply_parse_before(const char *before, const struct clv_node *node,
	struct clv_layout *ret, char *ret_gone, size_t gone_bytes, struct clv_error *err);

/* The plan for an operation that an earlier agent began: towards `target`, and for
 * devices that `target` does not select towards their compute modes in `before`, which a
 * reload of the driver may have reset. */
int clv_apply_plan_resumed(const char *target, const char *before,
	const struct clv_node *node, struct clv_plan *ret, struct clv_error *err);

/* The memory mode that a layout requests for any device; 0: none. */
uint32_t clv_apply_memory_mode(const struct clv_layout *layout);
