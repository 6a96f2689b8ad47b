/* SPDX-License-Identifier: Apache-2.0 */
/* Standing shares and events as JSON objects. */
#include "agent/api/show/render.h"

#include "agent/api/show/values.h"
#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/lease.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/ledger/tenants.h"
#include "agent/record/agent.h"
#include "agent/record/event-fields.h"
#include "agent/record/field-json.h"

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

json_t *clv_render_event(const struct clv_event *event)
{
	struct clv_field_view view = {.record = event};

	return clv_field_to_json(&clv_event_fields, &view);
}
