/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/layout/layout.h"
#include "core/plan/plan.h"

#include <stdbool.h>

/* A node in memory that carries out plans as drivers would, and the tests' own
 * interpretation of layouts. */

/* Carries out one step. Returns NULL, or the reason why a driver would refuse it: it
 * affects a device in use, it does not fit, or it is out of order. */
const char *plan_apply(struct clv_node *node, const struct clv_step *step);
/* Carries out all steps, and checks clv_step_is_done() before and after each. Returns
 * NULL or the error. */
const char *plan_apply_all(struct clv_node *node, const struct clv_plan *plan);

/* Whether drivers could show the device: its instances, their parts and its sets of
 * processors are known and do not overlap. */
bool plan_fits(const struct clv_node_device *device);

/* Whether the node is as the rules require, by the tests' own interpretation: NULL or the
 * first difference. MIG, modes, functions and processors; shares are part of the plan
 * only. */
const char *plan_look(const struct clv_node *node, const struct clv_layout *layout);
