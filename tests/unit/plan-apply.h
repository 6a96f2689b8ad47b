/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/layout/layout.h"
#include "core/plan/plan.h"

#include <stdbool.h>

/* A node in memory that carries plans out as drivers would, and the tests' own reading of
 * what a layout wants. */

/* Carries out one step.  Returns NULL, or why no driver would do it: somebody uses what
 * it touches, it does not fit, it comes in the wrong order. */
const char *plan_apply(struct clv_node *node, const struct clv_step *step);
/* All of them, and each shows in what clv_step_is_done() says, before and after.  NULL
 * or what is wrong. */
const char *plan_apply_all(struct clv_node *node, const struct clv_plan *plan);

/* Whether drivers could show the device so: its instances, their parts and its sets of
 * processors are each in a place of their own, and known. */
bool plan_fits(const struct clv_node_device *device);

/* Whether the node looks as the rules say, by the tests' own reading of them: NULL or
 * what is missing.  MIG, modes, functions and processors; shares are the plan's. */
const char *plan_look(const struct clv_node *node, const struct clv_layout *layout);
