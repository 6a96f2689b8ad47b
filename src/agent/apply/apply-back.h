/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that lead back to an earlier state of the node. */
#pragma once

#include "core/device/node.h"
#include "core/layout/layout.h"
#include "core/plan/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct clv_operation;

/* The current state of the devices of the operation, as a layout; once it has begun, of
 * those that op->before has. */
int clv_back_read(const struct clv_operation *op, const struct clv_node *node,
	struct clv_layout *ret, struct clv_error *err);
/* The plan that restores as many devices as possible to op->before.  The others are added
 * to op->left: they are gone, in use, or no plan restores them. */
int clv_back_plan(struct clv_operation *op, const struct clv_node *node,
	struct clv_plan *ret, struct clv_error *err);
/* Whether the node shows all devices of the resolved layout, read completely. */
bool clv_back_shows_all(const struct clv_node *node, const struct clv_layout *layout);
/* If it does not: says in *err which device is missing, and returns true. */
bool clv_back_explain_missing(const struct clv_operation *op, const struct clv_node *node,
	struct clv_error *err);
/* Excludes a device whose step has failed, and the devices that change with it, from the
 * roll-back: adds them to op->left.  False: the device was excluded already. */
bool clv_back_leave(
	struct clv_operation *op, const char *uuid, const struct clv_error *why);
/* Excludes all other devices of the operation, because the node cannot be read. */
void clv_back_leave_all(struct clv_operation *op, const struct clv_error *why);
/* The devices that were left, why, and what is left to do on them. */
json_t *clv_back_left_to_json(struct clv_operation *op);
/* The same as a sentence, from op->left_json. */
void clv_back_describe(const struct clv_operation *op, char *ret, size_t ret_bytes);

/* The plan for an operation that an earlier agent began: towards `target`, and for
 * devices that `target` does not select towards their compute modes in `before`, which a
 * reload of the driver may have reset. */
int clv_apply_plan_resumed(const char *target, const char *before,
	const struct clv_node *node, struct clv_plan *ret, struct clv_error *err);

/* The memory mode that a layout requests for any device; 0: none. */
uint32_t clv_apply_memory_mode(const struct clv_layout *layout);
