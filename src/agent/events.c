/* SPDX-License-Identifier: Apache-2.0 */
/* The record of what happened.  Numbers are given at once; the rows are written in one
 * transaction at the end of the loop's turn and stay in memory while the state file
 * cannot be written.  Nothing here can make the action that it records fail. */
#include "agent/events.h"

#include "agent/agent.h"
#include "agent/counters.h"
#include "agent/devices.h"
#include "agent/http.h"
#include "agent/lease.h"
#include "agent/owner.h"
#include "agent/service.h"
#include "agent/state.h"
#include "agent/store.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const type_names[_CLV_EVENT_TYPE_MAX] = {
	[CLV_EVENT_AGENT_STARTED] = "agent_started",
	[CLV_EVENT_AGENT_STOPPING] = "agent_stopping",
	[CLV_EVENT_LEASE_QUEUED] = "lease_queued",
	[CLV_EVENT_LEASE_CREATED] = "lease_created",
	[CLV_EVENT_LEASE_RESIZED] = "lease_resized",
	[CLV_EVENT_LEASE_ENDED] = "lease_ended",
	[CLV_EVENT_PROCESS_ATTACHED] = "process_attached",
	[CLV_EVENT_PROCESS_REFUSED] = "process_refused",
	[CLV_EVENT_PROCESS_ENDED] = "process_ended",
	[CLV_EVENT_MEMORY_REFUSED] = "memory_refused",
	[CLV_EVENT_DRAIN_OVERDUE] = "drain_overdue",
	[CLV_EVENT_LEASE_ADOPTED] = "lease_adopted",
	[CLV_EVENT_PROCESS_STRAYED] = "process_strayed",
	[CLV_EVENT_APPLY_DONE] = "apply_done",
	[CLV_EVENT_APPLY_FAILED] = "apply_failed",
	[CLV_EVENT_APPLY_ROLLED_BACK] = "apply_rolled_back",
	[CLV_EVENT_APPLY_RESUMED] = "apply_resumed",
	[CLV_EVENT_LEASE_EXPIRED] = "lease_expired",
	[CLV_EVENT_DEVICE_CORDONED] = "device_cordoned",
	[CLV_EVENT_DEVICE_UNCORDONED] = "device_uncordoned",
	[CLV_EVENT_DEVICE_DEGRADED] = "device_degraded",
	[CLV_EVENT_DEVICE_LOST] = "device_lost",
	[CLV_EVENT_DEVICE_RECOVERED] = "device_recovered",
	[CLV_EVENT_DEVICE_ERROR] = "device_error",
	[CLV_EVENT_PROCESS_WITHOUT_LEASE] = "process_without_lease",
	[CLV_EVENT_LEASE_OVER_QUOTA] = "lease_over_quota",
	[CLV_EVENT_LEASE_WITHIN_QUOTA] = "lease_within_quota",
	[CLV_EVENT_LEASE_PAST_GATE] = "lease_past_gate",
	[CLV_EVENT_LEASE_WITHIN_GATE] = "lease_within_gate",
	[CLV_EVENT_DEVICE_EXECUTOR] = "device_executor",
	[CLV_EVENT_UNGATED_API] = "ungated_api",
	[CLV_EVENT_SHARE_MOVED] = "share_moved",
	[CLV_EVENT_SM_NOT_HELD] = "sm_not_held",
};

const char *clv_event_type_to_string(enum clv_event_type type)
{
	return type_names[type];
}

struct clv_events {
	struct clv_agent *agent;
	sd_event_source *flush_source;
	uint64_t last_id;
	struct clv_event *pending; /* not in the state file yet */
	size_t n_pending, room;
	bool is_failing; /* said so already */
};

static int on_flush(sd_event_source *source, void *userdata)
{
	clv_events_flush(userdata);
	return 0;
}

int clv_events_new(
	struct clv_agent *agent, struct clv_events **ret, struct clv_error *err)
{
	struct clv_events *events = calloc(1, sizeof(*events));
	int r;

	if (!events)
		return clv_error_errno(err, ENOMEM, "cannot record events");
	events->agent = agent;
	r = sd_event_add_defer(agent->event, &events->flush_source, on_flush, events);
	if (r < 0) {
		free(events);
		return clv_error_errno(err, -r, "cannot record events");
	}
	sd_event_source_set_enabled(events->flush_source, SD_EVENT_OFF);
	sd_event_source_set_priority(events->flush_source, SD_EVENT_PRIORITY_IDLE);
	if (agent->store)
		clv_store_last_event(agent->store, &events->last_id, NULL);
	*ret = events;
	return 0;
}

struct clv_events *clv_events_free(struct clv_events *events)
{
	if (!events)
		return NULL;
	clv_events_flush(events);
	sd_event_source_disable_unref(events->flush_source);
	free(events->pending);
	free(events);
	return NULL;
}

static struct clv_event *append(struct clv_events *events)
{
	if (events->n_pending == events->room) {
		size_t room = events->room ? events->room * 2 : 16;
		struct clv_event *pending;

		if (events->room >= CLV_EVENTS_KEPT) {
			events->n_pending--;
			memmove(events->pending, events->pending + 1,
				events->n_pending * sizeof(*events->pending));
			return &events->pending[events->n_pending++];
		}
		if (room > CLV_EVENTS_KEPT)
			room = CLV_EVENTS_KEPT;
		pending = realloc(events->pending, room * sizeof(*pending));
		if (!pending)
			return NULL;
		events->pending = pending;
		events->room = room;
	}
	return &events->pending[events->n_pending++];
}

/* The new event, or NULL; the caller fills in the rest and then calls publish(). */
static struct clv_event *begin(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record)
{
	struct clv_events *events = agent->events;
	struct clv_event *event = events ? append(events) : NULL;

	if (!event)
		return NULL;
	agent->counters->events[type]++;
	*event = (struct clv_event){
		.id = ++events->last_id,
		.time_real_ns = clv_clock_real_ns(),
		.uid = CLV_EVENT_NOBODY,
	};
	snprintf(event->type, sizeof(event->type), "%s", type_names[type]);
	if (record) {
		event->uid = clv_owner_of(record->tenant, record->uid);
		snprintf(event->lease, sizeof(event->lease), "%s", record->id);
		snprintf(event->name, sizeof(event->name), "%s", record->name);
	}
	return event;
}

/* The journal can be searched for these. */
static void write_log(const struct clv_event *event)
{
	const struct clv_log_field fields[] = {{"CLV_EVENT", event->type},
		{"CLV_LEASE", event->lease}, {"CLV_LEASE_NAME", event->name},
		{"CLV_DEVICE", event->device}};

	if (event->lease[0] != '\0')
		clv_log_fields(LOG_INFO, fields, CLV_ARRAY_SIZE(fields),
			"%s: lease %s (%s): %s", event->type, event->name, event->lease,
			event->message);
	else
		clv_log_fields(
			LOG_INFO, fields, 1, "%s: %s", event->type, event->message);
}

static void publish(struct clv_agent *agent, const struct clv_event *event)
{
	write_log(event);
	clv_service_changed(agent);
	sd_event_source_set_enabled(agent->events->flush_source, SD_EVENT_ONESHOT);
	if (agent->http)
		clv_http_wake(agent->http, CLV_TOPIC_EVENTS);
}

void clv_events_emit(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease *lease, const char *format, ...)
{
	struct clv_event *event = begin(agent, type, lease ? &lease->record : NULL);
	va_list args;

	if (!event)
		return;
	if (lease)
		snprintf(event->device, sizeof(event->device), "%s",
			lease->device->info.name);
	va_start(args, format);
	vsnprintf(event->message, sizeof(event->message), format, args);
	va_end(args);
	publish(agent, event);
}

void clv_events_emit_for_device(struct clv_agent *agent, enum clv_event_type type,
	const char *device, const char *format, ...)
{
	struct clv_event *event = begin(agent, type, NULL);
	va_list args;

	if (!event)
		return;
	snprintf(event->device, sizeof(event->device), "%s", device);
	va_start(args, format);
	vsnprintf(event->message, sizeof(event->message), format, args);
	va_end(args);
	publish(agent, event);
}

void clv_events_emit_for_record(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *format, ...)
{
	struct clv_event *event = begin(agent, type, record);
	va_list args;

	if (!event)
		return;
	va_start(args, format);
	vsnprintf(event->message, sizeof(event->message), format, args);
	va_end(args);
	publish(agent, event);
}

void clv_events_renumber(struct clv_events *events)
{
	uint64_t last = 0;

	if (clv_store_last_event(events->agent->store, &last, NULL) < 0 ||
		(events->n_pending > 0 && events->pending[0].id > last))
		return;
	for (size_t i = 0; i < events->n_pending; i++)
		events->pending[i].id += last;
	events->last_id += last;
}

uint64_t clv_events_last_id(const struct clv_events *events)
{
	return events->last_id;
}

void clv_events_flush(struct clv_events *events)
{
	const struct clv_event_bounds bounds = {
		CLV_EVENTS_KEPT, CLV_EVENTS_KEPT / 10, geteuid()};
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(events->agent, &err);

	if (events->n_pending == 0)
		return;
	if (!store || clv_store_add_events(store, events->pending, events->n_pending,
			      &bounds, &err) < 0) {
		events->agent->counters->state_errors++;
		if (!events->is_failing)
			clv_log_warning(0, "events stay in memory: %s", err.msg);
		events->is_failing = true;
		return;
	}
	events->is_failing = false;
	events->n_pending = 0;
}

struct counted {
	int (*callback)(void *userdata, const struct clv_event *event);
	void *userdata;
	uint64_t n;
};

static int count(void *userdata, const struct clv_event *event)
{
	struct counted *counted = userdata;

	counted->n++;
	return counted->callback(counted->userdata, event);
}

int clv_events_read(struct clv_events *events, uint64_t after, uint64_t limit, int all,
	uid_t uid, int (*callback)(void *userdata, const struct clv_event *event),
	void *userdata, struct clv_error *err)
{
	struct counted counted = {callback, userdata, 0};
	struct clv_store *store = clv_state_get(events->agent, NULL);
	int r = 0;

	if (store && after < events->last_id)
		r = clv_store_read_events(
			store, after, limit, all, uid, count, &counted, err);
	for (size_t i = 0; i < events->n_pending && r >= 0 && counted.n < limit; i++) {
		const struct clv_event *event = &events->pending[i];

		if (event->id <= after ||
			(!all && event->uid != uid && event->uid != CLV_EVENT_NOBODY))
			continue;
		r = count(&counted, event);
	}
	return r;
}
