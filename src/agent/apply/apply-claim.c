/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of the devices that an operation changes, or whose work a reload of their
 * driver ends: no other agent may lease or divide one of them meanwhile. */
#include "agent/apply/apply-internal.h"

#include "agent/device/devices.h"
#include "agent/record/agent.h"

static bool is_changed(const struct clv_plan *plan, size_t device)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		if (plan->steps[i].device == device ||
			clv_step_affects(&plan->steps[i], device))
			return true;
	}
	return false;
}

int clv_operation_claim(struct clv_operation *op, const struct clv_plan *plan,
	const struct clv_node *node, struct clv_error *err)
{
	struct clv_devices *devices = op->apply->agent->devices;

	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_agent_device *device =
			clv_devices_find(devices, node->devices[i].info.uuid);

		int r;

		if (!device || !is_changed(plan, i))
			continue;
		r = clv_devices_claim(devices, device, err);
		if (r < 0)
			return r;
		device->operation = op;
		op->has_claimed = true;
	}
	return 0;
}

void clv_operation_unclaim(struct clv_operation *op)
{
	struct clv_devices *devices = op->apply->agent->devices;

	op->has_claimed = false;
	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *device = clv_devices_at(devices, i);

		if (device->operation != op)
			continue;
		device->operation = NULL;
		clv_devices_unclaim(devices, device);
	}
}
