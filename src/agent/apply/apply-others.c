/* SPDX-License-Identifier: Apache-2.0 */
/* Operations beside others.  One that waits for holders, maybe for days, and has changed
 * nothing, leaves the other devices to others; once an operation has begun its steps, all
 * others wait for its end, because a roll-back restores the whole node. */
#include "agent/apply/apply-internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool clv_operation_only_waits(const struct clv_operation *op)
{
	return op->state == WAITING && !op->before;
}

bool clv_operation_is_behind(const struct clv_operation *op)
{
	const struct clv_operation *other;

	TAILQ_FOREACH(other, &op->apply->operations, entry)
	{
		if (other != op && !clv_operation_has_ended(other) && other->before)
			return true;
	}
	return false;
}

/* Devices of a hive change their memory mode together. */
static void touch(const struct clv_node *node, const struct clv_node_device *device,
	bool *is_touched)
{
	for (size_t i = 0; i < node->n_devices && device; i++) {
		const struct clv_node_device *other = &node->devices[i];

		if (other == device || (device->hive[0] != '\0' &&
					       strcmp(other->hive, device->hive) == 0))
			is_touched[i] = true;
	}
}

/* A resolved layout may name a device that is gone, so that it matches nothing. */
static void touch_selected(
	const struct clv_layout *layout, const struct clv_node *node, bool *is_touched)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	bool is_matched = rule_of && clv_layout_match(layout, node, rule_of, NULL) >= 0;

	for (size_t i = 0; i < node->n_devices && is_matched; i++) {
		if (rule_of[i] >= 0)
			touch(node, &node->devices[i], is_touched);
	}
	for (size_t i = 0; i < layout->n_rules && !is_matched; i++) {
		const struct clv_selector *select = &layout->rules[i].select;

		for (size_t j = 0; j < select->n_names; j++)
			touch(node, clv_node_find(node, select->names[j]), is_touched);
	}
}

static void touch_all_of(
	const struct clv_operation *op, const struct clv_node *node, bool *is_touched)
{
	const char *partition = op->request.partition;
	char device[CLV_PARTITION_NAME_MAX];

	snprintf(device, sizeof(device), "%.*s", (int)strcspn(partition, "/"), partition);
	touch(node, clv_node_find(node, device), is_touched);
	touch(node, clv_node_find(node, op->request.device), is_touched);
	touch_selected(&op->layout, node, is_touched);
	for (size_t i = 0; i < op->marks.n; i++)
		touch(node, clv_node_find(node, op->marks.items[i].uuid), is_touched);
}

static int check_other(const struct clv_operation *other, const struct clv_node *node,
	const bool *is_mine, struct clv_error *err)
{
	_cleanup_free_ bool *is_others = calloc(node->n_devices + 1, sizeof(*is_others));

	if (!is_others)
		return clv_error_errno(err, ENOMEM, "cannot apply");
	touch_all_of(other, node, is_others);
	for (size_t i = 0; i < node->n_devices; i++) {
		if (is_mine[i] && is_others[i])
			return clv_error_set(err, -EBUSY,
				"another change of %s waits for what is in its way: wait "
				"for its end with cleave apply --follow %s, and try "
				"again",
				node->devices[i].info.name, other->id);
	}
	return 0;
}

int clv_operation_check_others(const struct clv_operation *op,
	const struct clv_node *node, struct clv_error *err)
{
	_cleanup_free_ bool *is_mine = calloc(node->n_devices + 1, sizeof(*is_mine));
	const struct clv_operation *other;
	int r = 0;

	if (!is_mine)
		return clv_error_errno(err, ENOMEM, "cannot apply");
	touch_all_of(op, node, is_mine);
	TAILQ_FOREACH(other, &op->apply->operations, entry)
	{
		if (r >= 0 && other != op && !clv_operation_has_ended(other))
			r = check_other(other, node, is_mine, err);
	}
	return r;
}
