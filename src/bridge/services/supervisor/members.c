/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas, services and the supervisor ask of each other. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/error.h"

#include <string.h>

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
