/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/devices. */
#include "agent/agent.h"
#include "agent/api.h"
#include "agent/devices.h"
#include "agent/render.h"

/* A little more than the drivers' own time-out. */
#define DEVICES_WAIT_MS 15000u

int clv_api_get_devices(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent *agent = request->agent;
	json_t *items;

	if (request->is_first_run)
		clv_devices_refresh(agent->devices);
	if (clv_devices_is_pending(agent->devices) && !request->is_late)
		return clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);

	items = json_array();
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		const struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->is_present)
			json_array_append_new(items, clv_render_device(agent, device));
	}
	request->status = 200;
	request->answer = json_pack("{s:o,s:o}", "items", items, "problems",
		json_deep_copy(clv_devices_problems(agent->devices)));
	return 0;
}
