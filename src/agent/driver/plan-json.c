/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/driver/plan-json.h"

#include "agent/driver/node-json.h"
#include "base/cleanup.h"
#include "base/units.h"

static const struct {
	enum clv_step_need need;
	const char *name;
} needs[] = {
	{CLV_NEEDS_IDLE, "idle"},
	{CLV_NEEDS_RESET, "reset"},
	{CLV_NEEDS_RELOAD, "reload"},
};

static json_t *needs_to_json(uint32_t bits)
{
	json_t *array = json_array();

	for (size_t i = 0; i < CLV_ARRAY_SIZE(needs); i++) {
		if (bits & needs[i].need)
			json_array_append_new(array, json_string(needs[i].name));
	}
	return array;
}

static json_t *affects_to_json(const struct clv_step *step, const struct clv_node *node)
{
	json_t *array = json_array();

	for (size_t i = 0; i < node->n_devices; i++) {
		if (clv_step_affects(step, i))
			json_array_append_new(
				array, json_string(node->devices[i].info.name));
	}
	return array;
}

static json_t *step_to_json(
	const struct clv_step *step, size_t number, const struct clv_node *node)
{
	char text[256];

	clv_step_describe(step, node, text, sizeof(text));
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:o,s:o,s:s}", "number",
		(json_int_t)number, "kind", clv_step_kind_to_string(step->kind), "text",
		text, "device", node->devices[step->device].info.name, "partition",
		step->partition, "needs", needs_to_json(step->needs), "affects",
		affects_to_json(step, node), "why", step->why);
}

static json_t *texts_to_json(const char *texts, size_t n, size_t stride)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_string(texts + i * stride));
	return array;
}

json_t *clv_plan_obstacles_to_json(
	const struct clv_plan *plan, const struct clv_node *node)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_obstacles; i++) {
		const struct clv_obstacle *obstacle = &plan->obstacles[i];

		json_array_append_new(array,
			json_pack("{s:s,s:s,s:s,s:o}", "device",
				node->devices[obstacle->device].info.name, "partition",
				obstacle->partition, "why", obstacle->why, "holders",
				clv_holders_to_json(&obstacle->holders)));
	}
	return array;
}

static json_t *shares_to_json(const struct clv_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_shares; i++) {
		const struct clv_plan_share *share = &plan->shares[i];

		json_array_append_new(array,
			json_pack("{s:s,s:s,s:f,s:I,s:s}", "name", share->name, "where",
				share->where, "share",
				(double)share->request.compute_ppm / CLV_PPM,
				"memory_bytes", (json_int_t)share->request.memory_bytes,
				"class", clv_class_to_string(share->request.class)));
	}
	return array;
}

/* The hardware that the selectors mean. */
static json_t *devices_to_json(const struct clv_plan *plan, const struct clv_node *node)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_devices; i++) {
		const struct clv_plan_device *selected = &plan->devices[i];
		const struct clv_node_device *device = &node->devices[selected->device];

		json_array_append_new(array,
			json_pack("{s:s,s:s,s:s,s:s,s:I}", "name", device->info.name,
				"uuid", device->info.uuid, "pci_address",
				device->pci_address, "model", device->info.model, "line",
				(json_int_t)selected->line));
	}
	return array;
}

json_t *clv_plan_to_json(const struct clv_plan *plan, const struct clv_node *node)
{
	json_t *steps = json_array();

	for (size_t i = 0; i < plan->n_steps; i++)
		json_array_append_new(steps, step_to_json(&plan->steps[i], i + 1, node));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "devices",
		devices_to_json(plan, node), "steps", steps, "kept",
		texts_to_json(
			(const char *)plan->kept, plan->n_kept, sizeof(*plan->kept)),
		"obstacles", clv_plan_obstacles_to_json(plan, node), "warnings",
		texts_to_json((const char *)plan->warnings, plan->n_warnings,
			sizeof(*plan->warnings)),
		"shares", shares_to_json(plan));
}
