/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/apply/apply-marks.h"

#include "agent/apply/apply-internal.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct clv_marks *marks, const char *uuid, const char *partition)
{
	struct clv_mark *mark = CLV_APPEND(marks->items, marks->n);

	if (!mark)
		return;
	snprintf(mark->uuid, sizeof(mark->uuid), "%s", uuid);
	snprintf(mark->partition, sizeof(mark->partition), "%s", partition);
}

/* Virtual functions are created and removed all at once, and a reload or reset affects
 * the whole device. */
static bool is_for_whole(const struct clv_step *step)
{
	return step->partition[0] == '\0' || step->needs != 0 ||
	       step->kind == CLV_STEP_VF_COUNT || step->kind == CLV_STEP_VF_QUOTA;
}

static void add_step(
	struct clv_marks *marks, const struct clv_step *step, const struct clv_node *node)
{
	const char *uuid = node->devices[step->device].info.uuid;

	add(marks, uuid, is_for_whole(step) ? "" : step->partition);
	if (step->inside[0] != '\0')
		add(marks, uuid, step->inside);
	for (size_t i = 0; i < node->n_devices; i++) {
		if (clv_step_affects(step, i))
			add(marks, node->devices[i].info.uuid, "");
	}
}

void clv_marks_take(
	struct clv_marks *marks, const struct clv_plan *plan, const struct clv_node *node)
{
	clv_marks_clear(marks);
	for (size_t i = 0; i < plan->n_steps; i++)
		add_step(marks, &plan->steps[i], node);
}

void clv_marks_clear(struct clv_marks *marks)
{
	free(marks->items);
	*marks = (struct clv_marks){0};
}

static void close_device(struct clv_agent *agent, const char *name)
{
	struct clv_agent_device *device = clv_devices_find(agent->devices, name);

	if (device)
		device->is_changing = true;
}

static void close_marked(struct clv_agent *agent, const struct clv_marks *marks)
{
	for (size_t i = 0; i < marks->n; i++) {
		const struct clv_mark *mark = &marks->items[i];

		close_device(agent, mark->partition[0] ? mark->partition : mark->uuid);
	}
}

static bool has_start(const struct clv_layout_partition *wanted, uint32_t start)
{
	for (size_t i = 0; i < wanted->n_starts; i++) {
		if (wanted->starts[i] == start)
			return true;
	}
	return false;
}

static bool has_part(
	const struct clv_layout_partition *wanted, const struct clv_partition *part)
{
	for (size_t i = 0; i < wanted->n_parts; i++) {
		if (wanted->parts[i] == CLV_LAYOUT_PART(part->size, (int32_t)part->start))
			return true;
	}
	return false;
}

/* Whether the partition, or one part of it, existed before the operation. */
static bool was_there(const struct clv_layout_rule *rule,
	const struct clv_partition *partition, const struct clv_partition *part)
{
	for (size_t i = 0; i < rule->n_partitions; i++) {
		const struct clv_layout_partition *wanted = &rule->partitions[i];

		if (strcmp(wanted->profile, partition->profile) == 0 &&
			has_start(wanted, partition->start))
			return !part || has_part(wanted, part);
	}
	return false;
}

static void close_new_on(struct clv_agent *agent, const struct clv_layout_rule *rule,
	const struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (!was_there(rule, partition, NULL))
			close_device(agent, partition->name);
		for (size_t j = 0; j < partition->n_parts; j++) {
			if (!was_there(rule, partition, &partition->parts[j]))
				close_device(agent, partition->parts[j].name);
		}
	}
}

/* Closes partitions that the operation has created, under this or an earlier agent, also
 * those that a driver has placed elsewhere than requested. */
static void close_new(struct clv_agent *agent, const struct clv_operation *op)
{
	const struct clv_node *node = clv_hardware_node(agent->hardware);

	for (size_t i = 0; i < op->former.n_rules; i++) {
		const struct clv_layout_rule *rule = &op->former.rules[i];
		const struct clv_node_device *device =
			rule->has_partitions && rule->select.n_names > 0
				? clv_node_find(node, rule->select.names[0])
				: NULL;

		if (device)
			close_new_on(agent, rule, device);
	}
}

/* Before it has a plan, a resumed operation may change whatever its layout selects. */
static void close_selected(struct clv_agent *agent, const struct clv_layout *layout)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		for (size_t j = 0; j < layout->rules[i].select.n_names; j++)
			close_device(agent, layout->rules[i].select.names[j]);
	}
}

static void close_for(struct clv_agent *agent, const struct clv_operation *op)
{
	close_marked(agent, &op->marks);
	if (op->before)
		close_new(agent, op);
	if (op->is_resumed && op->marks.n == 0)
		close_selected(agent, &op->layout);
}

void clv_marks_update(struct clv_apply *apply)
{
	struct clv_agent *agent = apply->agent;
	const struct clv_operation *op;
	const struct clv_marks *marks;

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		device->was_changing = device->is_changing;
		device->is_changing = false;
	}
	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (!clv_operation_has_ended(op))
			close_for(agent, op);
	}
	for (size_t i = 0; apply->marks && (marks = apply->marks(apply->userdata, i));
		i++)
		close_marked(agent, marks);
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->was_changing && !device->is_changing && agent->n_queued > 0)
			clv_notify_publish(agent->notify,
				&(struct clv_notice){
					.type = CLV_NOTICE_ROOM, .device = device});
	}
}
