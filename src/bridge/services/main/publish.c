/* SPDX-License-Identifier: Apache-2.0 */
/* What others may see of the project, published at the agent, and what users ask for
 * there.  Services run without it: nothing here waits, and an agent that is away is tried
 * again later.
 *
 * The agent keeps its answer to a report back until there is an action, so that one is
 * taken at once.  A report that has changed is sent without waiting for the answer to the
 * one before, whose actions are offered again. */
#include "bridge/services/main/publish.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "bridge/services/main/actions.h"
#include "bridge/services/supervisor/supervisor.h"

#include <cleave.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX_BYTES 61440u   /* the agent takes 64 KiB */
#define RESULTS_MIN_BYTES 4096u /* of it, which services leave to results */
#define DECISIONS_MAX 50u
#define EVERY_US (CLV_NS_PER_S / CLV_NS_PER_US)
/* For this time the agent may keep its answer back; after it the same is published again,
 * for an agent that was started since. */
#define WAIT_MS 5000u
#define LATE_NS (15 * CLV_NS_PER_S)
#define AGAIN_NS (5 * CLV_NS_PER_S) /* after a failure */

struct clv_publisher {
	struct clv_supervisor *of;
	struct clv_actions *actions;
	sd_event_source *timer;
	char socket[CLV_PATH_MAX];
	struct clv_client_publisher *client;
	sd_event_source *io; /* of the report under way, or NULL */
	char *text;          /* that report, or the last one */
	json_t *results;     /* what it says of actions, or NULL */
	uint64_t begun_ns;
	uint64_t next_ns; /* not before */
	bool has_refusal; /* it is reported once */
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
		"sleeps", "autoscaled", "why", "failure", NULL};
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

static json_t *make_report(struct clv_publisher *publisher, json_t **ret_results)
{
	json_t *status = clv_supervisor_show(publisher->of);
	json_t *events = clv_supervisor_events(publisher->of, 0);
	const json_t *services = json_object_get(status, "services");
	json_t *made = json_pack("{s:[], s:[]}", "services", "decisions");
	json_t *list = json_object_get(made, "services");
	size_t room = BODY_MAX_BYTES - RESULTS_MIN_BYTES;

	clv_actions_look(publisher->actions, status);
	add_services(list, services, &room);
	room += RESULTS_MIN_BYTES;
	*ret_results = clv_actions_results(publisher->actions, room);
	room -= bytes_of(*ret_results);
	/* An agent of an earlier version refuses the field. */
	if (json_array_size(*ret_results) > 0)
		json_object_set(made, "results", *ret_results);
	add_decisions(json_object_get(made, "decisions"), events, &room);
	add_replicas(list, services, &room);
	json_decref(status);
	json_decref(events);
	return made;
}

/* --- The agent --- */

/* The next look comes at once. */
static void hurry(void *userdata)
{
	struct clv_publisher *publisher = userdata;

	sd_event_source_set_time_relative(publisher->timer, 0);
}

static void forget(struct clv_publisher *publisher)
{
	publisher->io = sd_event_source_disable_unref(publisher->io);
	json_decref(publisher->results);
	publisher->results = NULL;
}

/* An agent of an earlier version does not know projects. */
static void fail(struct clv_publisher *publisher, const struct clv_client_error *err)
{
	const char *project = publisher->of->project.name;

	if (err->status == 0 || err->status == 404 || publisher->has_refusal)
		clv_log_debug("%s is not published: %s", project, err->msg);
	else
		clv_log_warning(0, "%s is not in the console: %s", project, err->msg);
	publisher->has_refusal = err->status != 0;
	forget(publisher);
	publisher->client = clv_client_publisher_free(publisher->client);
	publisher->next_ns = clv_clock_ns() + AGAIN_NS;
}

static void succeed(struct clv_publisher *publisher, const json_t *answer)
{
	const json_t *items = json_object_get(answer, "items");
	bool is_late = clv_clock_ns() - publisher->begun_ns >= CLV_NS_PER_S;
	bool has_results = json_array_size(publisher->results) > 0;

	publisher->has_refusal = false;
	clv_actions_tell(publisher->actions, publisher->results);
	clv_actions_take(publisher->actions, items);
	forget(publisher);
	/* An agent that keeps no answer back is not asked all the time. */
	if (is_late || has_results || json_array_size(items) > 0)
		hurry(publisher);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_publisher *publisher = userdata;
	struct clv_client_error err = {0};
	json_t *answer = NULL;
	short wanted;
	int r = clv_client_publisher_continue(publisher->client, &answer, &err);

	if (r == -EINPROGRESS) {
		clv_client_publisher_get_fd(publisher->client, &wanted);
		sd_event_source_set_io_events(source, (uint32_t)wanted);
	} else if (r < 0) {
		fail(publisher, &err);
	} else {
		succeed(publisher, answer);
		json_decref(answer);
	}
	return 0;
}

static int begin(struct clv_publisher *publisher, const json_t *report, uint32_t wait_ms,
	struct clv_client_error *err)
{
	const struct clv_client_options options = {
		.socket_path = publisher->socket[0] ? publisher->socket : NULL};
	short events;
	int fd, r = 0;

	if (!publisher->client)
		r = clv_client_publisher_new(
			&options, publisher->of->project.name, &publisher->client, err);
	if (r >= 0)
		r = clv_client_publisher_begin(publisher->client, report, wait_ms, err);
	if (r < 0)
		return r;
	fd = clv_client_publisher_get_fd(publisher->client, &events);
	r = sd_event_add_io(publisher->of->event, &publisher->io, fd, (uint32_t)events,
		on_io, publisher);
	if (r < 0)
		snprintf(err->msg, sizeof(err->msg), "%s", strerror(-r));
	return r;
}

/* Takes text and results.  What is reported of actions is to be known at once. */
static void publish(struct clv_publisher *publisher, const json_t *report, char *text,
	json_t *results)
{
	struct clv_client_error err = {0};

	forget(publisher);
	free(publisher->text);
	publisher->text = text;
	publisher->results = results;
	publisher->begun_ns = clv_clock_ns();
	if (begin(publisher, report, json_array_size(results) ? 0 : WAIT_MS, &err) < 0)
		fail(publisher, &err);
}

/* The report under way goes on if nothing has changed. */
static void look(struct clv_publisher *publisher, uint64_t now_ns)
{
	json_t *results, *report = make_report(publisher, &results);
	char *text = json_dumps(report, JSON_COMPACT);
	bool is_same = text && publisher->text && strcmp(text, publisher->text) == 0;

	if (text && (!publisher->io || !is_same)) {
		publish(publisher, report, text, results);
		json_decref(report);
		return;
	}
	if (publisher->io && now_ns - publisher->begun_ns > LATE_NS)
		fail(publisher, &(struct clv_client_error){.msg = "no answer came"});
	free(text);
	json_decref(results);
	json_decref(report);
}

static int on_time(sd_event_source *source, uint64_t at_us, void *userdata)
{
	struct clv_publisher *publisher = userdata;
	uint64_t now_ns = clv_clock_ns();

	sd_event_source_set_time_relative(source, EVERY_US);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	if (now_ns >= publisher->next_ns)
		look(publisher, now_ns);
	return 0;
}

struct clv_publisher *clv_publisher_new(
	struct clv_supervisor *supervisor, const char *socket)
{
	struct clv_publisher *publisher = calloc(1, sizeof(*publisher));

	if (!publisher)
		return NULL;
	publisher->of = supervisor;
	publisher->actions = clv_actions_new(supervisor, hurry, publisher);
	snprintf(
		publisher->socket, sizeof(publisher->socket), "%s", socket ? socket : "");
	if (!publisher->actions ||
		sd_event_add_time_relative(supervisor->event, &publisher->timer,
			CLOCK_MONOTONIC, 0, EVERY_US / 10, on_time, publisher) < 0)
		return clv_publisher_free(publisher);
	return publisher;
}

struct clv_publisher *clv_publisher_free(struct clv_publisher *publisher)
{
	if (!publisher)
		return NULL;
	forget(publisher);
	sd_event_source_disable_unref(publisher->timer);
	clv_actions_free(publisher->actions);
	clv_client_publisher_free(publisher->client);
	free(publisher->text);
	free(publisher);
	return NULL;
}
