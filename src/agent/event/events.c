/* SPDX-License-Identifier: Apache-2.0 */
/* Events get their id at once.  Their rows are written in one transaction at the end of
 * the loop's iteration, and stay in memory while the state file cannot be written.  A
 * failure here never makes the recorded action fail. */
#include "agent/event/events.h"

#include "agent/event/counters.h"
#include "agent/record/agent.h"
#include "agent/record/lease-record.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/bucket.h"
#include "agent/user/owner.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clv_events {
	struct clv_agent *agent;
	sd_event_source *flush_source;
	uint64_t last_id;
	struct clv_event *pending; /* not in the state file yet */
	size_t n_pending, room;
	bool is_failing;           /* this was logged already */
	struct clv_buckets *lines; /* of the log, about tenants' leases */
};

/* A tenant can make many events, and each is a line of the log. */
static const struct clv_bucket_rule lines_of_each = {500, CLV_NS_PER_S / 5};
static const struct clv_bucket_rule lines_of_all = {2000, CLV_NS_PER_S / 20};

static int on_flush(sd_event_source *source, void *userdata)
{
	clv_events_flush(userdata);
	return 0;
}

int clv_events_new(
	struct clv_agent *agent, struct clv_events **ret, struct clv_error *err)
{
	struct clv_events *events = calloc(1, sizeof(*events));
	struct clv_store *store;
	int r;

	if (!events)
		return clv_error_errno(err, ENOMEM, "cannot record events");
	events->agent = agent;
	events->lines = clv_buckets_new(&lines_of_each, &lines_of_all);
	r = events->lines ? sd_event_add_defer(
				    agent->event, &events->flush_source, on_flush, events)
			  : -ENOMEM;
	if (r < 0) {
		clv_buckets_free(events->lines);
		free(events);
		return clv_error_errno(err, -r, "cannot record events");
	}
	sd_event_source_set_enabled(events->flush_source, SD_EVENT_OFF);
	sd_event_source_set_priority(events->flush_source, SD_EVENT_PRIORITY_IDLE);
	store = clv_state_get_readable(agent, NULL);
	if (store)
		clv_store_last_event(store, &events->last_id, NULL);
	*ret = events;
	return 0;
}

struct clv_events *clv_events_free(struct clv_events *events)
{
	if (!events)
		return NULL;
	clv_events_flush(events);
	sd_event_source_disable_unref(events->flush_source);
	clv_buckets_free(events->lines);
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

/* Appends an event; NULL: no memory.  The caller fills in the rest and calls publish().
 */
static struct clv_event *begin(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record)
{
	struct clv_events *events = agent->events;
	struct clv_event *event;

	assert(type < _CLV_EVENT_TYPE_MAX);
	event = events ? append(events) : NULL;

	if (!event)
		return NULL;
	agent->counters->events[type]++;
	*event = (struct clv_event){
		.id = ++events->last_id,
		.time_real_ns = clv_clock_real_ns(),
		.uid = CLV_EVENT_NO_OWNER,
	};
	snprintf(event->type, sizeof(event->type), "%s", clv_event_type_to_string(type));
	if (record) {
		event->uid = clv_owner_of(record->tenant, record->uid);
		snprintf(event->lease, sizeof(event->lease), "%s", record->id);
		snprintf(event->name, sizeof(event->name), "%s", record->name);
	}
	return event;
}

/* The fields by which the journal can be searched. */
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

/* Whether the log gets a line about it; it has the number of lines that are missing. */
static bool may_log(const struct clv_events *events, const struct clv_event *event)
{
	uint64_t n_missing = 0;

	if (event->uid == CLV_EVENT_NO_OWNER || event->uid == 0 ||
		event->uid == geteuid())
		return true;
	if (!clv_buckets_take(events->lines, clv_owner_account(NULL, event->uid),
		    clv_clock_ns(), &n_missing))
		return false;
	if (n_missing > 0)
		clv_log_info("%" PRIu64
			     " events of user %u are in the list of events only",
			n_missing, event->uid);
	return true;
}

static void publish(struct clv_agent *agent, const struct clv_event *event)
{
	if (may_log(agent->events, event))
		write_log(event);
	clv_notify(agent->notify, CLV_NOTICE_STATUS);
	sd_event_source_set_enabled(agent->events->flush_source, SD_EVENT_ONESHOT);
	clv_notify_changed(agent->notify, CLV_TOPIC_EVENTS);
}

static void __attribute__((format(printf, 4, 0))) finish(struct clv_agent *agent,
	struct clv_event *event, const char *device, const char *format, va_list args)
{
	if (device)
		snprintf(event->device, sizeof(event->device), "%s", device);
	vsnprintf(event->message, sizeof(event->message), format, args);
	publish(agent, event);
}

void clv_events_emit_args(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *device, const char *format,
	va_list args)
{
	struct clv_event *event = begin(agent, type, record);

	if (event)
		finish(agent, event, device, format, args);
}

void clv_events_emit_for_owner(struct clv_agent *agent, enum clv_event_type type,
	uid_t owner, const char *device, const char *format, ...)
{
	struct clv_event *event = begin(agent, type, NULL);
	va_list args;

	if (!event)
		return;
	event->uid = owner;
	va_start(args, format);
	finish(agent, event, device, format, args);
	va_end(args);
}

void clv_events_emit(
	struct clv_agent *agent, enum clv_event_type type, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_events_emit_args(agent, type, NULL, NULL, format, args);
	va_end(args);
}

void clv_events_emit_for_device(struct clv_agent *agent, enum clv_event_type type,
	const char *device, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_events_emit_args(agent, type, NULL, device, format, args);
	va_end(args);
}

void clv_events_emit_for_record(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_events_emit_args(agent, type, record, NULL, format, args);
	va_end(args);
}

void clv_events_renumber(struct clv_events *events)
{
	uint64_t last = 0;

	if (clv_store_last_event(events->agent->state->store, &last, NULL) < 0 ||
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
		events->agent->state->n_errors++;
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
	struct clv_store *store;
	int r = 0;

	/* If this agent is killed, no other event may get the number of one that was
	 * read. */
	if (!events->is_failing)
		clv_events_flush(events);
	store = clv_state_get_readable(events->agent, NULL);
	if (store && after < events->last_id)
		r = clv_store_read_events(
			store, after, limit, all, uid, count, &counted, err);
	for (size_t i = 0; i < events->n_pending && r >= 0 && counted.n < limit; i++) {
		const struct clv_event *event = &events->pending[i];

		if (event->id <= after ||
			(!all && event->uid != uid && event->uid != CLV_EVENT_NO_OWNER))
			continue;
		r = count(&counted, event);
	}
	return r;
}
