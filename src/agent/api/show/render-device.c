/* SPDX-License-Identifier: Apache-2.0 */
/* A device as JSON: the functions for fields of agent/record/device-fields.c that are in
 * no record. */
#include "agent/api/show/render.h"
#include "agent/api/show/values.h"
#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/lease/debts.h"
#include "agent/lease/executor.h"
#include "agent/lease/lease.h"
#include "agent/ledger/promises.h"
#include "agent/record/device-fields.h"
#include "agent/record/field-json.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"

static json_t *show_backend(const void *object)
{
	const struct clv_agent_device *device = object;

	return json_string(device->info.backend);
}

static json_t *show_executor(const void *object)
{
	return json_string(clv_executor_name(object));
}

static json_t *show_executor_reason(const void *object)
{
	const char *reason = clv_executor_reason(object);

	return reason ? clv_show_text(reason) : json_null();
}

static json_t *show_parent(const void *object)
{
	const struct clv_agent_device *device = object;

	return device->parent ? clv_show_text(device->parent->info.name) : json_null();
}

static json_t *show_partition(const void *object)
{
	return clv_show_partition(object);
}

static json_t *show_cordoned(const void *object)
{
	const struct clv_agent_device *device = object;

	return json_boolean(device->is_cordoned);
}

static json_t *show_cordon_reason(const void *object)
{
	const struct clv_agent_device *device = object;

	return device->is_cordoned ? clv_show_text(device->cordon_reason) : json_null();
}

static json_t *show_divided(const void *object)
{
	const struct clv_agent_device *device = object;

	return json_boolean(device->is_divided);
}

static json_t *show_numa_node(const void *object)
{
	const struct clv_agent_device *device = object;

	return clv_show_number_or_null(device->numa_node);
}

static const struct clv_field_show functions[] = {
	{"backend", show_backend},
	{"executor", show_executor},
	{"executor_reason", show_executor_reason},
	{"parent", show_parent},
	{"partition", show_partition},
	{"cordoned", show_cordoned},
	{"cordon_reason", show_cordon_reason},
	{"divided", show_divided},
	{"numa_node", show_numa_node},
};

static uint64_t sum_memory_used(const struct clv_agent_device *device)
{
	uint64_t used_bytes = 0;

	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease *lease = device->leases[i];
		struct clv_arbiter_sample sample;

		/* Memory is accounted on a lease's first device only. */
		if (lease->device != device || !lease->arbiter_lease)
			continue;
		clv_lease_sample(lease, &sample);
		used_bytes += sample.memory_used_bytes;
	}
	return used_bytes;
}

static struct clv_device_figures get_figures(
	struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct clv_device_figures figures = {
		.used_bytes = sum_memory_used(device),
		.debt_ns = clv_debts_of_past_ns(device),
	};
	struct clv_arbiter_turns turns = {0};
	struct clv_promised promised;

	clv_promises_add_up(agent, device, NULL, "", &promised);
	figures.promised_ppm = promised.compute_ppm;
	figures.promised_bytes = promised.memory_bytes;
	for (size_t i = 0; i < device->n_leases; i++)
		figures.n_queued += device->leases[i]->record.is_queued;
	figures.n_leases = device->n_leases - figures.n_queued;
	/* Unknown until a hand-over was measured, and where none is needed. */
	if (device->arbiter)
		clv_arbiter_get_turns(device->arbiter, &turns);
	if (turns.is_known) {
		figures.hand_over_ns = turns.hand_over_ns;
		figures.turn_ns = turns.turn_ns;
	}
	return figures;
}

json_t *clv_render_device(struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct clv_device_figures figures = get_figures(agent, device);
	struct clv_field_view view = {
		.record = &device->info,
		.sample = &figures,
		.object = device,
		.functions = functions,
		.n_functions = CLV_ARRAY_SIZE(functions),
	};
	json_t *object = clv_field_to_json(&clv_device_fields, &view);

	clv_condition_render(device, object);
	return object;
}
