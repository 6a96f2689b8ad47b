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
#include "agent/record/standing-fields.h"
#include "base/cleanup.h"

/* The argument of the functions for a standing share's fields. */
struct standing {
	const struct clv_agent *agent;
	const struct clv_standing_share *share;
};

static json_t *show_device(const void *object)
{
	const struct standing *standing = object;
	const struct clv_agent_device *device =
		clv_devices_find(standing->agent->devices, standing->share->device_uuid);

	return device ? clv_show_text(device->info.name) : json_null();
}

static json_t *show_share_range(const void *object)
{
	const struct standing *standing = object;

	return clv_show_range(&standing->share->share.range);
}

static json_t *show_lease(const void *object)
{
	const struct standing *standing = object;
	const struct clv_lease *lease =
		clv_ledger_standing(standing->agent->ledger, standing->share->name);

	return lease ? clv_show_text(lease->record.id) : json_null();
}

static json_t *show_in_use(const void *object)
{
	const struct standing *standing = object;

	return json_boolean(clv_ledger_standing(standing->agent->ledger,
				    standing->share->name) != NULL);
}

static const struct clv_field_show functions[] = {
	{"device", show_device},
	{"share_range", show_share_range},
	{"lease", show_lease},
	{"in_use", show_in_use},
};

json_t *clv_render_standing(
	struct clv_agent *agent, const struct clv_standing_share *share)
{
	struct standing standing = {agent, share};
	struct clv_field_view view = {
		.record = share,
		.object = &standing,
		.functions = functions,
		.n_functions = CLV_ARRAY_SIZE(functions),
	};

	return clv_field_to_json(&clv_standing_fields, &view);
}

json_t *clv_render_event(const struct clv_event *event)
{
	struct clv_field_view view = {.record = event};

	return clv_field_to_json(&clv_event_fields, &view);
}
