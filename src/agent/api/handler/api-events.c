/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of events: a list with a long poll for the first one, and a stream. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request.h"
#include "agent/api/show/render.h"
#include "agent/event/events.h"
#include "agent/record/agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 1000u
#define STREAM_AT_ONCE 16u
#define STREAM_PING_MS 15000u

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

static uint64_t last_id(const json_t *items)
{
	const json_t *last = json_array_get(items, json_array_size(items) - 1);

	return (uint64_t)json_integer_value(json_object_get(last, "id"));
}

int clv_api_get_events(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	uint64_t wait_ms = 0;
	struct clv_page page;
	json_t *items;
	int r = clv_api_get_page(request, PAGE, &page, err);

	if (r >= 0)
		r = clv_api_get_wait(request, &wait_ms, err);
	if (r < 0)
		return r;
	/* The earlier runs of this request have read up to there. */
	if (!request->is_first_run && request->number > page.after)
		page.after = request->number;

	items = json_array();
	r = clv_events_read(request->agent->events, page.after, page.limit,
		request->caller.scope != CLV_SCOPE_TENANT, request->caller.uid, append,
		items, err);
	if (r < 0 || (json_array_size(items) == 0 && wait_ms > 0 && !request->is_late)) {
		json_decref(items);
		request->number = clv_events_last_id(request->agent->events);
		return r < 0 ? r : clv_request_wait(request, CLV_TOPIC_EVENTS, wait_ms);
	}
	request->status = 200;
	request->answer = clv_api_list(
		items, json_array_size(items) == page.limit ? last_id(items) : 0);
	return 0;
}

/* The stream.  Each block has whole events; an event that does not fit into the rest of
 * the buffer is left for the next block. */
struct block {
	char *room;
	size_t n_room, used;
	uint64_t last_id;
	bool is_full;
};

static int write_event(void *userdata, const struct clv_event *event)
{
	struct block *block = userdata;
	json_t *json = clv_render_event(event);
	char *text = json_dumps(json, JSON_COMPACT);
	int n = 0;

	json_decref(json);
	if (text && !block->is_full)
		n = snprintf(block->room + block->used, block->n_room - block->used,
			"id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", event->id,
			event->type, text);
	free(text);
	if (block->is_full || n <= 0 || block->used + (size_t)n >= block->n_room) {
		block->is_full = true;
		return 0;
	}
	block->used += (size_t)n;
	block->last_id = event->id;
	return 0;
}

static size_t stream(struct clv_request *request, char *room, size_t n_room_bytes)
{
	static const char ping[] = ": nothing new\n\n";
	struct block block = {
		.room = room, .n_room = n_room_bytes, .last_id = request->number};
	int r;

	r = clv_events_read(request->agent->events, request->number, STREAM_AT_ONCE,
		request->caller.scope != CLV_SCOPE_TENANT, request->caller.uid,
		write_event, &block, NULL);
	/* Skip events that the caller may not see, so that they are not read again. */
	if (r >= 0 && block.used == 0 && !block.is_full)
		block.last_id = clv_events_last_id(request->agent->events);
	if (block.last_id > request->number)
		request->number = block.last_id;
	if (block.used == 0 && request->is_late) {
		memcpy(room, ping, sizeof(ping) - 1);
		return sizeof(ping) - 1;
	}
	if (block.used == 0)
		clv_request_wait(request, CLV_TOPIC_EVENTS, STREAM_PING_MS);
	return block.used;
}

int clv_api_stream_events(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const char *last = clv_request_header(request, "Last-Event-ID");
	int r = 0;

	request->number = clv_events_last_id(request->agent->events);
	if (last)
		r = clv_request_parse_number(
			"Last-Event-ID", last, INT64_MAX, &request->number, err);
	else
		r = get_number(request, "after", INT64_MAX, &request->number, err);
	if (r < 0)
		return r;
	request->stream = stream;
	request->content_type = "text/event-stream";
	request->status = 200;
	return 0;
}
