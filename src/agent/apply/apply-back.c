/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the layouts and plans of roll-backs and resumed operations. */
#include "agent/apply/apply-back.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/xcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool can_be_divided(const struct clv_node_device *device)
{
	return device && (device->mig.is_capable || device->xcp.is_capable ||
				 device->vf.is_capable || device->cores.is_capable);
}

static void note_gone(const char *name, char *gone, size_t gone_bytes)
{
	size_t used = strlen(gone);

	snprintf(gone + used, gone_bytes - used, "%s%s", used ? ", " : "", name);
}

static void drop_rule(struct clv_layout *layout, size_t at)
{
	struct clv_layout dropped = {.rules = NULL};
	struct clv_layout_rule *rule = clv_layout_add_rule(&dropped);
	struct clv_layout_rule held = layout->rules[at];

	memmove(&layout->rules[at], &layout->rules[at + 1],
		(layout->n_rules - at - 1) * sizeof(held));
	layout->n_rules--;
	if (rule)
		*rule = held;
	clv_layout_clear(&dropped);
}

int clv_apply_parse_before(const char *before, const struct clv_node *node,
	struct clv_layout *ret, char *ret_gone, size_t gone_bytes, struct clv_error *err)
{
	struct clv_layout layout;
	int r = clv_layout_parse(
		before, strlen(before), "the node as it was", &layout, err);

	if (r < 0)
		return r;
	ret_gone[0] = '\0';
	for (size_t i = 0; i < layout.n_rules;) {
		const struct clv_selector *select = &layout.rules[i].select;
		const char *name = select->n_names > 0 ? select->names[0] : "";

		if (name[0] == '\0' || can_be_divided(clv_node_find(node, name))) {
			i++;
			continue;
		}
		note_gone(name, ret_gone, gone_bytes);
		drop_rule(&layout, i);
	}
	*ret = layout;
	return 0;
}

static int move_rule(struct clv_layout *to, struct clv_layout_rule *rule)
{
	struct clv_layout_rule *slot = clv_layout_add_rule(to);

	if (!slot)
		return -ENOMEM;
	*slot = *rule;
	*rule = (struct clv_layout_rule){0};
	return 0;
}

/* Moves the rules of modes for devices that no rule of `to` selects. */
static int move_modes(struct clv_layout *to, struct clv_layout *from,
	const struct clv_node *node, const int32_t *rule_of)
{
	int r = 0;

	for (size_t i = 0; i < from->n_rules && r >= 0; i++) {
		struct clv_layout_rule *rule = &from->rules[i];
		const struct clv_node_device *device =
			rule->has_compute_mode && rule->select.n_names > 0
				? clv_node_find(node, rule->select.names[0])
				: NULL;

		if (device && rule_of[device - node->devices] < 0)
			r = move_rule(to, rule);
	}
	return r;
}

static int add_modes(struct clv_layout *layout, const char *before,
	const struct clv_node *node, struct clv_error *err)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	struct clv_layout former;
	char gone[8];
	int r;

	if (!rule_of)
		return clv_error_errno(err, ENOMEM, "cannot plan");
	r = clv_layout_match(layout, node, rule_of, err);
	if (r >= 0)
		r = clv_apply_parse_before(
			before, node, &former, gone, sizeof(gone), err);
	if (r < 0)
		return r;
	if (move_modes(layout, &former, node, rule_of) < 0)
		r = clv_error_errno(err, ENOMEM, "cannot plan");
	clv_layout_clear(&former);
	return r;
}

int clv_apply_plan_resumed(const char *target, const char *before,
	const struct clv_node *node, struct clv_plan *ret, struct clv_error *err)
{
	struct clv_layout layout;
	int r = clv_layout_parse(target, strlen(target), "the journal", &layout, err);

	if (r < 0)
		return r;
	r = add_modes(&layout, before, node, err);
	if (r >= 0)
		r = clv_plan_make(node, &layout, ret, err);
	clv_layout_clear(&layout);
	return r;
}

uint32_t clv_apply_memory_mode(const struct clv_layout *layout)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		const struct clv_layout_rule *rule = &layout->rules[i];
		const char *slash = rule->n_partitions > 0
					    ? strstr(rule->partitions[0].profile, "/NPS")
					    : NULL;

		if (rule->memory_mode != 0)
			return rule->memory_mode;
		if (slash)
			return (uint32_t)clv_memory_mode_from_string(slash + 1);
	}
	return 0;
}
