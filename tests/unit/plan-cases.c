/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-cases.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "plan-apply.h"
#include "plan-world.h"

#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_carried_out(const struct plan_case *row, struct clv_node *node)
{
	_cleanup_free_ char *left = NULL;
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	const char *wrong = NULL;

	plan_layout(row->rules, &layout);
	if (clv_plan_make(node, &layout, &plan, NULL) == 0 && plan.n_obstacles == 0) {
		wrong = plan_apply_all(node, &plan);
		if (!wrong)
			wrong = plan_look(node, &layout);
		left = plan_text(node, row->rules, "sb");
	}
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	if (wrong)
		print_error("'%s' to '%s': %s\n", row->node, row->rules, wrong);
	if (left && left[0] != '\0')
		print_error("'%s' to '%s' leaves '%s'\n", row->node, row->rules, left);
	return !wrong && (!left || left[0] == '\0');
}

static bool is_as_it_says(const struct plan_case *row)
{
	_cleanup_free_ char *text = NULL;
	struct clv_node node;
	bool good;

	plan_node(row->node, &node);
	text = plan_text(&node, row->rules, row->show);
	good = strcmp(text, row->text) == 0;
	if (!good)
		print_error("'%s' to '%s' gives\n%s, not\n%s", row->node, row->rules,
			text, row->text);
	good &= is_carried_out(row, &node);
	clv_node_clear(&node);
	return good;
}

void plan_check_cases(const struct plan_case *cases, size_t n)
{
	size_t n_bad = 0;

	for (size_t i = 0; i < n; i++)
		n_bad += !is_as_it_says(&cases[i]);
	if (n_bad > 0)
		fail_msg("%zu of %zu rows", n_bad, n);
}
