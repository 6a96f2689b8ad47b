/* SPDX-License-Identifier: Apache-2.0 */
/* Room for a replica, from idle services.  Each supervisor says in its status how many
 * replicas of a service could stop; the agent, where their leases are.  A round asks all
 * projects of the folder for the first, chooses, and asks those concerned to stop theirs.
 * They look again whether they are idle, so nothing is decided by old figures. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "core/share/share.h"
#include "service/scale/give-way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_EVERY_NS CLV_NS_PER_S
#define ANSWERS_WITHIN_NS (2 * CLV_NS_PER_S)
#define PROJECTS_MAX 256u

struct clv_round {
	struct clv_supervisor *of;
	char service[CLV_SERVICE_NAME_MAX]; /* which needs room */
	json_t *projects;                   /* their status */
	struct clv_peer_call *calls[PROJECTS_MAX];
	size_t n_calls, n_open;
	bool has_chosen;
	sd_event_source *timer;
};

static void forget_calls(struct clv_round *round)
{
	while (round->n_calls > 0)
		clv_peer_free(round->calls[--round->n_calls]);
	round->n_open = 0;
}

void clv_round_free(struct clv_round *round)
{
	if (!round)
		return;
	forget_calls(round);
	json_decref(round->projects);
	sd_event_source_disable_unref(round->timer);
	round->of->round = NULL;
	free(round);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* --- What is there --- */

/* What the tables of service/scale choose from, with the names of its leases. */
struct survey {
	struct clv_give_way room;
	struct clv_give_way_place *places;
	const char **devices; /* by place */
	struct clv_give_way_service *services;
	size_t n_services;
	struct clv_give_way_lease *leases;
	struct {
		const char *project, *name;
		double idle_s;
	} owners[CLV_GIVE_WAY_LEASES_MAX];
	bool has_leaving; /* a lease that is as good as free */
	json_t *all_leases, *all_devices;
};

static void clear_survey(struct survey *survey)
{
	free(survey->places);
	free(survey->devices);
	free(survey->services);
	free(survey->leases);
	json_decref(survey->all_leases);
	json_decref(survey->all_devices);
}

/* Whether a lease of the service may be on it. */
static bool suits(const struct clv_service_device *wanted, const json_t *device)
{
	const json_t *partition = json_object_get(device, "partition");
	bool is_partition = json_is_object(partition);

	if (json_is_true(json_object_get(device, "cordoned")) ||
		strcmp(text_of(json_object_get(device, "health"), "state"), "ok") != 0)
		return false;
	if (wanted->device[0] && strcmp(wanted->device, text_of(device, "name")) != 0 &&
		strcmp(wanted->device, text_of(device, "uuid")) != 0)
		return false;
	if (wanted->profile[0])
		return strcmp(wanted->profile, text_of(partition, "profile")) == 0;
	if (strcmp(wanted->isolation, "hardware") == 0)
		return is_partition;
	return !is_partition && !json_is_true(json_object_get(device, "divided"));
}

/* A partition without a share is leased whole. */
static int need_of(const struct clv_service_device *wanted, uint64_t device_bytes,
	struct clv_share *ret)
{
	bool is_whole = strcmp(wanted->isolation, "hardware") == 0 ||
			(wanted->profile[0] && !wanted->share_ppm);
	const struct clv_share_request request = {
		.compute_ppm = is_whole ? CLV_PPM : wanted->share_ppm,
		.memory_bytes = wanted->memory_bytes,
		.class = CLV_CLASS_NORMAL,
	};

	return clv_share_resolve(&request, device_bytes, ret, NULL);
}

static uint64_t bytes_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static uint32_t ppm_of(double part)
{
	return part > 0 ? (uint32_t)(part * CLV_PPM + .5) : 0;
}

/* A lease of the service that waits in the queue. */
static bool is_own_queued(const struct clv_unit *unit, const json_t *lease)
{
	const struct clv_replica *replica =
		clv_supervisor_find_replica(unit->of, text_of(lease, "name"));

	return clv_leases_is_of_user(lease) && replica && replica->unit == unit;
}

/* Whether what becomes free on the device is for leases of others, before the service. */
static bool is_waited_for(
	const struct survey *survey, const struct clv_unit *unit, const char *device)
{
	double own = 0, others = 0;
	json_t *lease;
	size_t i;

	json_array_foreach (survey->all_leases, i, lease) {
		double at = number_of(lease, "queue_position");
		double *first = is_own_queued(unit, lease) ? &own : &others;

		if (strcmp(text_of(lease, "state"), "queued") != 0 ||
			strcmp(text_of(lease, "device"), device) != 0)
			continue;
		*first = *first == 0 || at < *first ? at : *first;
	}
	return others > 0 && (own == 0 || others < own);
}

static void add_place(
	struct survey *survey, const struct clv_unit *unit, const json_t *device)
{
	const struct clv_service_device *wanted = &unit->service->device;
	uint64_t bytes = bytes_of(device, "memory_bytes"),
		 promised = bytes_of(device, "memory_promised_bytes");
	uint32_t ppm = ppm_of(number_of(device, "share_promised"));
	struct clv_give_way_place *place;
	struct clv_share need;

	if (!suits(wanted, device) || need_of(wanted, bytes, &need) < 0 ||
		is_waited_for(survey, unit, text_of(device, "name")))
		return;
	place = CLV_APPEND(survey->places, survey->room.n_places);
	if (!place)
		return;
	survey->devices[survey->room.n_places - 1] = text_of(device, "name");
	*place = (struct clv_give_way_place){
		.free_ppm = ppm < CLV_PPM ? CLV_PPM - ppm : 0,
		.needed_ppm = need.compute_ppm,
		.free_bytes = promised < bytes ? bytes - promised : 0,
		.needed_bytes = need.memory_bytes,
	};
}

/* Returns the lease of the agent that a replica has on one of the places; NULL: none. */
static const json_t *find_lease(
	const struct survey *survey, const char *name, size_t *ret_place)
{
	json_t *lease;
	size_t i;

	json_array_foreach (survey->all_leases, i, lease) {
		if (strcmp(text_of(lease, "name"), name) != 0 ||
			strcmp(text_of(lease, "state"), "active") != 0 ||
			!clv_leases_is_of_user(lease))
			continue;
		for (size_t k = 0; k < survey->room.n_places; k++) {
			if (strcmp(survey->devices[k], text_of(lease, "device")) == 0) {
				*ret_place = k;
				return lease;
			}
		}
	}
	return NULL;
}

/* Of a range the lower bound is promised. */
static uint32_t promise_of(const json_t *lease)
{
	const json_t *range = json_object_get(lease, "share_range");

	return ppm_of(json_is_object(range) ? number_of(range, "least")
					    : number_of(lease, "share"));
}

/* What leaves already is as good as free. */
static bool leaves(const json_t *replica)
{
	const char *state = text_of(replica, "state");

	return json_is_true(json_object_get(replica, "leaving")) ||
	       strcmp(state, "draining") == 0 || strcmp(state, "removing") == 0;
}

static void add_replica(struct survey *survey, const char *project, const json_t *service,
	const json_t *replica)
{
	const char *name = text_of(replica, "name");
	struct clv_give_way_lease *added;
	size_t place;
	const json_t *lease = find_lease(survey, name, &place);

	if (!lease)
		return;
	if (leaves(replica)) {
		survey->has_leaving = true;
		survey->places[place].free_ppm += promise_of(lease);
		survey->places[place].free_bytes += bytes_of(lease, "memory_bytes");
		return;
	}
	if (survey->room.n_leases == CLV_GIVE_WAY_LEASES_MAX ||
		strcmp(text_of(replica, "state"), "ready") != 0)
		return;
	added = CLV_APPEND(survey->leases, survey->room.n_leases);
	if (!added)
		return;
	*added = (struct clv_give_way_lease){
		.place = place,
		.service = survey->n_services - 1,
		.share_ppm = promise_of(lease),
		.memory_bytes = bytes_of(lease, "memory_bytes"),
	};
	survey->owners[survey->room.n_leases - 1].project = project;
	survey->owners[survey->room.n_leases - 1].name = name;
	survey->owners[survey->room.n_leases - 1].idle_s =
		number_of(service, "idle_seconds");
}

/* The service that needs room gives none. */
static void add_service(struct survey *survey, const struct clv_round *round,
	const char *project, const json_t *service)
{
	struct clv_give_way_service *added =
		CLV_APPEND(survey->services, survey->n_services);
	bool is_same = strcmp(project, round->of->project.name) == 0 &&
		       strcmp(text_of(service, "name"), round->service) == 0;
	json_t *replica;
	size_t i;

	if (!added)
		return;
	added->n_spare = is_same ? 0 : (uint32_t)number_of(service, "spare");
	added->idle_ns = (uint64_t)(number_of(service, "idle_seconds") * CLV_NS_PER_S);
	json_array_foreach (json_object_get(service, "replicas"), i, replica)
		add_replica(survey, project, service, replica);
}

static int read_survey(struct survey *survey, const struct clv_round *round,
	const struct clv_unit *unit)
{
	json_t *project, *service, *device;
	struct clv_error err;
	size_t i, j;

	if (clv_leases_survey(round->of->leases, &survey->all_leases,
		    &survey->all_devices, &err) < 0) {
		clv_log_debug("%s", err.msg);
		return -1;
	}
	survey->devices = calloc(
		json_array_size(survey->all_devices) + 1, sizeof(*survey->devices));
	if (!survey->devices)
		return -1;
	json_array_foreach (survey->all_devices, i, device)
		add_place(survey, unit, device);
	json_array_foreach (round->projects, i, project) {
		json_array_foreach (json_object_get(project, "services"), j, service)
			add_service(survey, round, text_of(project, "project"), service);
	}
	survey->room.places = survey->places;
	survey->room.services = survey->services;
	survey->room.leases = survey->leases;
	return 0;
}

/* --- Those that stop --- */

static uint32_t count_of(const struct clv_unit *unit, const json_t *leases)
{
	uint32_t n = 0;
	json_t *name;
	size_t i;

	json_array_foreach (leases, i, name) {
		const struct clv_replica *replica = clv_supervisor_find_replica(
			unit->of, json_is_string(name) ? json_string_value(name) : "");

		n += replica && replica->unit == unit &&
		     replica->phase == CLV_PHASE_SERVING;
	}
	return n;
}

static void give_way(struct clv_unit *unit, const json_t *leases, const char *for_whom,
	uint64_t idle_ns)
{
	json_t *name;
	size_t i;

	json_array_foreach (leases, i, name) {
		struct clv_replica *replica = clv_supervisor_find_replica(
			unit->of, json_is_string(name) ? json_string_value(name) : "");

		if (!replica || replica->unit != unit || replica->is_leaving)
			continue;
		replica->is_leaving = true;
		clv_scaler_give_way(&unit->scaler, &unit->scaling, clv_clock_ns());
		clv_supervisor_say(unit->of, unit, "gives way",
			"%s stops for %.120s, for which no device has room: it was idle "
			"for %u s",
			replica->name, for_whom, (unsigned)(idle_ns / CLV_NS_PER_S));
	}
}

/* By the figures of now: those of the last look are up to a second old. */
static bool is_still_idle(struct clv_unit *unit, uint32_t n, uint64_t *ret_idle_ns)
{
	uint64_t now_ns = clv_clock_ns();

	clv_unit_look(unit);
	return unit->looked_ns >= now_ns && clv_unit_spare(unit, ret_idle_ns) >= n;
}

json_t *clv_supervisor_give_way(struct clv_supervisor *supervisor, const json_t *request)
{
	const json_t *leases = json_object_get(request, "leases");
	json_int_t n_given = 0;

	for (size_t i = 0; i < supervisor->n_units; i++) {
		struct clv_unit *unit = supervisor->units[i];
		uint32_t n = count_of(unit, leases);
		uint64_t idle_ns = 0;

		if (n == 0 || !is_still_idle(unit, n, &idle_ns))
			continue;
		give_way(unit, leases, text_of(request, "for"), idle_ns);
		n_given += n;
	}
	clv_supervisor_hurry(supervisor);
	return json_pack("{s:I}", "given", n_given);
}

/* --- The one that needs room --- */

static struct clv_unit *unit_of(const struct clv_round *round)
{
	return clv_supervisor_find(round->of, round->service);
}

static void set_text(struct clv_unit *unit, bool is_promised, const char *text)
{
	unit->is_promised = is_promised;
	snprintf(unit->giving_way, sizeof(unit->giving_way), "%s", text);
	clv_text_make_printable(unit->giving_way); /* a character may be cut */
}

/* The next round chooses others, or the same. */
static void take_answer(
	const struct clv_round *round, const char *project, const json_t *answer)
{
	struct clv_unit *unit = unit_of(round);
	char text[sizeof(unit->giving_way)];

	if (!unit || number_of(answer, "given") >= 1)
		return;
	snprintf(text, sizeof(text), "%s was asked to give way, and needs its own",
		project);
	set_text(unit, false, text);
}

static void on_answer(void *userdata, struct clv_peer_call *call, json_t *answer);

static void ask(
	struct clv_round *round, const struct clv_project *project, const json_t *request)
{
	struct clv_peer_call *call;

	if (round->n_calls == PROJECTS_MAX)
		return;
	call = clv_peer_ask(round->of->event, project, request, on_answer, round);
	if (!call)
		return;
	round->calls[round->n_calls++] = call;
	round->n_open++;
}

/* Asks the supervisor of a project to end those of the chosen leases that are its. */
static void ask_to_stop(struct clv_round *round, const struct survey *survey,
	const size_t *chosen, size_t n, const char *project)
{
	struct clv_supervisor *supervisor = round->of;
	json_t *leases = json_array(), *request, *answer;
	struct clv_project other = {};
	char for_whom[2 * CLV_SERVICE_NAME_MAX];

	for (size_t i = 0; i < n; i++) {
		if (strcmp(survey->owners[chosen[i]].project, project) == 0)
			json_array_append_new(
				leases, json_string(survey->owners[chosen[i]].name));
	}
	snprintf(for_whom, sizeof(for_whom), "%s/%s", supervisor->project.name,
		round->service);
	request = json_pack(
		"{s:s, s:o, s:s}", "do", "give way", "leases", leases, "for", for_whom);
	if (strcmp(project, supervisor->project.name) == 0) {
		answer = clv_supervisor_give_way(supervisor, request);
		take_answer(round, project, answer);
		json_decref(answer);
	} else if (clv_project_find(project, &other, NULL) >= 0) {
		ask(round, &other, request);
	}
	json_decref(request);
}

static bool is_first_of_project(
	const struct survey *survey, const size_t *chosen, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (strcmp(survey->owners[chosen[i]].project,
			    survey->owners[chosen[at]].project) == 0)
			return false;
	}
	return true;
}

static void carry_out(struct clv_round *round, const struct survey *survey,
	const size_t *chosen, size_t n)
{
	struct clv_unit *unit = unit_of(round);
	char text[sizeof(unit->giving_way)];

	snprintf(text, sizeof(text), "%s%s gives way", survey->owners[chosen[0]].name,
		n > 1 ? " and others" : "");
	set_text(unit, true, text);
	for (size_t i = 0; i < n; i++) {
		const char *project = survey->owners[chosen[i]].project;

		clv_supervisor_say(round->of, unit, "others give way",
			"%s of %s is asked to stop: it is idle for %u s",
			survey->owners[chosen[i]].name, project,
			(unsigned)survey->owners[chosen[i]].idle_s);
		if (is_first_of_project(survey, chosen, i))
			ask_to_stop(round, survey, chosen, n, project);
	}
}

/* Up to two seconds after it asked for room: it may have got some, or want none. */
static bool still_needs_room(const struct clv_unit *unit)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		n += replica && !replica->is_leaving &&
		     (replica->phase == CLV_PHASE_CREATING ||
			     replica->phase == CLV_PHASE_WARMING ||
			     replica->phase == CLV_PHASE_SERVING);
	}
	return unit->needs_room && !unit->of->is_ending && !unit->is_removed &&
	       n < unit->scaler.wanted;
}

/* The agent has given a lease which the next tick takes. */
static bool has_got_room(const struct survey *survey, const struct clv_unit *unit)
{
	size_t place;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		if (replica && replica->phase == CLV_PHASE_QUEUED &&
			find_lease(survey, replica->name, &place))
			return true;
	}
	return false;
}

static void choose(struct clv_round *round)
{
	struct clv_unit *unit = unit_of(round);
	size_t chosen[CLV_GIVE_WAY_LEASES_MAX];
	struct survey survey = {};
	int n = 0;

	round->has_chosen = true;
	forget_calls(round);
	if (unit && still_needs_room(unit) && read_survey(&survey, round, unit) >= 0 &&
		!has_got_room(&survey, unit)) {
		n = clv_give_way_choose(&survey.room, chosen);
		if (n > 0)
			carry_out(round, &survey, chosen, (size_t)n);
		else if (n < 0)
			set_text(unit, false, "no idle service could make room");
		else if (!survey.has_leaving)
			set_text(unit, false, "");
	}
	if (unit)
		unit->needs_room = false;
	clear_survey(&survey);
}

static void set_timer(struct clv_round *round, uint64_t after_ns)
{
	sd_event_source_set_time_relative(round->timer, after_ns / CLV_NS_PER_US);
	sd_event_source_set_enabled(round->timer, SD_EVENT_ONESHOT);
}

static void on_answer(void *userdata, struct clv_peer_call *call, json_t *answer)
{
	struct clv_round *round = userdata;

	round->n_open--;
	if (!round->has_chosen && json_is_object(answer))
		json_array_append(round->projects, answer);
	else if (round->has_chosen)
		take_answer(round, clv_peer_get_project(call), answer);
	if (round->n_open == 0)
		set_timer(round, 0);
}

/* All have answered, or had the time. */
static int on_time(sd_event_source *source, uint64_t at_us, void *userdata)
{
	struct clv_round *round = userdata;

	if (!round->has_chosen) {
		choose(round);
		set_timer(round, round->n_open ? ANSWERS_WITHIN_NS : 0);
	} else {
		clv_round_free(round);
	}
	return 0;
}

static void ask_all(struct clv_round *round)
{
	json_t *request = json_pack("{s:s, s:I}", "do", "status", "after", INT64_MAX);
	_cleanup_free_ struct clv_project *projects = NULL;
	size_t n = 0;

	clv_projects_read(&projects, &n, NULL);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(projects[i].name, round->of->project.name) != 0)
			ask(round, &projects[i], request);
	}
	json_decref(request);
}

static void begin(struct clv_supervisor *supervisor, const struct clv_unit *unit)
{
	struct clv_round *round = calloc(1, sizeof(*round));

	if (!round)
		return;
	supervisor->round = round;
	round->of = supervisor;
	strcpy(round->service, unit->service->name);
	round->projects = json_pack("[o]", clv_supervisor_show(supervisor));
	ask_all(round);
	if (sd_event_add_time_relative(supervisor->event, &round->timer, CLOCK_MONOTONIC,
		    round->n_open ? ANSWERS_WITHIN_NS / CLV_NS_PER_US : 0, 1000, on_time,
		    round) < 0)
		clv_round_free(round);
}

/* One service after the other, also where the first one of the list gets no room. */
static struct clv_unit *next_in_need(const struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		size_t at = (supervisor->n_rounds + i) % supervisor->n_units;
		struct clv_unit *unit = supervisor->units[at];

		if (unit->needs_room && !unit->is_removed && unit->scaler.wanted > 0)
			return unit;
	}
	return NULL;
}

void clv_supervisor_make_room(struct clv_supervisor *supervisor)
{
	uint64_t now_ns = clv_clock_ns();
	struct clv_unit *unit;

	if (supervisor->round || supervisor->is_ending ||
		now_ns - supervisor->round_ns < ROUND_EVERY_NS)
		return;
	unit = next_in_need(supervisor);
	if (!unit)
		return;
	supervisor->n_rounds++;
	supervisor->round_ns = now_ns;
	begin(supervisor, unit);
}
