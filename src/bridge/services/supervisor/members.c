/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas, services and the supervisor ask of each other. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define NO_ROOM_PAUSE_NS (2 * CLV_NS_PER_S)

struct clv_unit *clv_supervisor_find(
	const struct clv_supervisor *supervisor, const char *name)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		if (strcmp(supervisor->units[i]->service->name, name) == 0)
			return supervisor->units[i];
	}
	return NULL;
}

void clv_supervisor_hurry(struct clv_supervisor *supervisor)
{
	if (!supervisor->timer)
		return;
	sd_event_source_set_time_relative(supervisor->timer, 0);
	sd_event_source_set_enabled(supervisor->timer, SD_EVENT_ONESHOT);
}

void clv_supervisor_leave(struct clv_supervisor *supervisor, const struct clv_unit *unit,
	const char *what, const char *name, const struct clv_error *why)
{
	supervisor->n_left++;
	clv_supervisor_say(supervisor, unit, what, "%s: %s", name, why->msg);
}

uint32_t clv_unit_n_serving(const struct clv_unit *unit)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++)
		n += unit->replicas[i] && unit->replicas[i]->phase == CLV_PHASE_SERVING;
	return n;
}

uint32_t clv_unit_n_in(const struct clv_unit *unit, enum clv_replica_phase phase)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		n += replica && replica->phase == phase && !clv_replica_is_old(replica);
	}
	return n;
}

const struct clv_service *clv_unit_of_generation(
	const struct clv_unit *unit, uint64_t generation)
{
	if (unit->previous && unit->previous->generation == generation)
		return unit->previous;
	return unit->service;
}

bool clv_replica_is_old(const struct clv_replica *replica)
{
	return replica->is_leaving ||
	       replica->generation != replica->unit->rollout.generation;
}

static struct clv_replica *find_in(const struct clv_unit *unit, const char *name)
{
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		struct clv_replica *replica = unit->replicas[i];

		if (replica && strcmp(replica->name, name) == 0)
			return replica;
	}
	return NULL;
}

struct clv_replica *clv_supervisor_find_replica(
	const struct clv_supervisor *supervisor, const char *name)
{
	struct clv_replica *found = NULL;

	for (size_t i = 0; i < supervisor->n_units && !found; i++)
		found = find_in(supervisor->units[i], name);
	return found;
}

/* --- Room --- */

void clv_unit_note_room(struct clv_unit *unit)
{
	unit->no_room_until_ns = 0;
	unit->needs_room = false;
	unit->n_fruitless = 0;
	unit->is_promised = false;
	unit->giving_way[0] = '\0';
}

void clv_unit_note_no_room(struct clv_unit *unit, const char *why)
{
	if (strcmp(unit->why, why) != 0 || !unit->no_room_until_ns)
		clv_supervisor_say(unit->of, unit, "no room", "%s", why);
	snprintf(unit->why, sizeof(unit->why), "%s", why);
	clv_text_make_printable(unit->why); /* a character may be cut */
	unit->no_room_until_ns = clv_clock_ns() + NO_ROOM_PAUSE_NS;
}

/* --- Moves --- */

void clv_unit_forget_move(struct clv_unit *unit)
{
	unit->move.state = CLV_MOVE_NONE;
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		if (unit->replicas[i])
			unit->replicas[i]->is_leaving = false;
	}
}

void clv_unit_give_up_move(
	struct clv_unit *unit, enum clv_move_state state, const char *why)
{
	struct clv_replica *old = clv_supervisor_find_replica(unit->of, unit->move.name);

	unit->move.state = state;
	snprintf(unit->move.why, sizeof(unit->move.why), "%s", why);
	clv_text_make_printable(unit->move.why); /* a character may be cut */
	if (old)
		old->is_leaving = false;
	clv_supervisor_say(unit->of, unit, "not moved", "%s to %s: %s", unit->move.name,
		unit->move.device, unit->move.why);
}

bool clv_replica_is_moving(const struct clv_replica *replica)
{
	const struct clv_unit *unit = replica->unit;
	const struct clv_replica *old =
		clv_supervisor_find_replica(unit->of, unit->move.name);

	return unit->move.state == CLV_MOVE_BEGUN &&
	       strcmp(replica->name, unit->move.next) == 0 && old &&
	       (old->phase == CLV_PHASE_SERVING ||
		       /* a supervisor has just begun to look at it */
		       old->phase == CLV_PHASE_WARMING);
}
