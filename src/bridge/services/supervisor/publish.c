/* SPDX-License-Identifier: Apache-2.0 */
/* What others may see of the project, published at the agent.  Services run without it:
 * an agent that is away, or slow, is tried again later, and takes little of the loop's
 * time. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

#include <cleave.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX_BYTES 61440u /* the agent takes 64 KiB */
#define DECISIONS_MAX 50u
#define EVERY_US (CLV_NS_PER_S / CLV_NS_PER_US)
/* The same again, for an agent that was started since. */
#define AGAIN_NS (5 * CLV_NS_PER_S)
/* After a failure it waits this many times as long as the try took. */
#define FAILURE_PARTS 20u

struct clv_publisher {
	const struct clv_supervisor *of;
	sd_event_source *timer;
	char socket[CLV_PATH_MAX];
	struct clv_client *client;
	char *text;       /* as it was published last */
	uint64_t next_ns; /* not before */
	bool has_refusal; /* it is reported once */
	uint64_t published_ns;
};

/* --- The report --- */

static json_t *pick(const json_t *from, const char *const *keys)
{
	json_t *made = json_object();

	for (; *keys; keys++)
		json_object_set(made, *keys, json_object_get(from, *keys));
	return made;
}

static size_t bytes_of(const json_t *value)
{
	return json_dumpb(value, NULL, 0, JSON_COMPACT) + 1;
}

/* Appends a copy if there is room for it. */
static bool append(json_t *list, json_t *item, size_t *room)
{
	size_t n = bytes_of(item);

	if (n > *room) {
		json_decref(item);
		return false;
	}
	*room -= n;
	json_array_append_new(list, item);
	return true;
}

static void add_services(json_t *list, const json_t *services, size_t *room)
{
	static const char *const keys[] = {"name", "state", "wanted", "ready",
		"min_replicas", "max_replicas", "ports", "use", "in_flight", "requests",
		"sleeps", "why", "failure", NULL};
	json_t *service;
	size_t i;

	json_array_foreach (services, i, service) {
		json_t *made = pick(service, keys);

		json_object_set_new(made, "all_replicas",
			json_integer((json_int_t)json_array_size(
				json_object_get(service, "replicas"))));
		json_object_set_new(made, "replicas", json_array());
		if (!append(list, made, room))
			return;
	}
}

/* The first replica of each service, then the second of each, while there is room. */
static void add_replicas(const json_t *list, const json_t *services, size_t *room)
{
	static const char *const keys[] = {
		"name", "state", "lease", "in_flight", "why", NULL};
	bool has_more = true;

	for (size_t at = 0; has_more; at++) {
		json_t *service;
		size_t i;

		has_more = false;
		json_array_foreach (list, i, service) {
			const json_t *replica = json_array_get(
				json_object_get(json_array_get(services, i), "replicas"),
				at);

			if (replica && append(json_object_get(service, "replicas"),
					       pick(replica, keys), room))
				has_more = true;
		}
	}
}

/* The newest, in the order of time. */
static void add_decisions(json_t *list, const json_t *events, size_t *room)
{
	size_t n = json_array_size(events);

	for (size_t i = n; i > 0 && n - i < DECISIONS_MAX; i--) {
		json_t *event = json_array_get(events, i - 1);
		size_t n_bytes = bytes_of(event);

		if (n_bytes > *room)
			return;
		*room -= n_bytes;
		json_array_insert(list, 0, event);
	}
}

static json_t *make_report(const struct clv_supervisor *supervisor)
{
	json_t *status = clv_supervisor_show(supervisor);
	json_t *events = clv_supervisor_events(supervisor, 0);
	const json_t *services = json_object_get(status, "services");
	json_t *made = json_pack("{s:[], s:[]}", "services", "decisions");
	json_t *list = json_object_get(made, "services");
	size_t room = BODY_MAX_BYTES;

	add_services(list, services, &room);
	add_decisions(json_object_get(made, "decisions"), events, &room);
	add_replicas(list, services, &room);
	json_decref(status);
	json_decref(events);
	return made;
}

/* --- The agent --- */

static int connect_agent(struct clv_publisher *publisher, struct clv_client_error *err)
{
	const struct clv_client_options options = {
		.socket_path = publisher->socket[0] ? publisher->socket : NULL};

	return publisher->client ? 0 : clv_client_new(&options, &publisher->client, err);
}

static void publish(struct clv_publisher *publisher, const json_t *report)
{
	const char *project = publisher->of->project.name;
	struct clv_client_error err = {0};
	uint64_t began_ns = clv_clock_ns(), took_ns;
	int r = connect_agent(publisher, &err);

	if (r >= 0)
		r = clv_client_project_publish(publisher->client, project, report, &err);
	if (r >= 0)
		return;
	/* An agent of an earlier version does not know projects. */
	if (err.status == 0 || err.status == 404 || publisher->has_refusal)
		clv_log_debug("%s is not published: %s", project, err.msg);
	else
		clv_log_warning(0, "%s is not in the console: %s", project, err.msg);
	publisher->has_refusal = err.status != 0;
	publisher->client = clv_client_free(publisher->client);
	free(publisher->text);
	publisher->text = NULL;
	took_ns = clv_clock_ns() - began_ns;
	publisher->next_ns = clv_clock_ns() + AGAIN_NS + FAILURE_PARTS * took_ns;
}

static void look(struct clv_publisher *publisher, uint64_t now_ns)
{
	json_t *report = make_report(publisher->of);
	char *text = json_dumps(report, JSON_COMPACT);

	if (text && publisher->text && strcmp(text, publisher->text) == 0 &&
		now_ns - publisher->published_ns < AGAIN_NS) {
		free(text);
	} else if (text) {
		free(publisher->text);
		publisher->text = text;
		publisher->published_ns = now_ns;
		publish(publisher, report);
	}
	json_decref(report);
}

static int on_time(sd_event_source *source, uint64_t at_us, void *userdata)
{
	struct clv_publisher *publisher = userdata;
	uint64_t now_ns = clv_clock_ns();

	if (now_ns >= publisher->next_ns)
		look(publisher, now_ns);
	sd_event_source_set_time_relative(source, EVERY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

struct clv_publisher *clv_publisher_new(
	const struct clv_supervisor *supervisor, const char *socket)
{
	struct clv_publisher *publisher = calloc(1, sizeof(*publisher));

	if (!publisher)
		return NULL;
	publisher->of = supervisor;
	snprintf(
		publisher->socket, sizeof(publisher->socket), "%s", socket ? socket : "");
	if (sd_event_add_time_relative(supervisor->event, &publisher->timer,
		    CLOCK_MONOTONIC, 0, EVERY_US / 10, on_time, publisher) < 0)
		return clv_publisher_free(publisher);
	return publisher;
}

struct clv_publisher *clv_publisher_free(struct clv_publisher *publisher)
{
	if (!publisher)
		return NULL;
	sd_event_source_disable_unref(publisher->timer);
	clv_client_free(publisher->client);
	free(publisher->text);
	free(publisher);
	return NULL;
}
