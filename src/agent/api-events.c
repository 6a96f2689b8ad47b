/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/events, with the long poll for the first one. */
#include "agent/agent.h"
#include "agent/api.h"
#include "agent/events.h"
#include "agent/render.h"
#include "agent/request.h"

#define LIMIT_MAX CLV_EVENTS_KEPT
#define LIMIT_DEFAULT 1000u

static int append(void *userdata, const struct clv_event *event)
{
	return json_array_append_new(userdata, clv_render_event(event));
}

static int get_number(struct clv_request *request, const char *name, uint64_t most,
	uint64_t *value, struct clv_error *err)
{
	const char *text = clv_request_argument(request, name);

	return text ? clv_request_parse_number(name, text, most, value, err) : 0;
}

int clv_api_get_events(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	uint64_t after = 0, limit = LIMIT_DEFAULT, wait_ms = 0;
	json_t *items;
	int r;

	r = get_number(request, "after", INT64_MAX, &after, err);
	if (r >= 0)
		r = get_number(request, "limit", LIMIT_MAX, &limit, err);
	if (r >= 0)
		r = clv_api_get_wait(request, &wait_ms, err);
	if (r < 0)
		return r;

	items = json_array();
	r = clv_events_read(request->agent->events, after, limit, request->peer.uid == 0,
		request->peer.uid, append, items, err);
	if (r < 0 || (json_array_size(items) == 0 && limit > 0 && wait_ms > 0 &&
			     !request->is_late)) {
		json_decref(items);
		return r < 0 ? r : clv_request_wait(request, CLV_TOPIC_EVENTS, wait_ms);
	}
	request->status = 200;
	request->answer = json_pack("{s:o}", "items", items);
	return 0;
}
