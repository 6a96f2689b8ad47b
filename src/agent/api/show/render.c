/* SPDX-License-Identifier: Apache-2.0 */
/* Leases, devices and events as JSON objects. */
#include "agent/api/show/render.h"

#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/event/events.h"
#include "agent/lease/debts.h"
#include "agent/lease/executor.h"
#include "agent/lease/kernel-quota.h"
#include "agent/lease/lease.h"
#include "agent/lease/sm.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/promises.h"
#include "agent/ledger/queue.h"
#include "agent/ledger/standing.h"
#include "agent/ledger/tenants.h"
#include "agent/record/agent.h"
#include "agent/watch/ungated.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/units.h"

static json_t *text(const char *value)
{
	json_t *string = json_string(value);

	return string ? string : json_string("");
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *seconds(int64_t value_ns)
{
	return json_real((double)value_ns / (double)CLV_NS_PER_S);
}

static json_t *fraction(uint64_t ppm)
{
	return json_real((double)ppm / CLV_PPM);
}

static json_t *timestamp(uint64_t real_ns)
{
	char buffer[32];

	clv_clock_format_rfc3339(real_ns, buffer);
	return json_string(buffer);
}

static json_t *render_processes(const struct clv_lease *lease)
{
	const struct clv_attached *process;
	json_t *array = json_array();

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		uint64_t memory_bytes =
			lease->arbiter_lease && process->has_slot
				? clv_arbiter_slot_memory(
					  lease->arbiter_lease, process->record.slot)
				: 0;

		json_array_append_new(array,
			json_pack("{s:i,s:o,s:o}", "pid", (int)process->record.id.pid,
				"memory_used_bytes", number(memory_bytes), "attached_at",
				timestamp(process->record.attached_real_ns)));
	}
	return array;
}

static void add_account(const struct clv_lease *lease, json_t *object)
{
	struct clv_arbiter_sample sample;

	clv_lease_sample(lease, &sample);
	json_object_update_new(object,
		json_pack("{s:f,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b,s:o,s:o}",
			"share_used", clv_lease_share_used(lease), "held_seconds",
			seconds((int64_t)sample.held_ns), "busy_seconds",
			seconds((int64_t)sample.busy_ns), "throttled_seconds",
			seconds((int64_t)sample.throttled_ns), "waited_seconds",
			seconds((int64_t)sample.waited_ns), "turns", number(sample.turns),
			"revocations", number(sample.revocations), "memory_used_bytes",
			number(sample.memory_used_bytes), "spilled_bytes",
			number(sample.spilled_bytes), "memory_overhead_bytes",
			number(sample.memory_overhead_bytes), "refusals",
			number(sample.refused), "waiting", sample.waiting, "holding",
			sample.holding, "lag_seconds", seconds(sample.lag_ns), "overdue",
			number(sample.overdue)));
}

static json_t *number_or_null(int64_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

/* What holds a program to its part: the client does what it says. */
static json_t *render_partition(const struct clv_device *info)
{
	if (info->parent[0] == '\0')
		return json_null();
	return json_pack("{s:s,s:s,s:s,s:s}", "scheme", info->scheme, "profile",
		info->profile, "uuid", info->uuid, "address", info->address);
}

static json_t *render_device_of_lease(
	const struct clv_agent *agent, struct clv_agent_device *device)
{
	const struct clv_device *info = &device->info;
	const struct clv_device *root = &clv_devices_root(device)->info;
	bool has_number = info->visible[0] != '\0' &&
			  !clv_hardware_is_recounting_device(agent, device);

	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:o}", "name", info->name,
		"uuid", info->uuid, "root_uuid", root->uuid, "pci_address",
		root->pci_address, "visible", has_number ? info->visible : info->uuid,
		"backend", info->backend, "vendor", text(info->vendor), "numa_node",
		number_or_null(device->numa_node), "partition", render_partition(info));
}

static json_t *render_devices(const struct clv_lease *lease)
{
	struct clv_agent_device *device;
	json_t *array = json_array();

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++)
		json_array_append_new(
			array, render_device_of_lease(lease->agent, device));
	return array;
}

static void add_truth(const struct clv_lease *lease, json_t *object)
{
	const struct clv_lease_truth *truth = &lease->truth;

	json_object_update_new(object,
		json_pack("{s:o,s:o,s:b,s:b,s:b,s:o}", "driver_memory_bytes",
			truth->is_known ? number(truth->memory_bytes) : json_null(),
			"driver_utilization",
			truth->work.is_known ? json_real(truth->work.utilization)
					     : json_null(),
			"over_quota", truth->is_over, "past_gate",
			truth->work.is_past_gate, "throttled", truth->is_throttled,
			"uses_ungated", clv_ungated_to_json(truth->ungated)));
}

static json_t *render_range(const struct clv_share_range *range)
{
	if (range->most_ppm == 0)
		return json_null();
	return json_pack("{s:o,s:o}", "least", fraction(range->least_ppm), "most",
		fraction(range->most_ppm));
}

json_t *clv_render_lease(const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;
	uint32_t position = clv_queue_position(lease);
	char socket_path[CLV_FOLDER_MAX + 64];
	json_t *object;

	clv_lease_socket(lease, socket_path, sizeof(socket_path));
	object = json_pack("{s:s,s:s,s:o,s:o,s:s,s:s,s:o,s:o,s:o,s:s,s:b,s:o}", "id",
		record->id, "name", record->name, "tenant", text(record->tenant), "uid",
		number(record->uid), "device", lease->device->info.name, "state",
		record->is_queued ? "queued" : "active", "share",
		fraction(record->share.compute_ppm), "cap",
		record->share.cap_ppm ? fraction(record->share.cap_ppm) : json_null(),
		"memory_bytes", number(record->share.memory_bytes), "class",
		clv_class_to_string(record->share.class), "overcommit",
		record->overcommit, "queue_position",
		position ? number(position) : json_null());
	json_object_update_new(object,
		json_pack("{s:o,s:o,s:o,s:b,s:s,s:o}", "created_at",
			timestamp(record->created_real_ns), "expires_at",
			record->expires_real_ns ? timestamp(record->expires_real_ns)
						: json_null(),
			"holder_pid",
			record->holder.pid ? number((uint64_t)record->holder.pid)
					   : json_null(),
			"kept", record->is_kept, "admit",
			clv_admit_to_string(record->admit), "command",
			text(record->command)));
	json_object_set_new(object, "share_range", render_range(&record->share.range));
	json_object_set_new(object, "spill_bytes", number(record->share.spill_bytes));
	json_object_set_new(object, "sm", clv_sm_to_json(lease));
	json_object_set_new(object, "memory_held_by",
		json_string(clv_kernel_quota_holds(lease) ? "kernel" : "gate"));
	add_account(lease, object);
	json_object_set_new(object, "tenant_debt_seconds",
		seconds((int64_t)clv_debts_of_lease_ns(lease)));
	json_object_set_new(
		object, "in", record->standing[0] ? text(record->standing) : json_null());
	json_object_set_new(object, "partition", render_partition(&lease->device->info));
	json_object_set_new(object, "devices", render_devices(lease));
	json_object_set_new(object, "processes", render_processes(lease));
	add_truth(lease, object);
	json_object_set_new(object, "socket", text(socket_path));
	return object;
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
		text(standing->name), "device",
		device ? text(device->info.name) : json_null(), "share",
		fraction(share->compute_ppm), "share_range", render_range(&share->range),
		"cap", share->cap_ppm ? fraction(share->cap_ppm) : json_null(),
		"memory_bytes", number(share->memory_bytes), "class",
		clv_class_to_string(share->class), "lease",
		lease ? text(lease->record.id) : json_null());
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
		turns.is_known ? seconds((int64_t)turns.hand_over_ns) : json_null());
	json_object_set_new(object, "turn_seconds",
		turns.is_known ? seconds((int64_t)turns.turn_ns) : json_null());
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
		"uuid", info->uuid, "model", text(info->model), "vendor",
		text(info->vendor), "driver", text(info->driver), "type", info->type,
		"backend", info->backend, "executor", clv_executor_name(device),
		"platform", text(info->locator.platform));
	json_object_update_new(
		object, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "compute_units",
				number(info->compute_units), "memory_bytes",
				number(info->memory_bytes), "max_allocation_bytes",
				number(info->max_allocation_bytes), "share_promised",
				fraction(promised.compute_ppm), "memory_promised_bytes",
				number(promised.memory_bytes), "memory_used_bytes",
				number(sum_memory_used(device)), "leases",
				number(n_leases), "queued", number(n_queued)));
	json_object_set_new(
		object, "debt_seconds", seconds((int64_t)clv_debts_of_past_ns(device)));
	json_object_set_new(
		object, "executor_reason", reason ? text(reason) : json_null());
	render_turns(device, object);
	json_object_set_new(object, "parent",
		device->parent ? text(device->parent->info.name) : json_null());
	json_object_set_new(object, "partition", render_partition(info));
	json_object_set_new(object, "cordoned", json_boolean(device->is_cordoned));
	json_object_set_new(object, "cordon_reason",
		device->is_cordoned ? text(device->cordon_reason) : json_null());
	json_object_set_new(object, "divided", json_boolean(device->is_divided));
	json_object_set_new(object, "numa_node", number_or_null(device->numa_node));
	clv_condition_render(device, object);
	return object;
}

json_t *clv_render_event(const struct clv_event *event)
{
	json_t *object = json_pack("{s:o,s:o,s:s}", "id", number(event->id), "time",
		timestamp(event->time_real_ns), "type", event->type);
	bool has_lease = event->lease[0] != '\0';

	json_object_set_new(
		object, "lease", has_lease ? text(event->lease) : json_null());
	json_object_set_new(object, "name", has_lease ? text(event->name) : json_null());
	json_object_set_new(
		object, "device", event->device[0] ? text(event->device) : json_null());
	json_object_set_new(object, "uid", clv_tenant_uid_to_json(event->uid));
	json_object_set_new(object, "message", text(event->message));
	return object;
}
