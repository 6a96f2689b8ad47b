/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the layouts and plans of roll-backs and resumed operations. */
#include "agent/apply/apply-back.h"

#include "agent/apply/apply-internal.h"
#include "agent/device/devices.h"
#include "agent/http/problem.h"
#include "agent/identity/names.h"
#include "agent/lease/machine.h"
#include "agent/ledger/holders.h"
#include "agent/os/json-fields.h"
#include "agent/record/agent.h"
#include "base/array.h"
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

/* The first device of the layout that no driver shows; NULL: there is none. */
static const char *find_missing(
	const struct clv_node *node, const struct clv_layout *layout)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		const struct clv_selector *select = &layout->rules[i].select;

		for (size_t j = 0; j < select->n_names; j++) {
			if (!can_be_divided(clv_node_find(node, select->names[j])))
				return select->names[j];
		}
	}
	return NULL;
}

bool clv_back_shows_all(const struct clv_node *node, const struct clv_layout *layout)
{
	return !find_missing(node, layout);
}

struct of {
	const struct clv_operation *op;
	const struct clv_node *node;
	const bool *is_touched;
};

static bool is_of(void *userdata, const char *identity)
{
	const struct of *of = userdata;
	const struct clv_node_device *device = clv_node_find(of->node, identity);
	const struct clv_layout *former = &of->op->former;

	if (!of->op->before)
		return device && of->is_touched[device - of->node->devices];
	for (size_t i = 0; i < former->n_rules; i++) {
		if (former->rules[i].select.n_names > 0 &&
			strcmp(former->rules[i].select.names[0], identity) == 0)
			return true;
	}
	return false;
}

int clv_back_read(const struct clv_operation *op, const struct clv_node *node,
	struct clv_layout *ret, struct clv_error *err)
{
	_cleanup_free_ bool *is_touched = calloc(node->n_devices + 1, sizeof(bool));
	struct of of = {op, node, is_touched};
	int r;

	if (!is_touched)
		return clv_error_errno(err, ENOMEM, "cannot apply");
	clv_operation_touch(op, node, is_touched);
	r = clv_layout_of_node(node, ret, err);
	if (r >= 0)
		clv_layout_keep(ret, is_of, &of);
	return r;
}

static bool is_left(const struct clv_operation *op, const char *uuid)
{
	for (size_t i = 0; i < op->n_left; i++) {
		if (strcmp(op->left[i].uuid, uuid) == 0)
			return true;
	}
	return false;
}

static bool leave(struct clv_operation *op, const char *uuid, const char *why)
{
	struct left *left = is_left(op, uuid) ? NULL : CLV_APPEND(op->left, op->n_left);

	if (!left)
		return false;
	snprintf(left->uuid, sizeof(left->uuid), "%s", uuid);
	snprintf(left->why, sizeof(left->why), "%s", why);
	return true;
}

/* Devices of a hive change their memory mode together. */
static void leave_hive(struct clv_operation *op, const struct clv_node *node,
	const struct clv_node_device *device)
{
	for (size_t i = 0; i < node->n_devices && device->hive[0] != '\0'; i++) {
		const struct clv_node_device *other = &node->devices[i];

		if (strcmp(other->hive, device->hive) == 0)
			leave(op, clv_node_identity(other),
				"another device of its hive could not be put back");
	}
}

bool clv_back_leave(
	struct clv_operation *op, const char *uuid, const struct clv_error *why)
{
	const struct clv_node *node = clv_holders_node(op->apply->agent);
	const struct clv_node_device *device = clv_node_find(node, uuid);

	if (!leave(op, device ? clv_node_identity(device) : uuid, why->msg))
		return false;
	if (device)
		leave_hive(op, node, device);
	return true;
}

struct unreadable {
	struct clv_operation *op;
	const char *why;
};

static bool leave_unreadable(void *userdata, const char *uuid)
{
	const struct unreadable *unreadable = userdata;

	leave(unreadable->op, uuid, unreadable->why);
	return true;
}

void clv_back_leave_all(struct clv_operation *op, const struct clv_error *why)
{
	struct unreadable unreadable = {op, why->msg};
	struct clv_layout layout = {0};
	struct clv_error err;

	if (clv_layout_parse(op->before, strlen(op->before), "the node as it was",
		    &layout, &err) >= 0)
		clv_layout_keep(&layout, leave_unreadable, &unreadable);
	clv_layout_clear(&layout);
}

struct back {
	struct clv_operation *op;
	const struct clv_node *node;
	const char *only; /* NULL: all */
};

static bool is_to_be_put_back(void *userdata, const char *uuid)
{
	const struct back *back = userdata;

	if (back->only)
		return strcmp(back->only, uuid) == 0;
	if (!can_be_divided(clv_node_find(back->node, uuid)) &&
		leave(back->op, uuid, "it is gone or cannot be read"))
		back->op->may_pass = true;
	return !is_left(back->op, uuid);
}

static bool is_there(void *userdata, const char *uuid)
{
	return can_be_divided(clv_node_find(userdata, uuid));
}

/* A journal that an agent has written selects each device by its UUID. */
static int check_selectors(const struct clv_layout *layout, struct clv_error *err)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		if (layout->rules[i].select.n_names == 0)
			return clv_error_set(err, -EINVAL,
				"the journal has been changed: it does not say of which "
				"devices it has the former state");
	}
	return 0;
}

/* Plans the roll-back of the devices that are not excluded, or of one device. */
static int plan_once(const struct back *back, struct clv_plan *ret, struct clv_error *err)
{
	const char *before = back->op->before;
	struct clv_layout layout;
	int r = clv_layout_parse(
		before, strlen(before), "the node as it was", &layout, err);

	if (r < 0)
		return r;
	r = check_selectors(&layout, err);
	clv_layout_keep(&layout, is_to_be_put_back, (void *)(uintptr_t)back);
	if (r >= 0)
		r = clv_plan_make(back->node, &layout, ret, err);
	clv_layout_clear(&layout);
	return r;
}

/* Excludes the devices on which the plan is blocked.  Returns whether there were any. */
static bool leave_blocked(const struct back *back, const struct clv_plan *plan)
{
	bool is_any = false;

	for (size_t i = 0; i < plan->n_obstacles; i++) {
		const struct clv_obstacle *obstacle = &plan->obstacles[i];
		const struct clv_node_device *device =
			&back->node->devices[obstacle->device];
		struct clv_error why;

		clv_error_set(&why, -CLV_E_IN_USE, "%s is in use by %s: %s",
			obstacle->partition[0] ? obstacle->partition : device->info.name,
			obstacle->holders.n ? obstacle->holders.items[0].text
					    : "a pending change",
			obstacle->why);
		is_any = clv_back_leave(back->op, clv_node_identity(device), &why) ||
			 is_any;
	}
	back->op->may_pass |= is_any;
	return is_any;
}

/* Excludes the devices for which there is no plan at all. */
static bool leave_impossible(const struct back *back)
{
	bool is_any = false;

	for (size_t i = 0; i < back->node->n_devices; i++) {
		const char *uuid = clv_node_identity(&back->node->devices[i]);
		struct back one = {back->op, back->node, uuid};
		struct clv_plan plan = {0};
		struct clv_error err = {0};

		if (!is_left(back->op, uuid) && plan_once(&one, &plan, &err) < 0)
			is_any = clv_back_leave(back->op, uuid, &err) || is_any;
		clv_plan_clear(&plan);
	}
	return is_any;
}

int clv_back_plan(struct clv_operation *op, const struct clv_node *node,
	struct clv_plan *ret, struct clv_error *err)
{
	struct back back = {op, node, NULL};
	struct clv_plan plan = {0};
	bool is_again = true;
	int r = 0;

	op->may_pass = false;
	/* Each iteration excludes a device or is the last. */
	while (is_again) {
		clv_plan_clear(&plan);
		r = plan_once(&back, &plan, err);
		is_again = r < 0 ? leave_impossible(&back)
				 : plan.n_obstacles > 0 && leave_blocked(&back, &plan);
	}
	if (r >= 0)
		*ret = plan;
	return r;
}

static const char *name_of(const struct clv_operation *op, const char *uuid)
{
	const char *name = clv_names_find(op->apply->agent->names, uuid);

	return name ? name : uuid;
}

bool clv_back_explain_missing(const struct clv_operation *op, const struct clv_node *node,
	struct clv_error *err)
{
	const char *uuid = find_missing(node, &op->layout);
	const struct clv_agent_device *device =
		uuid ? clv_devices_find(op->apply->agent->devices, uuid) : NULL;

	if (uuid && (!device || clv_machine_check(device, err) >= 0))
		clv_error_set(err, -ENODEV,
			"%s (%s) is gone, or its driver does not show it: see the "
			"kernel's log",
			name_of(op, uuid), uuid);
	return uuid != NULL;
}

/* The steps that would restore the device, after all other steps are done. */
static json_t *steps_left(struct clv_operation *op, const char *uuid)
{
	const struct clv_node *node = clv_holders_node(op->apply->agent);
	struct back one = {op, node, uuid};
	json_t *steps = json_array();
	struct clv_plan plan = {0};
	char text[256];

	if (can_be_divided(clv_node_find(node, uuid)))
		plan_once(&one, &plan, NULL);
	for (size_t i = 0; i < plan.n_steps; i++) {
		clv_step_describe(&plan.steps[i], node, text, sizeof(text));
		json_array_append_new(steps, json_string(text));
	}
	clv_plan_clear(&plan);
	return steps;
}

json_t *clv_back_left_to_json(struct clv_operation *op)
{
	json_t *array = json_array();

	for (size_t i = 0; i < op->n_left; i++) {
		const struct left *left = &op->left[i];
		json_t *item =
			json_pack("{s:s,s:s,s:o}", "device", name_of(op, left->uuid),
				"uuid", left->uuid, "steps", steps_left(op, left->uuid));

		clv_json_set_text(item, "why", left->why);
		json_array_append_new(array, item);
	}
	return array;
}

static const char *text(const json_t *item, const char *key)
{
	return json_string_value(json_object_get(item, key));
}

void clv_back_describe(const struct clv_operation *op, char *ret, size_t ret_bytes)
{
	size_t used = (size_t)snprintf(ret, ret_bytes, "the rest is as it was");
	json_t *left, *step;
	size_t i, j;

	json_array_foreach (op->left_json, i, left) {
		if (used < ret_bytes)
			used += (size_t)snprintf(ret + used, ret_bytes - used,
				"; %s could not be put back: %s", text(left, "device"),
				text(left, "why"));
		json_array_foreach (json_object_get(left, "steps"), j, step) {
			if (used < ret_bytes)
				used += (size_t)snprintf(ret + used, ret_bytes - used,
					"%s%s", j ? ", " : "; left to do: ",
					json_string_value(step));
		}
	}
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
			r = clv_operation_move_rule(to, rule);
	}
	return r;
}

static int add_modes(struct clv_layout *layout, const char *before,
	const struct clv_node *node, struct clv_error *err)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	struct clv_layout former = {0};
	int r;

	if (!rule_of)
		return clv_error_errno(err, ENOMEM, "cannot plan");
	r = clv_layout_match(layout, node, rule_of, err);
	if (r >= 0)
		r = clv_layout_parse(
			before, strlen(before), "the node as it was", &former, err);
	if (r < 0)
		return r;
	clv_layout_keep(&former, is_there, (void *)(uintptr_t)node);
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
