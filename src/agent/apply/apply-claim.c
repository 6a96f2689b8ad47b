/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of the devices that an operation changes: no other agent may lease or divide
 * one of them meanwhile. */
#include "agent/apply/apply-internal.h"

#include "agent/device/devices.h"
#include "agent/record/agent.h"

int clv_operation_claim(struct clv_operation *op, struct clv_error *err)
{
	struct clv_devices *devices = op->apply->agent->devices;

	for (size_t i = 0; i < op->n_stages; i++) {
		struct clv_agent_device *device =
			clv_devices_find(devices, op->stages[i].uuid);
		int r = device ? clv_devices_claim(devices, device, err) : 0;

		if (r < 0)
			return r;
		if (device)
			device->has_operation = true;
	}
	return 0;
}

void clv_operation_unclaim(struct clv_operation *op)
{
	struct clv_devices *devices = op->apply->agent->devices;

	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *device = clv_devices_at(devices, i);

		if (!device->has_operation)
			continue;
		device->has_operation = false;
		clv_devices_unclaim(devices, device);
	}
}
