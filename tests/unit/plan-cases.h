/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* A row of a table: a node, rules, and what the plan between them is, in the texts of
 * plan-world.h. */
struct plan_case {
	const char *node;
	const char *rules;
	const char *show;
	const char *text;
};

/* Shows the rows that are otherwise and fails the test that calls it.  A plan that
 * nothing stands in the way of is also carried out: then the node looks as the rules say,
 * and the plan from there has no steps. */
void plan_check_cases(const struct plan_case *cases, size_t n);
