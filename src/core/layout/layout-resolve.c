/* SPDX-License-Identifier: Apache-2.0 */
/* Resolved layouts: rules that select hardware by UUID or PCI address alone, so that they
 * mean the same devices whatever the order and the names of the node's devices are. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the selector of the rule by the devices that it has been matched with. */
static int resolve_rule(struct clv_layout_rule *rule, int32_t at,
	const struct clv_node *node, const int32_t *rule_of)
{
	struct clv_selector select = {0};
	int r = 0;

	for (size_t i = 0; i < node->n_devices && r >= 0; i++) {
		if (rule_of[i] == at)
			r = clv_selector_add_name(
				&select, clv_node_identity(&node->devices[i]));
	}
	if (r < 0) {
		free(select.names);
		return r;
	}
	free(rule->select.indexes);
	free(rule->select.names);
	rule->select = select;
	return 0;
}

int clv_layout_resolve(
	struct clv_layout *layout, const struct clv_node *node, struct clv_error *err)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	int r;

	if (!rule_of)
		return clv_error_errno(err, ENOMEM, "cannot select devices");
	r = clv_layout_match(layout, node, rule_of, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < layout->n_rules && r >= 0; i++)
		r = resolve_rule(&layout->rules[i], (int32_t)i, node, rule_of);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot select devices");
	for (size_t i = layout->n_rules; i-- > 0;) {
		if (layout->rules[i].select.n_names == 0)
			clv_layout_remove_rule(layout, i);
	}
	return 0;
}

static bool is_resolved(const struct clv_selector *select)
{
	for (size_t i = 0; i < select->n_names; i++) {
		if (clv_is_given_name(select->names[i]))
			return false;
	}
	return select->n_names > 0 && select->n_more == 0 && select->n_indexes == 0 &&
	       select->model[0] == '\0' && select->vendor[0] == '\0' &&
	       !select->is_homogeneous && !select->is_optional;
}

bool clv_selector_needs_order(const struct clv_selector *select)
{
	for (size_t i = 0; i < select->n_names; i++) {
		if (clv_is_given_name(select->names[i]))
			return true;
	}
	return select->n_indexes > 0;
}

bool clv_layout_is_resolved(const struct clv_layout *layout)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		if (!is_resolved(&layout->rules[i].select))
			return false;
	}
	return true;
}

void clv_layout_keep(struct clv_layout *layout, clv_layout_keep_fn keeps, void *userdata)
{
	for (size_t i = layout->n_rules; i-- > 0;) {
		struct clv_selector *select = &layout->rules[i].select;
		size_t n = 0;

		for (size_t j = 0; j < select->n_names; j++) {
			if (!keeps(userdata, select->names[j]))
				continue;
			memmove(select->names[n++], select->names[j],
				sizeof(select->names[j]));
		}
		select->n_names = n;
		if (n == 0)
			clv_layout_remove_rule(layout, i);
	}
}
