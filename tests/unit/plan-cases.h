/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* A row of a table: a node, rules, and the expected plan between them, in the texts of
 * plan-world.h. */
struct plan_case {
	const char *node;
	const char *rules;
	const char *show;
	const char *text;
};

/* Prints the rows that differ and fails the calling test. A plan without obstacles is
 * also carried out: then the node is as the rules require, and a new plan has no
 * steps. */
void plan_check_cases(const struct plan_case *cases, size_t n);
