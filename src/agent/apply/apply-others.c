/* SPDX-License-Identifier: Apache-2.0 */
/* Concurrent operations.  An operation changes and restores its own devices only, so
 * operations on different devices run concurrently.  Of two with a device in common the
 * later one is refused, or waits for the end of the earlier one. */
#include "agent/apply/apply-internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it waits for holders, possibly for days, and has changed nothing. */
static bool only_waits(const struct clv_operation *op)
{
	return op->state == WAITING && !op->before;
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

/* A resolved layout may name a device that is gone, so that it matches nothing.  If
 * memory is lacking it counts as selecting all devices. */
static void touch_selected(
	const struct clv_layout *layout, const struct clv_node *node, bool *is_touched)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	bool is_matched = rule_of && clv_layout_match(layout, node, rule_of, NULL) >= 0;

	for (size_t i = 0; i < node->n_devices; i++) {
		if (!rule_of || (is_matched && rule_of[i] >= 0))
			touch(node, &node->devices[i], is_touched);
	}
	for (size_t i = 0; i < layout->n_rules && !is_matched; i++) {
		const struct clv_selector *select = &layout->rules[i].select;

		for (size_t j = 0; j < select->n_names; j++)
			touch(node, clv_node_find(node, select->names[j]), is_touched);
	}
}

void clv_operation_touch(
	const struct clv_operation *op, const struct clv_node *node, bool *is_touched)
{
	const char *partition = op->request.partition;
	char device[CLV_PARTITION_NAME_MAX];

	snprintf(device, sizeof(device), "%.*s", (int)strcspn(partition, "/"), partition);
	touch(node, clv_node_find(node, device), is_touched);
	touch(node, clv_node_find(node, op->request.device), is_touched);
	touch_selected(&op->layout, node, is_touched);
	touch_selected(&op->former, node, is_touched);
	for (size_t i = 0; i < op->marks.n; i++)
		touch(node, clv_node_find(node, op->marks.items[i].uuid), is_touched);
}

/* *ret is the first common device; NULL: there is none.  0 or -ENOMEM. */
static int find_common(const struct clv_operation *op, const struct clv_operation *other,
	const struct clv_node *node, const struct clv_node_device **ret)
{
	_cleanup_free_ bool *is_mine = calloc(node->n_devices + 1, sizeof(*is_mine));
	_cleanup_free_ bool *is_others = calloc(node->n_devices + 1, sizeof(*is_others));

	*ret = NULL;
	if (!is_mine || !is_others)
		return -ENOMEM;
	clv_operation_touch(op, node, is_mine);
	clv_operation_touch(other, node, is_others);
	for (size_t i = 0; i < node->n_devices && !*ret; i++) {
		if (is_mine[i] && is_others[i])
			*ret = &node->devices[i];
	}
	return 0;
}

/* If the drivers show no device, or have not been asked, it is unknown which devices the
 * other operations have. */
static int check_other(const struct clv_operation *op, const struct clv_operation *other,
	const struct clv_node *node, struct clv_error *err)
{
	const struct clv_node_device *common;

	if (find_common(op, other, node, &common) < 0)
		return clv_error_errno(err, ENOMEM, "cannot compare two changes");
	if (!common && (node->n_devices > 0 || only_waits(other)))
		return 0;
	return clv_error_set(err, -EBUSY,
		"another change%s%s %s: wait for its end with cleave apply --follow %s, "
		"and try again",
		common ? " of " : "", common ? common->info.name : "",
		other->state == WAITING ? "waits for what is in its way" : "is under way",
		other->id);
}

int clv_operation_check_others(const struct clv_operation *op,
	const struct clv_node *node, struct clv_error *err)
{
	const struct clv_operation *other;
	int r = 0;

	TAILQ_FOREACH(other, &op->apply->operations, entry)
	{
		if (r >= 0 && other != op && !clv_operation_has_ended(other))
			r = check_other(op, other, node, err);
	}
	return r;
}

/* If memory is lacking the answer is yes. */
static bool has_common(const struct clv_operation *op, const struct clv_operation *other,
	const struct clv_node *node)
{
	const struct clv_node_device *common;

	return find_common(op, other, node, &common) < 0 || common;
}

/* A survey may extend the plans of two operations that have begun to a common device.
 * Then the later one waits, or the earlier one if the later is carrying out steps. */
bool clv_operation_is_behind(const struct clv_operation *op, const struct clv_node *node)
{
	const struct clv_operation *other;
	bool is_earlier = true;

	TAILQ_FOREACH(other, &op->apply->operations, entry)
	{
		if (other == op)
			is_earlier = false;
		else if (!clv_operation_has_ended(other) && other->before &&
			 (is_earlier || other->has_steps || !op->before) &&
			 has_common(op, other, node))
			return true;
	}
	return false;
}

/* Whether one of the operations that count has the device. */
static bool is_device_of(const struct clv_apply *apply, const struct clv_node *node,
	const char *device, bool (*counts)(const struct clv_operation *op))
{
	_cleanup_free_ bool *is_touched = calloc(node->n_devices + 1, sizeof(bool));
	const struct clv_node_device *found = clv_node_find(node, device);
	const struct clv_operation *op;

	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (is_touched && counts(op))
			clv_operation_touch(op, node, is_touched);
	}
	return found && (!is_touched || is_touched[found - node->devices]);
}

static bool has_not_ended(const struct clv_operation *op)
{
	return !clv_operation_has_ended(op);
}

static bool is_changing(const struct clv_operation *op)
{
	return has_not_ended(op) && !only_waits(op);
}

bool clv_apply_changes(
	const struct clv_apply *apply, const struct clv_node *node, const char *device)
{
	return is_device_of(apply, node, device, is_changing);
}

bool clv_apply_would_refuse(
	const struct clv_apply *apply, const struct clv_node *node, const char *device)
{
	return is_device_of(apply, node, device, has_not_ended);
}
