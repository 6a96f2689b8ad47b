/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a lease: its record, its devices, and the devices after the first by
 * position. */
#include "agent/lease/lease-store.h"

#include "agent/device/devices.h"
#include "agent/driver/device-json.h"
#include "agent/lease/lease.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

static int put_device(
	struct clv_agent *agent, const struct clv_device *info, struct clv_error *err)
{
	json_t *object = clv_device_to_json(info);
	char *text = json_dumps(object, JSON_COMPACT);
	int r;

	json_decref(object);
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot store the device");
	r = clv_store_put_device(agent->state->store, info->uuid, text, err);
	free(text);
	return r;
}

static int put_others(
	struct clv_agent *agent, const struct clv_lease *lease, struct clv_error *err)
{
	const struct clv_agent_device *device;
	int r = 0;

	for (unsigned i = 1; r >= 0 && (device = clv_lease_device(lease, i)); i++) {
		r = put_device(agent, &device->info, err);
		if (r >= 0)
			r = clv_store_put_lease_device(agent->state->store,
				lease->record.id, i, device->info.uuid, err);
	}
	return r;
}

int clv_lease_store_put(struct clv_agent *agent, const struct clv_lease *lease,
	const struct clv_lease_record *record, struct clv_error *err)
{
	int r = put_device(agent, &lease->device->info, err);

	if (r >= 0)
		r = clv_store_put_lease(agent->state->store, record, err);
	return r < 0 ? r : put_others(agent, lease, err);
}
