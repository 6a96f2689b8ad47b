/* SPDX-License-Identifier: Apache-2.0 */
/* Cordons of devices: in the state file and on the devices themselves. */
#include "agent/device/cordons.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/error.h"
#include "base/log.h"

#include <stdio.h>

static void mark(struct clv_agent_device *device, const char *reason)
{
	device->is_cordoned = reason != NULL;
	snprintf(device->cordon_reason, sizeof(device->cordon_reason), "%s",
		reason ? reason : "");
}

int clv_cordons_set(struct clv_agent *agent, struct clv_agent_device *device,
	const char *reason, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(agent, err);
	int r = store ? clv_store_put_cordon(store, device->info.uuid, reason, err)
		      : err->code;

	if (r < 0)
		return r;
	mark(device, reason);
	clv_events_emit_for_device(agent,
		reason ? CLV_EVENT_DEVICE_CORDONED : CLV_EVENT_DEVICE_UNCORDONED,
		device->info.name, "%s",
		reason ? reason : "the device takes leases again");
	if (!reason)
		clv_notify_admits(agent->notify, device);
	return 0;
}

static int restore_one(void *userdata, const char *uuid, const char *reason)
{
	const struct clv_agent *agent = userdata;
	struct clv_agent_device *device = clv_devices_find(agent->devices, uuid);

	if (device)
		mark(device, reason);
	return 0;
}

void clv_cordons_restore(struct clv_agent *agent)
{
	struct clv_store *store = clv_state_get_readable(agent, NULL);
	struct clv_error err = {0};

	if (store && clv_store_read_cordons(store, restore_one, agent, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}
