/* SPDX-License-Identifier: Apache-2.0 */
/* The kept layout: for each device the rule of the last layout that selected it, so that
 * layouts of different devices do not replace each other. */
#include "agent/apply/apply-internal.h"

#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int clv_operation_move_rule(struct clv_layout *to, struct clv_layout_rule *rule)
{
	struct clv_layout_rule *slot = clv_layout_add_rule(to);

	if (!slot)
		return -ENOMEM;
	*slot = *rule;
	*rule = (struct clv_layout_rule){0};
	return 0;
}

bool clv_operation_selects(const struct clv_operation *op, const char *identity)
{
	for (size_t i = 0; i < op->layout.n_rules; i++) {
		const struct clv_selector *select = &op->layout.rules[i].select;

		for (size_t j = 0; j < select->n_names; j++) {
			if (strcmp(select->names[j], identity) == 0)
				return true;
		}
	}
	return false;
}

static bool is_of_another(void *userdata, const char *identity)
{
	return !clv_operation_selects(userdata, identity);
}

static int append_rules(
	struct clv_layout *layout, const struct clv_operation *op, struct clv_error *err)
{
	struct clv_layout own = {0};
	int r = clv_layout_parse(
		op->target, strlen(op->target), op->layout.name, &own, err);

	for (size_t i = 0; i < own.n_rules && r >= 0; i++) {
		if (clv_operation_move_rule(layout, &own.rules[i]) < 0)
			r = clv_error_errno(err, ENOMEM, "cannot keep the layout");
	}
	if (r >= 0)
		layout->on_busy = own.on_busy;
	clv_layout_clear(&own);
	return r;
}

/* Merges the operation's layout into the former one.  *ret NULL: no rule remains. */
static int merge(
	struct clv_operation *op, const char *former, char **ret, struct clv_error *err)
{
	struct clv_layout layout = {0};
	int r = clv_layout_parse(former, strlen(former), "the kept layout", &layout, err);

	*ret = NULL;
	if (r < 0)
		return r;
	clv_layout_keep(&layout, is_of_another, op);
	if (layout.n_rules > 0)
		r = append_rules(&layout, op, err);
	if (r >= 0 && layout.n_rules > 0)
		r = clv_layout_write(&layout, ret, err);
	clv_layout_clear(&layout);
	return r;
}

/* A layout that an earlier version kept, and that could not be resolved, is replaced. */
static int merge_with_kept(struct clv_operation *op, struct clv_store *store, char **ret,
	struct clv_error *err)
{
	_cleanup_free_ char *text = NULL, *resolved = NULL;
	int r;

	*ret = NULL;
	if (!store || op->request.forgets_others)
		return 0;
	r = clv_store_get_layout(store, &text, &resolved, err);
	if (r == -ENOENT)
		return 0;
	return r < 0 || resolved[0] == '\0' ? r : merge(op, resolved, ret, err);
}

int clv_operation_keep(struct clv_operation *op, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(op->apply->agent, err);
	int r = merge_with_kept(op, store, &op->kept, err);

	op->kept_text = strdup(op->kept      ? op->kept
			       : op->written ? op->written
					     : op->target);
	if (!op->kept)
		op->kept = strdup(op->target);
	if (!op->kept || !op->kept_text)
		return clv_error_errno(err, ENOMEM, "cannot keep the layout");
	if (r < 0 || !store)
		return err->code;
	return clv_store_put_layout(store, op->kept_text, op->kept, err);
}
