/* SPDX-License-Identifier: Apache-2.0 */
/* A lease as JSON: the functions for fields of agent/record/lease-fields.c that are in no
 * record. */
#include "agent/api/show/render.h"
#include "agent/api/show/values.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/debts.h"
#include "agent/lease/kernel-quota.h"
#include "agent/lease/lease.h"
#include "agent/lease/sm.h"
#include "agent/ledger/queue.h"
#include "agent/record/agent.h"
#include "agent/record/field-json.h"
#include "agent/record/lease-fields.h"
#include "agent/watch/ungated.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/clock.h"

static json_t *show_device(const void *object)
{
	const struct clv_lease *lease = object;

	return clv_show_text(lease->device->info.name);
}

static json_t *show_state(const void *object)
{
	const struct clv_lease *lease = object;

	return json_string(lease->record.is_queued ? "queued" : "active");
}

static json_t *show_queue_position(const void *object)
{
	uint32_t position = clv_queue_position(object);

	return position ? clv_show_number(position) : json_null();
}

static json_t *show_share_range(const void *object)
{
	const struct clv_lease *lease = object;

	return clv_show_range(&lease->record.share.range);
}

static json_t *show_sm(const void *object)
{
	return clv_sm_to_json(object);
}

static json_t *show_memory_held_by(const void *object)
{
	return json_string(clv_kernel_quota_is_enforced(object) ? "kernel" : "gate");
}

static json_t *show_share_used(const void *object)
{
	return json_real(clv_lease_share_used(object));
}

static json_t *show_tenant_debt(const void *object)
{
	return clv_show_seconds(clv_debts_of_lease_ns(object));
}

static json_t *show_partition(const void *object)
{
	const struct clv_lease *lease = object;

	return clv_show_partition(lease->device);
}

static json_t *device_to_json(
	const struct clv_agent *agent, struct clv_agent_device *device)
{
	const struct clv_device *info = &device->info;
	const struct clv_device *root = &clv_devices_root(device)->info;
	bool has_number = info->visible[0] != '\0' &&
			  !clv_hardware_is_renumbering_device(agent, device);

	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:o}", "name", info->name,
		"uuid", info->uuid, "root_uuid", root->uuid, "pci_address",
		root->pci_address, "visible", has_number ? info->visible : info->uuid,
		"backend", info->backend, "vendor", clv_show_text(info->vendor),
		"numa_node", clv_show_number_or_null(device->numa_node), "partition",
		clv_show_partition(device));
}

static json_t *show_devices(const void *object)
{
	const struct clv_lease *lease = object;
	struct clv_agent_device *device;
	json_t *array = json_array();

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++)
		json_array_append_new(array, device_to_json(lease->agent, device));
	return array;
}

static json_t *process_to_json(
	const struct clv_lease *lease, const struct clv_attached *process)
{
	uint64_t memory_bytes = 0;
	char attached_at[32];

	if (lease->arbiter_lease && process->has_slot)
		memory_bytes = clv_arbiter_slot_memory(
			lease->arbiter_lease, process->record.slot);
	clv_clock_format_rfc3339(process->record.attached_real_ns, attached_at);
	return json_pack("{s:i,s:o,s:s}", "pid", (int)process->record.id.pid,
		"memory_used_bytes", clv_show_number(memory_bytes), "attached_at",
		attached_at);
}

static json_t *show_processes(const void *object)
{
	const struct clv_lease *lease = object;
	const struct clv_attached *process;
	json_t *array = json_array();

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		json_array_append_new(array, process_to_json(lease, process));
	}
	return array;
}

/* What the drivers report. */

static json_t *show_driver_memory(const void *object)
{
	const struct clv_lease_observed *observed =
		&((const struct clv_lease *)object)->observed;

	return observed->is_known ? clv_show_number(observed->memory_bytes) : json_null();
}

static json_t *show_driver_utilization(const void *object)
{
	const struct clv_lease *lease = object;
	const struct clv_lease_work *work = &lease->observed.work;

	return work->is_known ? json_real(work->utilization) : json_null();
}

static json_t *show_over_quota(const void *object)
{
	return json_boolean(((const struct clv_lease *)object)->observed.is_over);
}

static json_t *show_past_gate(const void *object)
{
	return json_boolean(
		((const struct clv_lease *)object)->observed.work.bypasses_gate);
}

static json_t *show_throttled(const void *object)
{
	return json_boolean(((const struct clv_lease *)object)->observed.is_throttled);
}

static json_t *show_uses_ungated(const void *object)
{
	return clv_ungated_to_json(((const struct clv_lease *)object)->observed.ungated);
}

static json_t *show_socket(const void *object)
{
	char path[CLV_FOLDER_MAX + 64];

	clv_lease_socket(object, path, sizeof(path));
	return clv_show_text(path);
}

static const struct clv_field_show functions[] = {
	{"device", show_device},
	{"state", show_state},
	{"queue_position", show_queue_position},
	{"share_range", show_share_range},
	{"sm", show_sm},
	{"memory_held_by", show_memory_held_by},
	{"share_used", show_share_used},
	{"tenant_debt_seconds", show_tenant_debt},
	{"partition", show_partition},
	{"devices", show_devices},
	{"processes", show_processes},
	{"driver_memory_bytes", show_driver_memory},
	{"driver_utilization", show_driver_utilization},
	{"over_quota", show_over_quota},
	{"past_gate", show_past_gate},
	{"throttled", show_throttled},
	{"uses_ungated", show_uses_ungated},
	{"socket", show_socket},
};

json_t *clv_render_lease(const struct clv_lease *lease)
{
	struct clv_arbiter_sample sample;
	struct clv_field_view view = {
		.record = &lease->record,
		.sample = &sample,
		.object = lease,
		.functions = functions,
		.n_functions = CLV_ARRAY_SIZE(functions),
	};

	clv_lease_sample(lease, &sample);
	return clv_field_to_json(&clv_lease_fields, &view);
}
