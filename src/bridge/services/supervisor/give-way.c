/* SPDX-License-Identifier: Apache-2.0 */
/* Room for a replica, from idle services.  Each supervisor says in its status how many
 * replicas of a service could stop; the agent, where their leases are.  A round asks all
 * projects of the folder for the first, chooses, and asks those concerned to stop theirs.
 * They look again whether they are idle, so nothing is decided by old figures. */
#include "bridge/services/engine/peers.h"
#include "bridge/services/engine/survey.h"
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "bridge/services/project/control.h"
#include "service/scale/give-way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_EVERY_NS CLV_NS_PER_S
/* After each search that finds no room the pause is twice as long, up to 8 s. */
#define DOUBLINGS_MAX 3u
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

/* --- Those that stop --- */

/* Of a service that sleeps those that are ready are kept. */
static bool may_stop(
	const struct clv_replica *replica, const struct clv_unit *unit, bool sleeps)
{
	return replica && replica->unit == unit &&
	       (replica->phase == CLV_PHASE_FROZEN ||
		       (replica->phase == CLV_PHASE_SERVING && !sleeps));
}

static uint32_t count_of(const struct clv_unit *unit, const json_t *leases)
{
	uint32_t n = 0;
	json_t *name;
	size_t i;

	json_array_foreach (leases, i, name) {
		const struct clv_replica *replica = clv_supervisor_find_replica(
			unit->of, json_is_string(name) ? json_string_value(name) : "");

		n += may_stop(replica, unit, unit->scaler.state == CLV_SCALER_ASLEEP);
	}
	return n;
}

static void give_way(struct clv_unit *unit, const json_t *leases, const char *for_whom,
	uint64_t idle_ns)
{
	bool sleeps = unit->scaler.state == CLV_SCALER_ASLEEP;
	json_t *name;
	size_t i;

	json_array_foreach (leases, i, name) {
		struct clv_replica *replica = clv_supervisor_find_replica(
			unit->of, json_is_string(name) ? json_string_value(name) : "");

		if (!may_stop(replica, unit, sleeps) || replica->is_leaving)
			continue;
		replica->is_leaving = true;
		clv_scaler_give_way(&unit->scaler, &unit->scaling, clv_clock_ns());
		clv_supervisor_say(unit->of, unit, "gives way",
			"%s stops for %.120s, for which no device has room: it was idle "
			"for %u s",
			replica->name, for_whom, (unsigned)(idle_ns / CLV_NS_PER_S));
	}
}

/* By the current figures: those of the last look are up to a second old. */
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
		give_way(unit, leases, clv_control_text(request, "for"), idle_ns);
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

	if (!unit || json_integer_value(json_object_get(answer, "given")) >= 1)
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
static void ask_to_stop(struct clv_round *round, const struct clv_survey *survey,
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
	const struct clv_survey *survey, const size_t *chosen, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (strcmp(survey->owners[chosen[i]].project,
			    survey->owners[chosen[at]].project) == 0)
			return false;
	}
	return true;
}

static void carry_out(struct clv_round *round, const struct clv_survey *survey,
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

/* Whether a replica of the project starts: whether it could give way is not known yet. */
static bool has_starting(const struct clv_supervisor *supervisor)
{
	uint32_t n = 0;

	for (size_t i = 0; i < supervisor->n_units; i++)
		n += clv_unit_n_in(supervisor->units[i], CLV_PHASE_CREATING) +
		     clv_unit_n_in(supervisor->units[i], CLV_PHASE_WARMING);
	return n > 0;
}

static void choose(struct clv_round *round)
{
	struct clv_unit *unit = unit_of(round);
	size_t chosen[CLV_GIVE_WAY_LEASES_MAX];
	struct clv_survey survey = {};
	struct clv_error err;
	int n = 0;

	round->has_chosen = true;
	forget_calls(round);
	if (unit && still_needs_room(unit) &&
		clv_survey_read(&survey, round->of->leases, round->projects,
			round->of->project.name, unit->service, &err) >= 0 &&
		!survey.is_given) {
		n = clv_give_way_choose(&survey.room, chosen);
		unit->n_fruitless =
			n < 0 && !has_starting(round->of) ? unit->n_fruitless + 1 : 0;
		if (n > 0)
			carry_out(round, &survey, chosen, (size_t)n);
		else if (n < 0)
			set_text(unit, false, "no idle service could make room");
		else if (!survey.has_leaving)
			set_text(unit, false, "");
	}
	if (unit)
		unit->needs_room = false;
	clv_survey_clear(&survey);
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
static struct clv_unit *next_in_need(
	const struct clv_supervisor *supervisor, uint64_t now_ns)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		size_t at = (supervisor->n_rounds + i) % supervisor->n_units;
		struct clv_unit *unit = supervisor->units[at];

		if (unit->needs_room && !unit->is_removed && unit->scaler.wanted > 0 &&
			now_ns >= unit->next_round_ns)
			return unit;
	}
	return NULL;
}

void clv_supervisor_make_room(struct clv_supervisor *supervisor)
{
	uint64_t now_ns = clv_clock_ns();
	struct clv_unit *unit;
	uint32_t n_doublings;

	if (supervisor->round || supervisor->is_ending ||
		now_ns - supervisor->round_ns < ROUND_EVERY_NS)
		return;
	unit = next_in_need(supervisor, now_ns);
	if (!unit)
		return;
	n_doublings =
		unit->n_fruitless < DOUBLINGS_MAX ? unit->n_fruitless : DOUBLINGS_MAX;
	unit->next_round_ns = now_ns + (ROUND_EVERY_NS << n_doublings);
	supervisor->n_rounds++;
	supervisor->round_ns = now_ns;
	begin(supervisor, unit);
}
