/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, standing shares and events as JSON objects. */
#include "agent/api/show/render.h"

#include "agent/api/show/values.h"
#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/debts.h"
#include "agent/lease/executor.h"
#include "agent/lease/lease.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/promises.h"
#include "agent/ledger/standing.h"
#include "agent/ledger/tenants.h"
#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"

static json_t *timestamp(uint64_t real_ns)
{
	char buffer[32];

	clv_clock_format_rfc3339(real_ns, buffer);
	return json_string(buffer);
}

json_t *clv_render_standing(
	struct clv_agent *agent, const struct clv_standing_share *standing)
{
	const struct clv_lease *lease =
		clv_ledger_standing(agent->ledger, standing->name);
	const struct clv_agent_device *device =
		clv_devices_find(agent->devices, standing->device_uuid);
	const struct clv_share *share = &standing->share;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o}", "name",
		clv_show_text(standing->name), "device",
		device ? clv_show_text(device->info.name) : json_null(), "share",
		clv_show_fraction(share->compute_ppm), "share_range",
		clv_show_range(&share->range), "cap",
		share->cap_ppm ? clv_show_fraction(share->cap_ppm) : json_null(),
		"memory_bytes", clv_show_number(share->memory_bytes), "class",
		clv_class_to_string(share->class), "lease",
		lease ? clv_show_text(lease->record.id) : json_null());
}

static uint64_t sum_memory_used(const struct clv_agent_device *device)
{
	uint64_t used_bytes = 0;

	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease *lease = device->leases[i];
		struct clv_arbiter_sample sample;

		/* Of its first device alone there is a ledger. */
		if (lease->device != device || !lease->arbiter_lease)
			continue;
		clv_lease_sample(lease, &sample);
		used_bytes += sample.memory_used_bytes;
	}
	return used_bytes;
}

/* NULL before a hand-over was measured, and where none is needed. */
static void render_turns(const struct clv_agent_device *device, json_t *object)
{
	struct clv_arbiter_turns turns = {0};

	if (device->arbiter)
		clv_arbiter_get_turns(device->arbiter, &turns);
	json_object_set_new(object, "hand_over_seconds",
		turns.is_known ? clv_show_seconds(turns.hand_over_ns) : json_null());
	json_object_set_new(object, "turn_seconds",
		turns.is_known ? clv_show_seconds(turns.turn_ns) : json_null());
}

json_t *clv_render_device(struct clv_agent *agent, const struct clv_agent_device *device)
{
	const struct clv_device *info = &device->info;
	const char *reason = clv_executor_reason(device);
	struct clv_promised promised;
	uint64_t n_leases, n_queued = 0;
	json_t *object;

	clv_promises_add_up(agent, device, NULL, "", &promised);
	for (size_t i = 0; i < device->n_leases; i++)
		n_queued += device->leases[i]->record.is_queued;
	n_leases = device->n_leases - n_queued;
	object = json_pack("{s:s,s:s,s:o,s:o,s:o,s:s,s:s,s:s,s:o}", "name", info->name,
		"uuid", info->uuid, "model", clv_show_text(info->model), "vendor",
		clv_show_text(info->vendor), "driver", clv_show_text(info->driver),
		"type", info->type, "backend", info->backend, "executor",
		clv_executor_name(device), "platform",
		clv_show_text(info->locator.platform));
	json_object_update_new(object,
		json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "compute_units",
			clv_show_number(info->compute_units), "memory_bytes",
			clv_show_number(info->memory_bytes), "max_allocation_bytes",
			clv_show_number(info->max_allocation_bytes), "share_promised",
			clv_show_fraction(promised.compute_ppm), "memory_promised_bytes",
			clv_show_number(promised.memory_bytes), "memory_used_bytes",
			clv_show_number(sum_memory_used(device)), "leases",
			clv_show_number(n_leases), "queued", clv_show_number(n_queued)));
	json_object_set_new(
		object, "debt_seconds", clv_show_seconds(clv_debts_of_past_ns(device)));
	json_object_set_new(
		object, "executor_reason", reason ? clv_show_text(reason) : json_null());
	render_turns(device, object);
	json_object_set_new(object, "parent",
		device->parent ? clv_show_text(device->parent->info.name) : json_null());
	json_object_set_new(object, "partition", clv_show_partition(info));
	json_object_set_new(object, "cordoned", json_boolean(device->is_cordoned));
	json_object_set_new(object, "cordon_reason",
		device->is_cordoned ? clv_show_text(device->cordon_reason) : json_null());
	json_object_set_new(object, "divided", json_boolean(device->is_divided));
	json_object_set_new(
		object, "numa_node", clv_show_number_or_null(device->numa_node));
	clv_condition_render(device, object);
	return object;
}

json_t *clv_render_event(const struct clv_event *event)
{
	json_t *object = json_pack("{s:o,s:o,s:s}", "id", clv_show_number(event->id),
		"time", timestamp(event->time_real_ns), "type", event->type);
	bool has_lease = event->lease[0] != '\0';

	json_object_set_new(
		object, "lease", has_lease ? clv_show_text(event->lease) : json_null());
	json_object_set_new(
		object, "name", has_lease ? clv_show_text(event->name) : json_null());
	json_object_set_new(object, "device",
		event->device[0] ? clv_show_text(event->device) : json_null());
	json_object_set_new(object, "uid", clv_tenant_uid_to_json(event->uid));
	json_object_set_new(object, "message", clv_show_text(event->message));
	return object;
}
