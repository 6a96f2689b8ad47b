/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"
#include "core/layout/layout.h"
#include "core/plan/plan.h"

#include <stddef.h>

struct clv_error;

/* The layout `before`, as text, for those of its devices that are still there and can
 * still be divided: one that is gone must not keep the others from being put back.
 * ret_gone names those that are left out, "" for none. */
int clv_apply_back(const char *before, const struct clv_node *node,
	struct clv_layout *ret, char *ret_gone, size_t gone_bytes, struct clv_error *err);

/* The plan of an operation that another agent began: a reload may have taken the compute
 * modes of devices that the layout does not speak of, so those are as they were before,
 * too. */
int clv_apply_plan_on(const char *target, const char *before, const struct clv_node *node,
	struct clv_plan *ret, struct clv_error *err);

/* The memory mode that a layout asks for anywhere; 0: none. */
uint32_t clv_apply_memory_mode(const struct clv_layout *layout);
